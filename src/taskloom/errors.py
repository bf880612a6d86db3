"""The errors of Taskloom: one tree, each with a code and a message that says what to do.

    TaskloomError               a code for programs, a message for people and models, details
    ├── RefusedError            the request was refused and nothing changed; send another one
    ├── StorageError            the disk or server failed; try again when the cause is fixed
    ├── UnavailableError        the log of one Task is damaged; the other Tasks work
    ├── DamagedLogError         the bytes of a log are not what was written
    ├── ImpossibleEventError    an event cannot follow the ones before it (`taskloom.board`)
    ├── FencedError             another writer appended first; read its lines and decide again
    ├── ConfigError             the configuration is wrong; change what the message names
    │   └── FrontMatterError    … in the front matter of an agent's definition (`taskloom.config`)
    ├── AgentError              the errors of an agent's run (see `taskloom.agent.errors`)
    └── …WorkerError            the function, program or editor of a worker failed
                                (`taskloom.orchestrator.executors`)

A board turns `DamagedLogError` and `ImpossibleEventError` into `UnavailableError`, which names the
log; only callers of `taskloom.codec` and `taskloom.log` see them.

Errors carry data and do nothing. Codes are stable: they are sent to models and other programs.
"""

from collections.abc import Mapping
from enum import StrEnum


class Code(StrEnum):
    """The kind of an error, as a word whose meaning never changes."""

    VALIDATION_ERROR = "validation_error"
    PERMISSION_DENIED = "permission_denied"
    TOOL_NOT_AVAILABLE = "tool_not_available"
    PATH_CONFLICT = "path_conflict"
    TASK_NOT_FOUND = "task_not_found"
    STEP_NOT_FOUND = "step_not_found"
    TASK_TERMINAL = "task_terminal"
    STEP_TERMINAL = "step_terminal"
    INVALID_TRANSITION = "invalid_transition"
    DEPENDENCY_CYCLE = "dependency_cycle"
    STEP_HAS_DEPENDENTS = "step_has_dependents"
    STEP_NOT_READY = "step_not_ready"
    STEP_ALREADY_CLAIMED = "step_already_claimed"
    STEP_ALREADY_CLAIMED_BY_RUN = "step_already_claimed_by_run"
    LEASE_LOST = "lease_lost"
    TASK_NOT_DISPATCHABLE = "task_not_dispatchable"
    TASK_NOT_COMPLETEABLE = "task_not_completeable"
    CONFIG_ERROR = "config_error"
    WORKER_BUSY = "worker_busy"
    WORKER_POOL_BUSY = "worker_pool_busy"
    WORKER_NOT_AVAILABLE = "worker_not_available"
    SESSION_BUSY = "session_busy"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    STORAGE_ERROR = "storage_error"
    TASK_WAL_UNAVAILABLE = "task_wal_unavailable"
    FENCED = "fenced"
    MODEL_ERROR = "model_error"
    TOOL_ERROR = "tool_error"
    INTERNAL_ERROR = "internal_error"


class TaskloomError(Exception):
    """The root of the tree: a code for programs, a message for people and models, details."""

    def __init__(
        self, code: Code, message: str, details: Mapping[str, object] | None = None
    ) -> None:
        """Set code, message and details."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: Mapping[str, object] = details or {}

    def __str__(self) -> str:
        """Return the code and the message, for logs and tracebacks."""
        return f"{self.code.value}: {self.message}"

    def as_dict(self) -> dict[str, object]:
        """Return the error as JSON data."""
        return {"code": self.code.value, "message": self.message, "details": dict(self.details)}


class RefusedError(TaskloomError):
    """The board refuses a command. Nothing was written and nothing changed."""


class StorageError(TaskloomError):
    """A log could not be written or read; `details["outcome"]` says what is known."""

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        """Raise with the code `storage_error`."""
        super().__init__(Code.STORAGE_ERROR, message, details)


class UnavailableError(TaskloomError):
    """One Task's log is damaged. The file is not changed; other Tasks work."""

    def __init__(self, path: str, line: int, cause: str) -> None:
        """Name the file, the line and the cause."""
        super().__init__(
            Code.TASK_WAL_UNAVAILABLE,
            f"The log of this Task is damaged: {path}, line {line}: {cause}. It was left as it "
            "is; `taskloom board verify` shows more.",
            {"wal_path": path, "line": line, "error": cause},
        )


class ConfigError(TaskloomError):
    """The configuration cannot work; the message says where and what to change."""

    def __init__(self, message: str, **details: object) -> None:
        """Raise with the code `config_error`."""
        super().__init__(Code.CONFIG_ERROR, message, details)


class FencedError(TaskloomError):
    """The log does not end where the writer expected; nothing was appended."""

    def __init__(self, after: int, last: int) -> None:
        """Set the position that the writer expected, and the actual one."""
        super().__init__(
            Code.FENCED,
            f"The log ends at line {last}, not at {after}: read the new lines and decide again.",
            {"after": after, "last": last},
        )


class DamagedLogError(TaskloomError):
    """The bytes of a log are not what was written; `line` counts from 1."""

    def __init__(self, line: int, cause: str) -> None:
        """Raise with the code `task_wal_unavailable`."""
        super().__init__(
            Code.TASK_WAL_UNAVAILABLE,
            f"The log is damaged at line {line}: {cause}. It was left as it is; restore the file "
            "from a copy, or start a new one.",
            {"line": line, "error": cause},
        )
        self.line = line
        self.cause = cause

"""What can go wrong with a run. Each says how to go on.

    AgentError (a TaskloomError)
    ├── ModelError          the model gave no reply
    │   └── RetriesExhaustedError     … and was asked again as often as allowed; `last` is the cause
    ├── ToolExecutionError           a tool raised and `on_tool_error="raise"`
    ├── HookError           a middleware raised; `middleware` and `hook` name it
    ├── RunFailedError             what `invoke` raises for a failed run; holds the `result`
    ├── NoActiveRunError            a run-local function was called outside a run
    ├── InvalidValueError         a run-local value that cannot be kept
    ├── InvalidToolError          something that cannot be a tool
    ├── CheckpointError     a checkpoint that is missing, damaged or of another version
    ├── JournalError        a journal that is damaged, or in use by another process
    └── JournalMismatchError      a journal that belongs to another run

`ToolError` is for tools to raise: the model reads its text alone, as an error.
`RunInterrupt` is no error: it travels from `interrupt()` to the loop, past `except Exception`.
"""

from typing import Any

from taskloom.agent.result import Interrupt, Result
from taskloom.errors import Code, TaskloomError


class AgentError(TaskloomError):
    """The root of the agent's errors."""

    CODE = Code.INTERNAL_ERROR

    def __init__(self, message: str, **details: object) -> None:
        """Raise with the class's code."""
        super().__init__(self.CODE, message, details)


class ModelError(AgentError):
    """The model gave no usable reply; `kind` says what to do about it."""

    CODE = Code.MODEL_ERROR

    def __init__(
        self,
        message: str,
        *,
        kind: str = "unknown",
        retryable: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        """Keep a stable word for the kind, whether asking again may help, and when."""
        super().__init__(message, kind=kind)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class RetriesExhaustedError(ModelError):
    """Every attempt failed; `last` is what the last one raised, or why it was rejected."""

    def __init__(self, attempts: int, last: Exception) -> None:
        """Keep the number of attempts and the last cause."""
        super().__init__(
            f"The model failed {attempts} times; the last time: {last}",
            kind="retries_exhausted",
            retryable=False,
        )
        self.attempts = attempts
        self.last = last


class ReplyRejectedError(ModelError):
    """A reply came, and the retry predicate did not accept it."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("The reply was rejected by `should_retry`.", kind="rejected")


class ToolExecutionError(AgentError):
    """A tool raised, and the agent was told to end the run then."""

    CODE = Code.TOOL_ERROR

    def __init__(self, tool: str, call_id: str, cause: BaseException) -> None:
        """Name the tool, the call and the cause."""
        super().__init__(
            f"Tool `{tool}` (call {call_id}) raised {type(cause).__name__}: {cause}",
            tool=tool,
            call_id=call_id,
        )


class ToolError(Exception):
    """Raise it in a tool to answer with an error: the model reads this text and nothing else.

    Any other exception is told with the tool's name and the exception's class around it.
    """


class HookError(AgentError):
    """A middleware's hook raised; its `__cause__` is what it raised."""

    def __init__(self, middleware: str, hook: str, cause: BaseException) -> None:
        """Name the middleware, the hook and the cause."""
        super().__init__(
            f"Middleware `{middleware}`, hook `{hook}`, raised {type(cause).__name__}: {cause}",
            middleware=middleware,
            hook=hook,
        )
        self.middleware = middleware
        self.hook = hook


class RunFailedError(AgentError):
    """A run failed; `result` holds all that was done before."""

    def __init__(self, result: Result) -> None:
        """Keep the result."""
        super().__init__(f"The run failed: {result.error}", run_id=result.run_id)
        self.result = result


class NoActiveRunError(AgentError):
    """Called where no run is under way."""

    CODE = Code.VALIDATION_ERROR

    def __init__(self, function: str) -> None:
        """Name the function."""
        super().__init__(
            f"`{function}` works only inside a run: in a hook, a model or a tool of an agent."
        )


class InvalidValueError(AgentError):
    """A run-local value must be plain JSON, since it outlives the process."""

    CODE = Code.VALIDATION_ERROR


class InvalidToolError(AgentError):
    """A function or object that cannot be made a tool of."""

    CODE = Code.VALIDATION_ERROR


class CheckpointError(AgentError):
    """A checkpoint that cannot be used."""

    CODE = Code.STORAGE_ERROR


class JournalError(AgentError):
    """A journal that cannot be used."""

    CODE = Code.STORAGE_ERROR


class JournalMismatchError(AgentError):
    """The journal holds another run than the one asked for."""

    CODE = Code.VALIDATION_ERROR


class RunInterrupt(BaseException):
    """The run stops here until a person has answered."""

    def __init__(self, *interrupts: Interrupt, state: Any = None) -> None:
        """Keep the questions, and what the interrupted call needs to go on."""
        super().__init__(", ".join(interrupt.where for interrupt in interrupts))
        self.interrupts = interrupts
        self.state = state

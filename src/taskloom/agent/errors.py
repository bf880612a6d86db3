"""The errors of the agent, in one tree.

    AgentError (a TaskloomError)
    ├── ModelError                  the model gave no usable reply; `kind` says why
    │   ├── RetriesExhaustedError   … after every allowed attempt; `last` is the cause
    │   └── ReplyRejectedError      … because `should_retry` rejected its reply
    ├── ToolError                   raise it in a tool: the model reads its text
    │   ├── ToolArgumentsError      the arguments of a call do not fit the tool
    │   ├── OutsideWorkspaceError   a path outside the workspace (`agent.workspace`)
    │   └── NotPermittedError       permission was refused (`agent.workspace`)
    ├── ToolExecutionError          a tool raised and `on_tool_error="raise"` ends the run
    ├── HookError                   a middleware raised; `middleware` and `hook` name it
    ├── RunFailedError              what `invoke` raises for a failed run; holds the `result`
    ├── NoActiveRunError            a function of a run was called outside of a run
    ├── InvalidValueError           a run-local value or interrupt that is not plain JSON
    ├── InvalidToolError            a function or object that cannot be a tool
    ├── CheckpointError             a checkpoint that is missing, damaged or of another version
    ├── JournalError                a journal that is damaged, or in use by another process
    └── JournalMismatchError        a journal that holds another run

`RunInterrupt` is not in the tree: it is a control signal, as `asyncio.CancelledError` is. It goes
from `interrupt()` to the loop and must pass every `except Exception` of tools and hooks on its way.
"""

from typing import Any

from taskloom.agent.result import Interrupt, Result
from taskloom.errors import Code, TaskloomError


class AgentError(TaskloomError):
    """The root of the agent's errors."""

    CODE = Code.INTERNAL_ERROR

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(self.CODE, message, details)


class ModelError(AgentError):
    """The model gave no usable reply.

    `kind` is a stable word for the cause, `retryable` says whether another attempt may help, and
    `retry_after_s` how long the provider asked to wait.
    """

    CODE = Code.MODEL_ERROR

    def __init__(
        self,
        message: str,
        *,
        kind: str = "unknown",
        retryable: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class RetriesExhaustedError(ModelError):
    """Every attempt failed; `last` is the error of the last one."""

    def __init__(self, attempts: int, last: Exception) -> None:
        super().__init__(
            f"The model failed {attempts} times; the last time: {last}",
            kind="retries_exhausted",
            retryable=False,
        )
        self.attempts = attempts
        self.last = last


class ReplyRejectedError(ModelError):
    """The model replied, and `Retry.should_retry` rejected the reply."""

    def __init__(self) -> None:
        super().__init__("`should_retry` rejected the reply.", kind="rejected")


class ToolError(AgentError):
    """Raise it in a tool: the model reads this text, and nothing else, as an error result.

        raise ToolError("There is no such city; check the spelling.")

    Of any other exception the model reads the tool's name, the exception's class and its text.
    """

    CODE = Code.TOOL_ERROR

    def __init__(self, message: str = "", **details: object) -> None:
        super().__init__(message, **details)

    def __str__(self) -> str:
        """Return the text alone, without the code: it is written for a model."""
        return self.message


class ToolArgumentsError(ToolError):
    """The arguments of a call do not fit the tool; the message names the argument and why."""

    CODE = Code.VALIDATION_ERROR


class ToolExecutionError(AgentError):
    """A tool raised, and the agent's `on_tool_error` is `raise`; `__cause__` is the exception."""

    CODE = Code.TOOL_ERROR

    def __init__(self, tool: str, call_id: str, cause: BaseException) -> None:
        super().__init__(
            f"Tool `{tool}` (call {call_id}) raised {type(cause).__name__}: {cause}",
            tool=tool,
            call_id=call_id,
        )


class HookError(AgentError):
    """A middleware's hook raised; `__cause__` is the exception."""

    def __init__(self, middleware: str, hook: str, cause: BaseException) -> None:
        super().__init__(
            f"Middleware `{middleware}`, hook `{hook}`, raised {type(cause).__name__}: {cause}",
            middleware=middleware,
            hook=hook,
        )
        self.middleware = middleware
        self.hook = hook


class RunFailedError(AgentError):
    """A run failed; `result` holds everything done before."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"The run failed: {result.error}", run_id=result.run_id)
        self.result = result


class NoActiveRunError(AgentError):
    """A function such as `set_value` was called outside of a run."""

    CODE = Code.VALIDATION_ERROR

    def __init__(self, function: str) -> None:
        super().__init__(
            f"`{function}` works only inside a run: call it in a hook, a model or a tool."
        )


class InvalidValueError(AgentError):
    """A run-local value or an interrupt's information is not plain JSON."""

    CODE = Code.VALIDATION_ERROR


class InvalidToolError(AgentError):
    """A function or object cannot be a tool; the message says what to change."""

    CODE = Code.VALIDATION_ERROR


class CheckpointError(AgentError):
    """A checkpoint is missing, damaged or of another version."""

    CODE = Code.STORAGE_ERROR


class JournalError(AgentError):
    """A journal is damaged, closed or in use by another process."""

    CODE = Code.STORAGE_ERROR


class JournalMismatchError(AgentError):
    """The journal holds another run than the one that was started."""

    CODE = Code.VALIDATION_ERROR


class RunInterrupt(BaseException):
    """Stops the run until its questions are answered; see `interrupt`."""

    def __init__(self, *interrupts: Interrupt, state: Any = None) -> None:
        super().__init__(", ".join(interrupt.where for interrupt in interrupts))
        self.interrupts = interrupts
        self.state = state
        """What the interrupted call needs when it is run again."""

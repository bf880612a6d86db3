"""The exceptions of workers, and a failed run's error as its dispatcher receives it."""

import asyncio
from typing import Any, Final

from taskloom.errors import Code, TaskloomError
from taskloom.text import clip

RESULT_CHARS: Final = 4_000
"""How much of an executor's text becomes the step's result; the run's report has the whole."""


class WorkerError(TaskloomError):
    """A worker did not carry out its step; the message says why."""

    def __init__(self, message: str, **details: object) -> None:
        """Raise with the code `tool_error`."""
        super().__init__(Code.TOOL_ERROR, message, details)


class FunctionWorkerError(WorkerError):
    """A worker's function returned something that is not JSON, or tried to end the program."""


class ProgramWorkerError(WorkerError):
    """A worker's program did not start, reported an error, or gave no result."""


class AcpWorkerError(WorkerError):
    """A worker's ACP agent did not finish the step."""


class InvalidResultError(TaskloomError):
    """A worker's result does not match `expected_output_schema`; the message says where."""

    def __init__(self, message: str) -> None:
        """Raise with the code `validation_error`."""
        super().__init__(Code.VALIDATION_ERROR, message)


class RunStoppedError(TaskloomError):
    """`emit` raises it in a thread whose run has ended: return from the function."""

    def __init__(self) -> None:
        """Raise with the code `cancelled`."""
        super().__init__(Code.CANCELLED, "The run has ended; return from the function.")


def error_dict(failure: BaseException) -> dict[str, Any]:
    """Return a failure as the dispatcher of the run receives it."""
    if isinstance(failure, TaskloomError):
        return failure.as_dict()
    if isinstance(failure, asyncio.CancelledError):
        return {"code": Code.CANCELLED.value, "message": "The run was cancelled.", "details": {}}
    message = _message(failure)
    text = f"{type(failure).__name__}: {message}" if message else type(failure).__name__
    return {"code": Code.INTERNAL_ERROR.value, "message": result_text(text), "details": {}}


def result_text(text: str) -> str:
    """Return as much of a text as a step keeps, as valid UTF-8."""
    return clip(text.encode("utf-8", "replace").decode(), RESULT_CHARS)


def _message(failure: BaseException) -> str:
    try:
        return str(failure)
    except Exception:  # noqa: BLE001 - the `__str__` of a worker's exception may raise
        return "its message cannot be shown"

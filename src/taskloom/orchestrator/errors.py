"""What is told of a run that went wrong, and seeing something through though one is cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from taskloom.errors import Code, TaskloomError
from taskloom.text import clip

SUMMARY_CHARS: Final = 4_000
"""Of what an executor gave back, this much becomes the step's result; the whole is its data."""

_T = TypeVar("_T")


async def shielded(work: Awaitable[_T]) -> _T:
    """Await something to its end, though this task is being cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue  # It is told on by whoever cancelled, when the end is written.
        except Exception:  # noqa: BLE001 - it is raised again below
            break
    return task.result()


def error_of(failure: BaseException) -> dict[str, Any]:
    """Return a failure as whoever dispatched is told it."""
    if isinstance(failure, TaskloomError):
        return failure.as_dict()
    if isinstance(failure, asyncio.CancelledError):
        return {"code": Code.CANCELLED.value, "message": "The run was cancelled.", "details": {}}
    said = _said(failure)
    text = f"{type(failure).__name__}: {said}" if said else type(failure).__name__
    return {"code": Code.INTERNAL_ERROR.value, "message": short(text), "details": {}}


def short(text: str) -> str:
    """Return as much of a text as a step keeps, in a form that can be written."""
    return clip(text.encode("utf-8", "replace").decode(), SUMMARY_CHARS)


def _said(failure: BaseException) -> str:
    try:
        return str(failure)
    except Exception:  # noqa: BLE001 - a worker's exception may be anything
        return "its message cannot be shown"

"""Saving content that leaves the context; content that cannot be saved stays."""

import inspect
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar, cast

from msgspec import Struct

from taskloom.agent import NoActiveRunError, TextPart, send_event
from taskloom.files import Backend
from taskloom.middleware.reduction.settings import PathGenerator, ToolContent, ToolDetail
from taskloom.middleware.reduction.store import ResultStore

T = TypeVar("T")


class ReductionWarning(Struct, frozen=True):
    """A result was not reduced because it could not be saved; sent as a `CustomEvent`."""

    phase: str
    tool_name: str
    call_id: str
    path: str
    reason: str


class Offload:
    """Saves for one phase, `trunc` or `clear`, and sends a warning when that fails."""

    def __init__(
        self,
        phase: str,
        store: ResultStore,
        path_generator: PathGenerator | None,
        on_saved: Callable[[str], None],
    ) -> None:
        """Set the phase, the store, the path generator, and a callback for saved paths."""
        self.phase = phase
        self.store = store
        self._on_saved = on_saved
        self._path_generator = path_generator

    async def path(self, detail: ToolDetail) -> str | None:
        """Return the path to save a result to; None if the generator fails."""
        if self._path_generator is None:
            return self.store.path(self.phase, detail.call_id)
        try:
            return self._path_generator(detail)
        except Exception as error:  # noqa: BLE001  # a user's function may raise anything
            await self.warn(detail, "", error)
            return None

    async def save(
        self, detail: ToolDetail, backend: Backend | None, path: str, content: str
    ) -> str | None:
        """Save; return the actual path, or None after a warning."""
        try:
            if backend is None:
                raise ValueError("There is no backend to save to.")  # noqa: TRY301  # one path for all failures
            saved = await self.store.save(backend, path, content)
        except Exception as error:  # noqa: BLE001  # after any failure the result stays as it is
            await self.warn(detail, path, error)
            return None
        self._on_saved(saved)
        return saved

    async def warn(self, detail: ToolDetail, path: str, reason: object) -> None:
        """Send an event that says why a result was not reduced."""
        if isinstance(reason, BaseException):
            reason = f"{type(reason).__name__}: {reason}"
        event = ReductionWarning(self.phase, detail.tool_name, detail.call_id, path, str(reason))
        with suppress(NoActiveRunError):
            await send_event(event)


async def maybe_await(given: T | Awaitable[T]) -> T:
    """Return the result of a function, sync or async."""
    if inspect.isawaitable(given):
        return cast("T", await given)
    return given


def replace_path(content: ToolContent, old: str, new: str) -> ToolContent | None:
    """Return a notice with another path; None if it does not contain the old one."""
    if old == new:
        return content
    # Not where it is only the start of a longer path.
    pattern = re.compile(re.escape(old) + r"(?![\w/-]|\.\w)")
    if isinstance(content, str):
        return pattern.sub(lambda _: new, content) if pattern.search(content) else None
    if not any(isinstance(part, TextPart) and pattern.search(part.text) for part in content):
        return None
    return tuple(
        TextPart(pattern.sub(lambda _: new, part.text)) if isinstance(part, TextPart) else part
        for part in content
    )

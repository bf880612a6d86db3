"""Saving what is taken out of the context; what cannot be saved is not taken out."""

import inspect
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar, cast

from taskloom.agent import NoActiveRunError, TextPart, send_event
from taskloom.files import Backend
from taskloom.middleware.reduction.handlers import (
    PathOf,
    ReductionWarning,
    ToolContent,
    ToolDetail,
)
from taskloom.middleware.reduction.store import Store

T = TypeVar("T")


class Offload:
    """Saves for one phase, `trunc` or `clear`, and tells the listener where it fails."""

    def __init__(
        self,
        phase: str,
        store: Store,
        path_of: PathOf | None,
        remember: Callable[[str], None],
    ) -> None:
        """Take the phase, the store, the path generator, and who remembers what was saved."""
        self.phase = phase
        self.store = store
        self._remember = remember
        self._path_of = path_of

    async def path(self, detail: ToolDetail) -> str | None:
        """Return where a result is to be saved; None if the generator fails."""
        if self._path_of is None:
            return self.store.path(self.phase, detail.call_id)
        try:
            return self._path_of(detail)
        except Exception as error:  # noqa: BLE001  # a function of the user's may raise anything
            await self.warn(detail, "", error)
            return None

    async def save(
        self, detail: ToolDetail, backend: Backend | None, path: str, content: str
    ) -> str | None:
        """Save; return where it is, or None after a warning."""
        try:
            if backend is None:
                raise ValueError("There is no backend to save to.")  # noqa: TRY301  # one way to fail
            saved = await self.store.save(backend, path, content)
        except Exception as error:  # noqa: BLE001  # whatever it is, the result stays whole
            await self.warn(detail, path, error)
            return None
        self._remember(saved)
        return saved

    async def warn(self, detail: ToolDetail, path: str, reason: object) -> None:
        """Say that a result stays whole, and why."""
        if isinstance(reason, BaseException):
            reason = f"{type(reason).__name__}: {reason}"
        event = ReductionWarning(self.phase, detail.tool_name, detail.call_id, path, str(reason))
        with suppress(NoActiveRunError):
            await send_event(event)


async def answer(given: T | Awaitable[T]) -> T:
    """Return what a function gave, sync or async."""
    if inspect.isawaitable(given):
        return cast("T", await given)
    return given


def moved(content: ToolContent, wanted: str, path: str) -> ToolContent | None:
    """Return a notice with the path under which the content is; None if it names none."""
    if wanted == path:
        return content
    # Not where it is only the beginning of another path.
    there = re.compile(re.escape(wanted) + r"(?![\w/-]|\.\w)")
    if isinstance(content, str):
        return there.sub(lambda _: path, content) if there.search(content) else None
    if not any(isinstance(part, TextPart) and there.search(part.text) for part in content):
        return None
    return tuple(
        TextPart(there.sub(lambda _: path, part.text)) if isinstance(part, TextPart) else part
        for part in content
    )

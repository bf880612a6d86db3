"""Truncation: one long result is saved whole, and a notice goes to the model in its place."""

from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from taskloom.agent import JsonPart, Part, TextPart, ToolError, ToolRequest
from taskloom.agent.tools.schema import ToolArgumentsError
from taskloom.middleware.reduction.handlers import ToolContent, ToolDetail
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload, answer, moved
from taskloom.middleware.reduction.serialization import to_saved
from taskloom.middleware.reduction.settings import Choice, Settings
from taskloom.middleware.reduction.tokens import json_text


class Truncation:
    """Cuts the results of tools; the loop's wrappers hand them over here."""

    def __init__(
        self, settings: Settings, offload: Offload, notices: Callable[[], Notices]
    ) -> None:
        """Take the settings, where to save, and who writes the notices."""
        self.settings = settings
        self.offload = offload
        self.notices = notices

    async def text(self, request: ToolRequest, result: str, choice: Choice) -> str:
        """Return what the model gets for a text."""
        if choice.trunc_handler is not None:
            given = await self.by_handler(request, result, choice)
            return result if given is None else as_text(given)
        return await self._cut(request, result, choice)

    async def error(
        self, request: ToolRequest, error: Exception, choice: Choice
    ) -> ToolError | None:
        """Return what to raise for a tool that failed at length; None if its error may pass.

        What went wrong reaches the model as a result, so it is saved and cut like one. Handlers
        are not asked: they know the tool's results, and this is none.
        """
        inner = _unwrapped(error)
        if isinstance(inner, ToolArgumentsError):
            return None  # Not the tool's words but the check's, and never long.
        try:
            reason = str(inner)
        except Exception:  # noqa: BLE001  # an error that cannot be told has no text to cut
            return None
        text = reason if isinstance(inner, ToolError) else f"{type(inner).__name__}: {reason}"
        cut = await self._cut(request, text, choice)
        return None if cut == text else ToolError(cut)

    async def _cut(self, request: ToolRequest, result: str, choice: Choice) -> str:
        if len(result) <= self.settings.max_length_for_trunc:
            return result
        found = await self._place(request, result)
        if found is None:
            return result
        path, is_saved = found
        if self.notices().truncated(path, result) is None:
            return result
        if not is_saved:
            saved = await self.save(request, result, choice, path)
            if saved is None:
                return result
            path = saved
        return self.notices().truncated(path, result) or result

    async def parts(
        self, request: ToolRequest, result: Sequence[Part], choice: Choice
    ) -> Sequence[Part]:
        """Return what the model gets for parts: what is text is cut, the rest stays."""
        content = tuple(result)
        if choice.trunc_handler is not None:
            given = await self.by_handler(request, content, choice)
            return content if given is None else as_parts(given)
        texts = {place: text for place, part in enumerate(content) if (text := text_of(part))}
        if sum(map(len, texts.values())) <= self.settings.max_length_for_trunc:
            return content
        found = await self._place(request, content)
        if found is None:
            return content
        path, is_saved = found
        cut = self._to_cut(texts, path)
        if cut is None:
            return content
        if not is_saved:
            saved = await self.save(request, content, choice, path)
            if saved is None:
                return content
            path = saved
        notice = self.notices().truncated(path, "".join(cut.values()), parts=True)
        if notice is None:
            return content
        first = min(cut)
        return [
            TextPart(notice) if place == first else part
            for place, part in enumerate(content)
            if place == first or place not in cut
        ]

    def _to_cut(self, texts: dict[int, str], path: str) -> dict[int, str] | None:
        """Choose the long texts; all of them if the notice would be longer than those."""
        share = self.settings.max_length_for_trunc // len(texts)
        long = {place: text for place, text in texts.items() if len(text) > share}
        for chosen in (long, texts):
            if self.notices().truncated(path, "".join(chosen.values()), parts=True) is not None:
                return chosen
        return None

    async def _place(self, request: ToolRequest, result: ToolContent) -> tuple[str, bool] | None:
        """Return where a result is to be saved, and whether it is there already."""
        known = self.source(request)
        if known is not None:
            return known, True
        path = await self.offload.path(detail_of(request, result))
        return None if path is None else (path, False)

    def source(self, request: ToolRequest) -> str | None:
        """Return the saved path that a call reads back: saving that again would never end."""
        if request.name != self.settings.read_file_tool_name:
            return None
        for value in request.arguments.values():
            if isinstance(value, str) and self.offload.store.is_saved(value):
                return value
        return None

    async def save(
        self, request: ToolRequest, result: ToolContent, choice: Choice, path: str
    ) -> str | None:
        """Save a result; return where it is, or None after a warning."""
        detail = detail_of(request, result)
        try:
            content = to_saved(result)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            await self.offload.warn(detail, path, error)  # Data that has no JSON.
            return None
        return await self.offload.save(detail, choice.backend, path, content)

    async def by_handler(
        self, request: ToolRequest, result: ToolContent, choice: Choice
    ) -> ToolContent | None:
        """Return what a handler of the user's makes of a result; None if it stays."""
        assert choice.trunc_handler is not None
        detail = detail_of(request, result)
        try:
            given = await answer(choice.trunc_handler(detail))
            if not given.need_trunc:
                return None
        except Exception as error:  # noqa: BLE001  # a handler's mistake must not cost the result
            await self.offload.warn(detail, "", error)
            return None
        if given.tool_result is None:
            await self.offload.warn(
                detail, "", "The handler wants to cut and gives no tool_result."
            )
            return None
        if not given.need_offload:
            return given.tool_result
        wanted = given.offload_file_path or self.offload.store.path("trunc", detail.call_id)
        path = await self.offload.save(detail, choice.backend, wanted, given.offload_content)
        if path is None:
            return None
        content = moved(given.tool_result, wanted, path)
        if content is None:
            await self.offload.warn(detail, wanted, "The path is taken by another content.")
        return content


def detail_of(request: ToolRequest, result: ToolContent) -> ToolDetail:
    """Return what handlers and path generators are told."""
    try:
        arguments = msgspec.json.encode(request.arguments).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        arguments = repr(request.arguments)
    return ToolDetail(request.name, request.call_id, arguments, result)


def text_of(part: Part) -> str:
    """Return the text of a part that a model reads as text; empty for the others."""
    if isinstance(part, TextPart):
        return part.text
    return json_text(part) if isinstance(part, JsonPart) else ""


def as_text(content: ToolContent) -> str:
    """Return a result as the text a text tool must give."""
    if isinstance(content, str):
        return content
    return "".join(map(text_of, content))


def as_parts(content: ToolContent) -> tuple[Part, ...]:
    """Return a result as the parts a tool of parts must give."""
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(cast("Sequence[Part]", content))


def _unwrapped(error: Exception) -> Exception:
    """Return the one error in a task group's wrapping: that is what the model is told."""
    if not isinstance(error, ExceptionGroup):
        return error
    first, *others = cast("ExceptionGroup[Exception]", error).exceptions
    return cast("Exception", error) if others else _unwrapped(first)

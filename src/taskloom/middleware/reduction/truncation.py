"""Truncation: a long result is saved in full, and the model gets a notice instead."""

from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from taskloom.agent import JsonPart, Part, TextPart, ToolArgumentsError, ToolError, ToolRequest
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload, maybe_await, replace_path
from taskloom.middleware.reduction.serialization import to_saved
from taskloom.middleware.reduction.settings import (
    ReductionSettings,
    ToolContent,
    ToolDetail,
    ToolSettings,
)
from taskloom.middleware.reduction.tokens import json_text


class Truncation:
    """Truncates the results of tools."""

    def __init__(
        self, settings: ReductionSettings, offload: Offload, notices: Callable[[], Notices]
    ) -> None:
        """Set the limits, where to save, and how to write notices."""
        self.settings = settings
        self.offload = offload
        self.notices = notices

    async def text(self, request: ToolRequest, result: str, tool_settings: ToolSettings) -> str:
        """Return a text result for the model."""
        if tool_settings.trunc_handler is not None:
            answer = await self.by_handler(request, result, tool_settings)
            return result if answer is None else as_text(answer)
        return await self._cut(request, result, tool_settings)

    async def error(
        self, request: ToolRequest, error: Exception, tool_settings: ToolSettings
    ) -> ToolError | None:
        """Return a shorter error for a long one; None to keep it.

        An error reaches the model as a result, so it is saved and cut like one. Handlers are not
        called: they are made for the tool's results, not for its errors.
        """
        inner = _unwrapped(error)
        if isinstance(inner, ToolArgumentsError):
            return None  # This text comes from the argument check and is never long.
        try:
            reason = str(inner)
        except Exception:  # noqa: BLE001  # an error without a text has nothing to cut
            return None
        text = reason if isinstance(inner, ToolError) else f"{type(inner).__name__}: {reason}"
        cut = await self._cut(request, text, tool_settings)
        return None if cut == text else ToolError(cut)

    async def _cut(self, request: ToolRequest, result: str, tool_settings: ToolSettings) -> str:
        if len(result) <= self.settings.max_length_for_trunc:
            return result
        target = await self._target(request, result)
        if target is None:
            return result
        path, is_saved = target
        if self.notices().truncated(path, result) is None:
            return result
        if not is_saved:
            saved = await self.save(request, result, tool_settings, path)
            if saved is None:
                return result
            path = saved
        return self.notices().truncated(path, result) or result

    async def parts(
        self, request: ToolRequest, result: Sequence[Part], tool_settings: ToolSettings
    ) -> Sequence[Part]:
        """Return the parts for the model: text is cut, the rest is kept."""
        content = tuple(result)
        if tool_settings.trunc_handler is not None:
            answer = await self.by_handler(request, content, tool_settings)
            return content if answer is None else as_parts(answer)
        texts = {index: text for index, part in enumerate(content) if (text := text_of(part))}
        if sum(map(len, texts.values())) <= self.settings.max_length_for_trunc:
            return content
        target = await self._target(request, content)
        if target is None:
            return content
        path, is_saved = target
        cut = self._to_cut(texts, path)
        if cut is None:
            return content
        if not is_saved:
            saved = await self.save(request, content, tool_settings, path)
            if saved is None:
                return content
            path = saved
        notice = self.notices().truncated(path, "".join(cut.values()), parts=True)
        if notice is None:
            return content
        first = min(cut)
        return [
            TextPart(notice) if index == first else part
            for index, part in enumerate(content)
            if index == first or index not in cut
        ]

    def _to_cut(self, texts: dict[int, str], path: str) -> dict[int, str] | None:
        """Return the long texts, or all texts if the notice would be longer than those."""
        share = self.settings.max_length_for_trunc // len(texts)
        long = {index: text for index, text in texts.items() if len(text) > share}
        for chosen in (long, texts):
            if self.notices().truncated(path, "".join(chosen.values()), parts=True) is not None:
                return chosen
        return None

    async def _target(self, request: ToolRequest, result: ToolContent) -> tuple[str, bool] | None:
        """Return the path to save a result to, and whether it is saved already."""
        known = self.source(request)
        if known is not None:
            return known, True
        path = await self.offload.path(detail_of(request, result))
        return None if path is None else (path, False)

    def source(self, request: ToolRequest) -> str | None:
        """Return the saved path that a call reads; its result must not be saved again."""
        if request.name != self.settings.read_file_tool_name:
            return None
        for value in request.arguments.values():
            if isinstance(value, str) and self.offload.store.is_saved(value):
                return value
        return None

    async def save(
        self, request: ToolRequest, result: ToolContent, tool_settings: ToolSettings, path: str
    ) -> str | None:
        """Save a result; return the actual path, or None after a warning."""
        detail = detail_of(request, result)
        try:
            content = to_saved(result)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            await self.offload.warn(detail, path, error)  # A value is not serializable.
            return None
        return await self.offload.save(detail, tool_settings.backend, path, content)

    async def by_handler(
        self, request: ToolRequest, result: ToolContent, tool_settings: ToolSettings
    ) -> ToolContent | None:
        """Return the result of a custom handler; None to keep the original."""
        assert tool_settings.trunc_handler is not None
        detail = detail_of(request, result)
        try:
            answer = await maybe_await(tool_settings.trunc_handler(detail))
            if not answer.need_trunc:
                return None
        except Exception as error:  # noqa: BLE001  # a faulty handler must not lose the result
            await self.offload.warn(detail, "", error)
            return None
        if answer.tool_result is None:
            await self.offload.warn(
                detail, "", "The handler sets need_trunc and returns no tool_result."
            )
            return None
        if not answer.need_offload:
            return answer.tool_result
        wanted = answer.offload_file_path or self.offload.store.path("trunc", detail.call_id)
        path = await self.offload.save(
            detail, tool_settings.backend, wanted, answer.offload_content
        )
        if path is None:
            return None
        content = replace_path(answer.tool_result, wanted, path)
        if content is None:
            await self.offload.warn(detail, wanted, "The path is taken by another content.")
        return content


def detail_of(request: ToolRequest, result: ToolContent) -> ToolDetail:
    """Return the argument of handlers and path generators."""
    try:
        arguments = msgspec.json.encode(request.arguments).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        arguments = repr(request.arguments)
    return ToolDetail(request.name, request.call_id, arguments, result)


def text_of(part: Part) -> str:
    """Return the text of a text or JSON part; empty for the others."""
    if isinstance(part, TextPart):
        return part.text
    return json_text(part) if isinstance(part, JsonPart) else ""


def as_text(content: ToolContent) -> str:
    """Return a result as text."""
    if isinstance(content, str):
        return content
    return "".join(map(text_of, content))


def as_parts(content: ToolContent) -> tuple[Part, ...]:
    """Return a result as parts."""
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(cast("Sequence[Part]", content))


def _unwrapped(error: Exception) -> Exception:
    """Return the single error inside an exception group, which the model sees."""
    if not isinstance(error, ExceptionGroup):
        return error
    first, *others = cast("ExceptionGroup[Exception]", error).exceptions
    return cast("Exception", error) if others else _unwrapped(first)

"""Decide how to clear one old call and its result, before anything is saved or changed."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from taskloom.agent import JsonPart, Message, TextPart, ToolCall
from taskloom.middleware.reduction.notices import Notices, is_pointer, notice_path
from taskloom.middleware.reduction.offload import Offload, maybe_await
from taskloom.middleware.reduction.serialization import from_saved, to_saved
from taskloom.middleware.reduction.settings import (
    ReductionSettings,
    ToolContent,
    ToolDetail,
    ToolSettings,
)
from taskloom.middleware.reduction.truncation import as_text

CLEARED: Final = "cleared"
"""The `finish_reason` of a cleared tool result; other results have none."""

LONG_VALUE: Final = 200
"""In large arguments only longer values are replaced: a path or a flag says what was done."""


class OffloadFile(Struct, frozen=True):
    """A file to save, and whether the new content or arguments name its path."""

    path: str
    text: str
    in_content: bool = True
    in_arguments: bool = True


class ClearDecision(Struct, frozen=True):
    """New content or arguments (None: unchanged), and the files to save first."""

    detail: ToolDetail
    settings: ToolSettings
    content: ToolContent | None
    arguments: str | None
    files: tuple[OffloadFile, ...] = ()


class ClearDecider:
    """Decides about one call and its result at a time."""

    def __init__(self, settings: ReductionSettings, offload: Offload) -> None:
        """Set what to clear and where to save it."""
        self._settings = settings
        self._offload = offload

    async def decide(
        self, notices: Notices, call: ToolCall, result: Message
    ) -> ClearDecision | None:
        """Return the decision, or None to change nothing."""
        settings = self._settings.for_tool(call.name)
        if not settings.clears or is_cleared(result):
            return None
        detail = ToolDetail(call.name, call.id, call.arguments, result.content)
        if settings.clear_handler is not None:
            return await self._by_handler(detail, settings)
        if settings.backend is None:
            text = notices.texts.cleared_unsaved
            shorter = is_shorter(text, result.content)
            return ClearDecision(detail, settings, text, None) if shorter else None
        return await self._by_default(notices, detail, settings)

    async def _by_default(
        self, notices: Notices, detail: ToolDetail, settings: ToolSettings
    ) -> ClearDecision | None:
        path = await self._offload.path(detail)
        if path is None:
            return None
        saved_path = await self._saved_path(notices, detail)
        pointer: str | None = notices.cleared(saved_path or path)
        files: list[OffloadFile] = []
        if not is_shorter(notices.cleared(saved_path or path), detail.tool_result):
            pointer = None
        elif saved_path is None:
            try:
                files.append(OffloadFile(path, to_saved(detail.tool_result), in_arguments=False))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                await self._offload.warn(detail, path, error)  # A value is not serializable.
                return None
        arguments = self._short_arguments(notices, detail.tool_argument, f"{path}-arguments")
        if arguments is not None:
            files.append(OffloadFile(f"{path}-arguments", detail.tool_argument, in_content=False))
        if pointer is None and arguments is None:
            return None
        return ClearDecision(detail, settings, pointer, arguments, tuple(files))

    async def _saved_path(self, notices: Notices, detail: ToolDetail) -> str | None:
        """Return the file of a truncated result, or of one read back: it needs no second file.

        The notice must be exactly what truncation makes of that file, or the result a part of
        it, so that a tool cannot have its output dropped by imitating a notice.
        """
        content = detail.tool_result
        if not isinstance(content, str):
            return None
        is_read = detail.tool_name == notices.read_tool
        path = _path_argument(detail) if is_read else notice_path(content)
        if path is None or not self._offload.store.is_saved(path):
            return None
        try:
            text = from_saved(await self._offload.store.read(path))
        except Exception:  # noqa: BLE001  # then the result is saved like any other
            return None
        if not isinstance(text, str):
            return None
        same = _is_part(content, text) if is_read else notices.is_notice_of(content, path, text)
        return path if same else None

    def _short_arguments(self, notices: Notices, arguments: str, path: str) -> str | None:
        """Return large arguments with their long values replaced; None to keep them."""
        over = self._settings.clear_arguments_over
        if over is None or len(arguments) <= over:
            return None
        values = _object(arguments)
        if values is None:
            return None
        short: dict[str, Any] = {}
        for name, value in values.items():
            size = len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
            note = notices.texts.argument.format(size=size, path=path)
            short[name] = note if size > max(LONG_VALUE, len(note)) else value
        text = msgspec.json.encode(short).decode()
        return text if len(text) < len(arguments) else None

    async def _by_handler(self, detail: ToolDetail, settings: ToolSettings) -> ClearDecision | None:
        assert settings.clear_handler is not None
        try:
            answer = await maybe_await(settings.clear_handler(detail))
            if not answer.need_clear:
                return None
        except Exception as error:  # noqa: BLE001  # a faulty handler must not lose the result
            await self._offload.warn(detail, "", error)
            return None
        if answer.tool_argument is not None and _object(answer.tool_argument) is None:
            # A provider would refuse every later request of the conversation.
            await self._offload.warn(
                detail, "", "The handler's tool_argument is not a JSON object."
            )
            return None
        if answer.tool_argument is None and answer.tool_result is None:
            return None
        path = answer.offload_file_path or self._offload.store.path("clear", detail.call_id)
        files = (OffloadFile(path, answer.offload_content),) if answer.need_offload else ()
        return ClearDecision(detail, settings, answer.tool_result, answer.tool_argument, files)


def is_cleared(result: Message) -> bool:
    """Return whether a result was cleared before, by its mark or by its text."""
    return result.finish_reason == CLEARED or (
        isinstance(result.content, str) and is_pointer(result.content)
    )


def is_shorter(pointer: str, content: ToolContent) -> bool:
    """Return whether a pointer is shorter than a result; an image is always longer."""
    if not isinstance(content, str) and any(
        not isinstance(part, TextPart | JsonPart) for part in content
    ):
        return True
    return len(pointer) < len(as_text(content))


def _path_argument(detail: ToolDetail) -> str | None:
    path = (_object(detail.tool_argument) or {}).get("path")
    return path if isinstance(path, str) else None


def _is_part(content: str, text: str) -> bool:
    """Return whether a content is part of a text, apart from the line that says how to continue."""
    return content in text or (content.endswith("]") and content.rpartition("\n[")[0] in text)


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None

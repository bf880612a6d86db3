"""What shall become of one old call and its result, before anything is saved or changed."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from taskloom.agent import JsonPart, Message, TextPart, ToolCall
from taskloom.middleware.reduction.handlers import ToolContent, ToolDetail
from taskloom.middleware.reduction.notices import Notices, is_pointer, told_path
from taskloom.middleware.reduction.offload import Offload, answer
from taskloom.middleware.reduction.serialization import from_saved, to_saved
from taskloom.middleware.reduction.settings import Choice, Settings
from taskloom.middleware.reduction.truncation import as_text

CLEARED: Final = "cleared"
"""The `finish_reason` of a tool result that was cleared; results have none otherwise."""

LONG_VALUE: Final = 200
"""Of large arguments only values longer than this go: a path or a flag says what was done."""


class Save(Struct, frozen=True):
    """One file to be made, and which of the two names its path."""

    path: str
    text: str
    in_content: bool = True
    in_arguments: bool = True


class Proposal(Struct, frozen=True):
    """New content or arguments (None: as they are), and what must be saved before."""

    detail: ToolDetail
    choice: Choice
    content: ToolContent | None
    arguments: str | None
    saves: tuple[Save, ...] = ()


class Proposer:
    """Looks at one call and its result at a time."""

    def __init__(self, settings: Settings, offload: Offload) -> None:
        """Take the settings and where things are saved."""
        self._settings = settings
        self._offload = offload

    async def propose(self, notices: Notices, call: ToolCall, result: Message) -> Proposal | None:
        """Return what to do, or None to leave both alone."""
        choice = self._settings.choose(call.name)
        if not choice.clears or is_cleared(result):
            return None
        detail = ToolDetail(call.name, call.id, call.arguments, result.content)
        if choice.clear_handler is not None:
            return await self._by_handler(detail, choice)
        if choice.backend is None:
            text = notices.texts.cleared_unsaved
            shorter = is_shorter(text, result.content)
            return Proposal(detail, choice, text, None) if shorter else None
        return await self._by_default(notices, detail, choice)

    async def _by_default(
        self, notices: Notices, detail: ToolDetail, choice: Choice
    ) -> Proposal | None:
        path = await self._offload.path(detail)
        if path is None:
            return None
        already = await self._told(notices, detail)
        pointer: str | None = notices.cleared(already or path)
        saves: list[Save] = []
        if not is_shorter(notices.cleared(already or path), detail.tool_result):
            pointer = None
        elif already is None:
            try:
                saves.append(Save(path, to_saved(detail.tool_result), in_arguments=False))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                await self._offload.warn(detail, path, error)  # Data that has no JSON.
                return None
        arguments = self._short_arguments(notices, detail.tool_argument, f"{path}-arguments")
        if arguments is not None:
            saves.append(Save(f"{path}-arguments", detail.tool_argument, in_content=False))
        if pointer is None and arguments is None:
            return None
        return Proposal(detail, choice, pointer, arguments, tuple(saves))

    async def _told(self, notices: Notices, detail: ToolDetail) -> str | None:
        """Return where a truncated result, or one read back, is saved: it needs no second file.

        Only if the notice is word for word what truncation made of that file, or the result a
        piece of it, so that a tool cannot get anything dropped by printing what looks so.
        """
        content = detail.tool_result
        if not isinstance(content, str):
            return None
        is_read = detail.tool_name == notices.read_tool
        path = _path_argument(detail) if is_read else told_path(content)
        if path is None or not self._offload.store.is_saved(path):
            return None
        try:
            text = from_saved(await self._offload.store.read(path))
        except Exception:  # noqa: BLE001  # then it is saved like any other result
            return None
        if not isinstance(text, str):
            return None
        same = _is_piece(content, text) if is_read else notices.stands_for(content, path, text)
        return path if same else None

    def _short_arguments(self, notices: Notices, arguments: str, path: str) -> str | None:
        """Return large arguments with their long values replaced; None if they stay."""
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

    async def _by_handler(self, detail: ToolDetail, choice: Choice) -> Proposal | None:
        assert choice.clear_handler is not None
        try:
            given = await answer(choice.clear_handler(detail))
            if not given.need_clear:
                return None
        except Exception as error:  # noqa: BLE001  # a handler's mistake must not cost the result
            await self._offload.warn(detail, "", error)
            return None
        if given.tool_argument is not None and _object(given.tool_argument) is None:
            # A provider would refuse every further request of the conversation.
            await self._offload.warn(detail, "", "The handler's tool_argument is no JSON object.")
            return None
        if given.tool_argument is None and given.tool_result is None:
            return None
        path = given.offload_file_path or self._offload.store.path("clear", detail.call_id)
        saves = (Save(path, given.offload_content),) if given.need_offload else ()
        return Proposal(detail, choice, given.tool_result, given.tool_argument, saves)


def is_cleared(result: Message) -> bool:
    """Tell whether a result was cleared before, by its mark or by its words."""
    return result.finish_reason == CLEARED or (
        isinstance(result.content, str) and is_pointer(result.content)
    )


def is_shorter(pointer: str, content: ToolContent) -> bool:
    """Tell whether a pointer is shorter than a result; an image is always longer."""
    if not isinstance(content, str) and any(
        not isinstance(part, TextPart | JsonPart) for part in content
    ):
        return True
    return len(pointer) < len(as_text(content))


def _path_argument(detail: ToolDetail) -> str | None:
    path = (_object(detail.tool_argument) or {}).get("path")
    return path if isinstance(path, str) else None


def _is_piece(content: str, text: str) -> bool:
    """Tell whether a content is part of a text, but for the line that says how to go on."""
    return content in text or (content.endswith("]") and content.rpartition("\n[")[0] in text)


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None

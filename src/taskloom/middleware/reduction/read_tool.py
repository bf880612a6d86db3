"""The tool that reads saved results back: bounded, exact, and able to read one endless line.

A piece is the saved text itself, without line numbers, so that pieces put together are the
whole. What does not fit is told in a last line of its own, in brackets, with the arguments that
go on from there.
"""

from typing import Annotated, Any, Final

from msgspec import Meta, structs

from taskloom.agent import Tool, ToolInfo, tool
from taskloom.files import slice_lines
from taskloom.middleware.reduction.store import Store
from taskloom.middleware.reduction.texts import ReductionTexts

LINES_MAX: Final = 2_000
CHARS_MAX: Final = 20_000
"""What a model can make use of at once, and well below the limit at which results are cut."""
CHARS_MIN: Final = 500
"""With less it would never get through anything."""


def read_tool(name: str, store: Store, texts: ReductionTexts, max_length: int) -> Tool:
    """Return the tool `name(path, offset, limit, char_offset)` over a store."""
    size = max(CHARS_MIN, min(CHARS_MAX, max_length))

    async def read(
        path: str,
        offset: Annotated[int, Meta(ge=1)] = 1,
        limit: Annotated[int, Meta(ge=1, le=LINES_MAX)] = LINES_MAX,
        char_offset: Annotated[int, Meta(ge=0)] = 0,
    ) -> str:
        if not store.is_saved(path):
            raise PermissionError(texts.not_saved.format(path=path, root=store.root_dir))
        try:
            text = await store.read(path, offset - 1, limit + 1)
        except FileNotFoundError:
            raise FileNotFoundError(texts.no_file.format(path=path)) from None
        if not text:
            if offset > 1:
                raise ValueError(texts.past_end.format(path=path, line=offset))
            return texts.empty
        _check_char_offset(texts, path, text, offset, char_offset)
        return _piece(texts, text, offset, limit, char_offset, size)

    made = tool(name=name, description=texts.read_tool, idempotent=True)(read)
    return structs.replace(made, info=ToolInfo(name, texts.read_tool, _described(made, texts)))


def _described(made: Tool, texts: ReductionTexts) -> dict[str, Any]:
    words = {
        "path": texts.read_path,
        "offset": texts.read_offset,
        "limit": texts.read_limit,
        "char_offset": texts.read_char_offset,
    }
    schema = dict(made.info.parameters)
    schema["properties"] = {
        argument: {**described, "description": words[argument]}
        for argument, described in schema["properties"].items()
    }
    return schema


def _check_char_offset(
    texts: ReductionTexts, path: str, text: str, line: int, char_offset: int
) -> None:
    if char_offset:
        width = len(slice_lines(text, 0, 1))
        if char_offset >= width:
            raise ValueError(texts.past_line.format(path=path, line=line, size=width))


def _piece(  # what the model asked for, and what it was found in
    texts: ReductionTexts, text: str, line: int, limit: int, skipped: int, size: int
) -> str:
    wanted = slice_lines(text, 0, limit)
    rest = len(text) > len(wanted)
    wanted = wanted[skipped:]
    if len(wanted) <= size:
        if not rest:
            return wanted
        return _ended(wanted, texts.more_lines.format(line=line + limit))
    piece = wanted[:size]
    ends = piece.rfind("\n") + 1
    if ends > size // 2:
        piece = piece[:ends]
    next_line = line + piece.count("\n")
    if piece.endswith("\n"):
        return _ended(piece, texts.more_lines.format(line=next_line))
    chars = len(piece) - ends + (0 if ends else skipped)
    return _ended(piece, texts.more_chars.format(line=next_line, chars=chars))


def _ended(piece: str, how_to_go_on: str) -> str:
    return f"{piece}\n{how_to_go_on}"

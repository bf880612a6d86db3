"""The tool that reads saved results: bounded, exact, and able to read one very long line.

A chunk is the saved text itself, without line numbers, so that joined chunks are the whole. If
more follows, a last line in brackets gives the arguments that continue there.
"""

from typing import Annotated, Any, Final

from msgspec import Meta, structs

from taskloom.agent import Tool, ToolInfo, tool
from taskloom.files import slice_lines
from taskloom.middleware.reduction.store import ResultStore
from taskloom.middleware.reduction.texts import ReductionTexts

LINES_MAX: Final = 2_000
CHARS_MAX: Final = 20_000
"""A useful amount for a model, and well below the default limit of truncation."""
CHARS_MIN: Final = 500
"""With less a model would need too many calls."""


def read_tool(name: str, store: ResultStore, texts: ReductionTexts, max_length: int) -> Tool:
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
        return _chunk(texts, text, offset, limit, char_offset, size)

    made = tool(name=name, description=texts.read_tool, idempotent=True)(read)
    return structs.replace(made, info=ToolInfo(name, texts.read_tool, _described(made, texts)))


def _described(made: Tool, texts: ReductionTexts) -> dict[str, Any]:
    descriptions = {
        "path": texts.read_path,
        "offset": texts.read_offset,
        "limit": texts.read_limit,
        "char_offset": texts.read_char_offset,
    }
    schema = dict(made.info.parameters)
    schema["properties"] = {
        argument: {**described, "description": descriptions[argument]}
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


def _chunk(  # all parameters describe one request
    texts: ReductionTexts, text: str, line: int, limit: int, skipped: int, size: int
) -> str:
    wanted = slice_lines(text, 0, limit)
    rest = len(text) > len(wanted)
    wanted = wanted[skipped:]
    if len(wanted) <= size:
        if not rest:
            return wanted
        return _with_note(wanted, texts.more_lines.format(line=line + limit))
    chunk = wanted[:size]
    ends = chunk.rfind("\n") + 1
    if ends > size // 2:
        chunk = chunk[:ends]
    next_line = line + chunk.count("\n")
    if chunk.endswith("\n"):
        return _with_note(chunk, texts.more_lines.format(line=next_line))
    chars = len(chunk) - ends + (0 if ends else skipped)
    return _with_note(chunk, texts.more_chars.format(line=next_line, chars=chars))


def _with_note(chunk: str, note: str) -> str:
    return f"{chunk}\n{note}"

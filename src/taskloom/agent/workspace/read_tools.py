"""read_file and list_dir: with limits, and a note where something was left out."""

import io
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, TextIO

import anyio.to_thread
from msgspec import Meta

from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.context import WorkspaceContext, make_tool
from taskloom.agent.workspace.link_safe_files import open_resolved

LINES_MAX: Final = 2000
LINE_CHARS_MAX: Final = 2000
OUTPUT_CHARS_MAX: Final = 100_000
ENTRIES_MAX: Final = 1000
"""As much as a model can use; more would only push other things out of its context."""


def read_tool(context: WorkspaceContext) -> Tool:
    """Return `read_file(path, offset, limit)`."""
    texts = context.texts

    async def read_file(
        path: str,
        offset: Annotated[int, Meta(ge=1)] = 1,
        limit: Annotated[int, Meta(ge=1, le=LINES_MAX)] = LINES_MAX,
    ) -> str:
        file = await context.readable(path)
        if context.files is None or file.is_dir():
            return await anyio.to_thread.run_sync(_read, context, file, path, offset, limit)
        text = io.StringIO(await context.files.read(file), newline=None)
        return _numbered(context, text, offset, limit)

    return make_tool(
        read_file,
        texts.read_file,
        idempotent=True,
        path=texts.path,
        offset=texts.offset,
        limit=texts.limit,
    )


def _read(context: WorkspaceContext, file: Path, path: str, offset: int, limit: int) -> str:
    if file.is_dir():
        raise IsADirectoryError(context.texts.is_directory.format(path=path))
    if not file.is_file():
        raise FileNotFoundError(context.texts.no_file.format(path=path))
    with os.fdopen(open_resolved(file), "rb") as probe:
        if b"\0" in probe.read(8192):
            raise ValueError(context.texts.binary.format(path=path))
        probe.seek(0)
        with io.TextIOWrapper(probe, encoding="utf-8", errors="replace") as text:
            return _numbered(context, text, offset, limit)


def _numbered(context: WorkspaceContext, text: TextIO, offset: int, limit: int) -> str:
    lines: list[str] = []
    size = 0
    for number, line in enumerate(islice(_lines(text), offset - 1, None), offset):
        if len(lines) == limit or size > OUTPUT_CHARS_MAX:
            lines.append(context.texts.more_lines.format(number=number))
            break
        lines.append(f"{number}\t{line}")
        size += len(line)
    return "\n".join(lines) or context.texts.empty


def _lines(text: TextIO) -> Iterator[str]:
    """Yield the beginning of each line, and never load a very long line as a whole."""
    while chunk := text.readline(LINE_CHARS_MAX):
        yield chunk.rstrip("\n")
        while chunk and not chunk.endswith("\n"):
            chunk = text.readline(LINE_CHARS_MAX)


def list_tool(context: WorkspaceContext) -> Tool:
    """Return `list_dir(path)`."""

    async def list_dir(path: str = ".") -> str:
        folder = await context.readable(path)
        return await anyio.to_thread.run_sync(_list, context, folder, path)

    return make_tool(list_dir, context.texts.list_dir, idempotent=True, path=context.texts.folder)


def _list(context: WorkspaceContext, folder: Path, path: str) -> str:
    if not folder.is_dir():
        raise NotADirectoryError(context.texts.no_folder.format(path=path))
    found = [entry for entry in folder.iterdir() if not context.is_hidden(entry.resolve())]
    entries = sorted(found, key=lambda entry: (not entry.is_dir(), entry.name))
    lines = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries[:ENTRIES_MAX]]
    if len(entries) > ENTRIES_MAX:
        lines.append(context.texts.more_entries.format(number=len(entries) - ENTRIES_MAX))
    return "\n".join(lines) or context.texts.empty

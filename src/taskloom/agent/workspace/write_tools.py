"""write_file and edit_file: in one step, and only with permission.

The permission request has the new text, so that a person sees the change. An edit is applied to
the text that the file has after the answer, which may take a while.
"""

from pathlib import Path
from typing import Final

from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.backends import DiskFiles, TextFiles
from taskloom.agent.workspace.context import WorkspaceContext, make_tool

SHOWN_BYTES_MAX: Final = 1_000_000
"""Longer texts are not shown to the person who is asked."""


def write_tool(context: WorkspaceContext) -> Tool:
    """Return `write_file(path, content)`."""
    files = context.files or DiskFiles()

    async def write_file(path: str, content: str) -> str:
        file = context.resolve(path)
        if file.is_dir():
            raise IsADirectoryError(context.texts.is_directory.format(path=path))
        before = await _text_to_show(files, file)
        short = len(content) <= SHOWN_BYTES_MAX and not _is_long(file)
        await context.ask_to_write(file, before, content if short else None)
        context.check_unchanged(path, file)
        await files.write(file, content)
        return context.texts.written.format(path=context.shown(file), chars=len(content))

    texts = context.texts
    return make_tool(
        write_file, texts.write_file, idempotent=True, path=texts.path, content=texts.content
    )


def edit_tool(context: WorkspaceContext) -> Tool:
    """Return `edit_file(path, old, new, all)`."""
    files = context.files or DiskFiles()

    async def edit_file(path: str, old: str, new: str, replace_all: bool = False) -> str:
        file = context.resolve(path)
        if file.is_dir() or (context.files is None and not file.is_file()):
            raise FileNotFoundError(context.texts.no_file.format(path=path))
        if context.is_secret(file):
            # Ask before reading: whether `old` is found already tells what the file holds.
            await context.ask_to_write(file, None, None)
        else:
            before = await files.read(file)
            after, _ = _edited(context, before, path, old=old, new=new, every=replace_all)
            short = max(len(before), len(after)) <= SHOWN_BYTES_MAX
            await context.ask_to_write(file, before if short else None, after if short else None)
        context.check_unchanged(path, file)
        now = await files.read(file)
        after, count = _edited(context, now, path, old=old, new=new, every=replace_all)
        await files.write(file, after)
        return context.texts.edited.format(path=context.shown(file), count=count)

    texts = context.texts
    return make_tool(
        edit_file,
        texts.edit_file,
        idempotent=False,
        path=texts.path,
        old=texts.old,
        new=texts.new,
        replace_all=texts.replace_all,
    )


def _edited(
    context: WorkspaceContext, text: str, path: str, *, old: str, new: str, every: bool
) -> tuple[str, int]:
    count = text.count(old) if old else 0
    if count == 0:
        raise ValueError(context.texts.old_missing.format(path=path))
    if count > 1 and not every:
        raise ValueError(context.texts.old_ambiguous.format(path=path, count=count))
    return text.replace(old, new), count


async def _text_to_show(files: TextFiles, file: Path) -> str | None:
    """Return the text of a file; None if it is missing, too long or binary."""
    if not 0 <= _size(file) <= SHOWN_BYTES_MAX:
        return None
    try:
        return await files.read(file)
    except (OSError, ValueError):
        return None


def _is_long(file: Path) -> bool:
    return _size(file) > SHOWN_BYTES_MAX


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else -1

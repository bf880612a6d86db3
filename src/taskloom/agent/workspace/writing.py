"""write_file and edit_file: whole or not at all, and only with permission."""

import os
from pathlib import Path

import anyio.to_thread

from taskloom.agent.messages import new_id
from taskloom.agent.tool import Tool
from taskloom.agent.workspace.ground import Ground, make_tool
from taskloom.agent.workspace.paths import shown


def write_tool(ground: Ground) -> Tool:
    """Return `write_file(path, content)`."""

    async def write_file(path: str, content: str) -> str:
        file = await ground.writable(path)
        if file.is_dir():
            raise IsADirectoryError(ground.texts.is_directory.format(path=path))
        await anyio.to_thread.run_sync(_replace, file, content)
        return ground.texts.written.format(path=shown(ground.root, file), chars=len(content))

    texts = ground.texts
    return make_tool(
        write_file, texts.write_file, idempotent=True, path=texts.path, content=texts.content
    )


def edit_tool(ground: Ground) -> Tool:
    """Return `edit_file(path, old, new, all)`."""

    async def edit_file(path: str, old: str, new: str, replace_all: bool = False) -> str:
        file = await ground.writable(path)
        count = await anyio.to_thread.run_sync(
            lambda: _edit(ground, file, path, old=old, new=new, every=replace_all)
        )
        return ground.texts.edited.format(path=shown(ground.root, file), count=count)

    texts = ground.texts
    return make_tool(
        edit_file,
        texts.edit_file,
        idempotent=False,
        path=texts.path,
        old=texts.old,
        new=texts.new,
        replace_all=texts.replace_all,
    )


def _edit(ground: Ground, file: Path, path: str, *, old: str, new: str, every: bool) -> int:
    if not file.is_file():
        raise FileNotFoundError(ground.texts.no_file.format(path=path))
    # Bytes and not text: line ends stay what they are.
    text = file.read_bytes().decode("utf-8")
    count = text.count(old) if old else 0
    if count == 0:
        raise ValueError(ground.texts.old_missing.format(path=path))
    if count > 1 and not every:
        raise ValueError(ground.texts.old_ambiguous.format(path=path, count=count))
    _replace(file, text.replace(old, new))
    return count


def _replace(file: Path, content: str) -> None:
    """Put new content in place of a file in one step, with the old file's rights."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(new_id(".new-"))  # Short: the file's own name may be as long as can be.
    try:
        fresh.write_bytes(content.encode("utf-8"))
        if file.exists():
            os.chmod(fresh, file.stat().st_mode)
        fresh.replace(file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise

"""search: a regular expression over the files of the workspace, by ripgrep where it is there."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio.to_thread

from taskloom.agent.tool import Tool
from taskloom.agent.workspace.ground import Ground, make_tool
from taskloom.agent.workspace.paths import is_secret, shown
from taskloom.agent.workspace.process import run_bounded

MATCHES_MAX: Final = 200
LINE_CHARS_MAX: Final = 300
FILE_BYTES_MAX: Final = 2_000_000
TIMEOUT_S: Final = 30.0
SKIPPED: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".mypy_cache"})


def search_tool(ground: Ground) -> Tool:
    """Return `search(pattern, path, glob)`."""

    async def search(pattern: str, path: str = ".", glob: str = "") -> str:
        start = await ground.readable(path)
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(ground.texts.bad_pattern.format(reason=error)) from error
        ripgrep = shutil.which("rg")
        if ripgrep:
            lines = await _by_ripgrep(ripgrep, ground, start, pattern, glob)
        else:
            lines = await anyio.to_thread.run_sync(_by_hand, ground, start, pattern, glob)
        if len(lines) > MATCHES_MAX:
            lines[MATCHES_MAX:] = [ground.texts.more_matches.format(number=MATCHES_MAX)]
        return "\n".join(lines) or ground.texts.no_match

    texts = ground.texts
    return make_tool(
        search,
        texts.search,
        idempotent=True,
        pattern=texts.pattern,
        path=texts.folder,
        glob=texts.glob,
    )


async def _by_ripgrep(
    ripgrep: str, ground: Ground, start: Path, pattern: str, glob: str
) -> list[str]:
    root = ground.root.resolve()
    # A zero byte ends each path: it is told from the text for certain, and a line that was cut in
    # the middle is told from a whole one. Nobody's own settings, which may follow links.
    options = ["--no-config", "--null"]
    options += ["--line-number", "--no-heading", "--color=never", "--hidden", "--sort=path"]
    options += [f"--glob=!{name}" for name in sorted(SKIPPED)]
    options += [f"--max-columns={LINE_CHARS_MAX}", *([f"--glob={glob}"] if glob else [])]
    target = str(start.relative_to(root))
    command = [ripgrep, *options, "--regexp", pattern, "--", target]
    done = await run_bounded(command, root, ground.environment, timeout_s=TIMEOUT_S)
    lines: list[str] = []
    for line in done.output.split("\n"):
        path, whole, rest = line.removeprefix("./").partition("\0")
        if whole and not is_secret(root, root / path):
            lines.append(f"{path}:{rest}")
    return lines


def _by_hand(ground: Ground, start: Path, pattern: str, glob: str) -> list[str]:
    wanted = re.compile(pattern)
    lines: list[str] = []
    for file in _files(ground.root.resolve(), start):
        if glob and not file.match(glob):
            continue
        name = shown(ground.root, file)
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # Gone since, or not ours to read.
        for number, line in enumerate(text.splitlines(), 1):
            if wanted.search(line):
                lines.append(f"{name}:{number}:{line[:LINE_CHARS_MAX]}")
                if len(lines) > MATCHES_MAX:
                    return lines
    return lines


def _files(root: Path, start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
        return
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_symlink() or not file.is_file() or is_secret(root, file):
                continue
            if file.stat().st_size <= FILE_BYTES_MAX and not _is_binary(file):
                yield file


def _is_binary(file: Path) -> bool:
    try:
        with file.open("rb") as probe:
            return b"\0" in probe.read(1024)
    except OSError:
        return True  # Not ours to read; there is no text to search.

"""search: a regular expression over the files of the workspace, with ripgrep if installed."""

import re
import shutil
import sys
from pathlib import Path
from typing import Final

from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace import grep_fallback
from taskloom.agent.workspace.context import WorkspaceContext, make_tool
from taskloom.agent.workspace.process import run_bounded
from taskloom.agent.workspace.secrets import is_secret

MATCHES_MAX: Final = 200
LINE_CHARS_MAX: Final = 300
TIMEOUT_S: Final = 30.0
SKIPPED: Final = frozenset(
    {".git", ".hg", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".taskloom"}
)


def search_tool(context: WorkspaceContext) -> Tool:
    """Return `search(pattern, path, glob)`."""

    async def search(pattern: str, path: str = ".", glob: str = "") -> str:
        start = await context.readable(path)
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(context.texts.bad_pattern.format(reason=error)) from error
        lines = await _lines(context, start, pattern, glob)
        if len(lines) > MATCHES_MAX:
            lines[MATCHES_MAX:] = [context.texts.more_matches.format(number=MATCHES_MAX)]
        return "\n".join(lines) or context.texts.no_match

    texts = context.texts
    return make_tool(
        search,
        texts.search,
        idempotent=True,
        pattern=texts.pattern,
        path=texts.folder,
        glob=texts.glob,
    )


def _command(start: Path, pattern: str, glob: str) -> list[str]:
    target = str(start)
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        bounds = [str(MATCHES_MAX + 1), str(LINE_CHARS_MAX)]
        python = [sys.executable, "-I", "-S", grep_fallback.__file__]
        return [*python, pattern, glob, target, *bounds, *sorted(SKIPPED)]
    # --null ends each path with a zero byte: that separates it from the text, and a line that was
    # cut has none. --no-config ignores the user's settings, which may follow links.
    options = ["--no-config", "--null"]
    options += ["--line-number", "--no-heading", "--color=never", "--hidden", "--sort=path"]
    options += ["--with-filename", *(f"--glob=!{name}" for name in sorted(SKIPPED))]
    options += [f"--max-columns={LINE_CHARS_MAX}", *([f"--glob={glob}"] if glob else [])]
    return [ripgrep, *options, "--regexp", pattern, "--", target]


async def _lines(context: WorkspaceContext, start: Path, pattern: str, glob: str) -> list[str]:
    """Return `path:number:text` for each match; of secrets only the file named by `path`."""
    root = context.root_of(start)
    command = _command(start.relative_to(root), pattern, glob)
    done = await run_bounded(command, root, context.environment, timeout_s=TIMEOUT_S)
    if done.timed_out:
        raise TimeoutError(context.texts.timed_out.format(seconds=TIMEOUT_S))
    lines: list[str] = []
    for line in done.output.split("\n"):
        path, separator, rest = line.removeprefix("./").partition("\0")
        if not separator or context.is_hidden(root / path):
            continue
        if root / path == start or not is_secret(root, root / path):
            lines.append(f"{path if root == context.root.resolve() else root / path}:{rest}")
    return lines

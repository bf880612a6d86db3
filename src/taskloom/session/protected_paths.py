"""Files that decide what runs: asked about every time, whatever was granted or configured.

A model that may write them needs no other permission: the configuration, the definitions of
agents, git's directory with its hooks, what an editor or a shell runs by itself. They are found
under any name: through links and hard links, in other cases and Unicode forms.
"""

import contextlib
import os
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

NAMES: Final = frozenset(
    {
        # Taskloom's own, and what it is told to run.
        *("taskloom.toml", ".taskloom", ".mcp.json", "agents.md", "claude.md"),
        # Agents, skills and settings of other tools.
        *(".claude", ".codex", ".cursor", ".gemini", ".agents", ".aider.conf.yml"),
        # git and the hooks that run with it.
        *(".git", ".gitmodules", ".husky", ".pre-commit-config.yaml", "lefthook.yml"),
        # What editors run when they open a project.
        *(".vscode", ".idea", ".zed", ".devcontainer", ".fleet", ".exrc", ".nvimrc", ".nvim.lua"),
        *(".vimrc", ".dir-locals.el", ".sublime-project"),
        # What a shell runs when it enters a directory or starts.
        *(".envrc", ".direnv", ".mise.toml", "mise.toml", ".tool-versions", ".autoenv"),
        *(".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile"),
        *(".inputrc", ".login", ".cshrc"),
    }
)
"""Names of protected files and directories, wherever in a project they are."""

_GIT_FILE_BYTES_MAX: Final = 4096


class ProtectedPaths:
    """The protected files and directories of one project."""

    def __init__(self, project: Path, *, state_dir: str, also: Iterable[Path] = ()) -> None:
        """Name the project; `also` are the files and directories that its configuration names."""
        self._project = project.resolve()
        self._named = frozenset({self._project / state_dir, *(_absolute(self._project, also))})
        self._folded = NAMES | {fold(state_dir)}

    @property
    def project(self) -> Path:
        """The project's directory, resolved."""
        return self._project

    def paths(self) -> tuple[Path, ...]:
        """Return the protected paths at the top of the project and those it names elsewhere.

        Missing ones are among them: a sandbox keeps them from being made.
        """
        top = {self._project / name for name in NAMES}
        with contextlib.suppress(OSError):
            top |= {
                Path(entry.path)
                for entry in os.scandir(self._project)
                if fold(entry.name) in self._folded
            }
        return tuple(sorted({*top, *self._named, *git_directories(self._project)}))

    def covers(self, path: Path) -> bool:
        """Return whether a path, by whatever name, is protected or below what is."""
        real = path.resolve()
        return any(self._is_protected(place) for place in (path, real)) or _has_other_names(real)

    def _is_protected(self, path: Path) -> bool:
        places = [path, *path.parents]
        inside = [place for place in places if place.is_relative_to(self._project)]
        if any(fold(place.name) in self._folded for place in inside if place != self._project):
            return True
        roots = [*self._named, *git_directories(self._project)]
        return any(_is_same(place, root) for place in places for root in roots)


def fold(name: str) -> str:
    """Return a name as a file system that ignores case and Unicode forms compares it."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Some file systems ignore these: `.g\u200cit` is `.git` there; others drop a final dot.
    kept = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", kept).rstrip(" .") or kept


def git_directories(project: Path) -> Iterator[Path]:
    """Yield git's directories of a project: its own, and where a worktree's `.git` file leads."""
    dot_git = project / ".git"
    yield dot_git
    linked = _first_line(dot_git).removeprefix("gitdir:").strip() if dot_git.is_file() else ""
    if linked:
        own = (project / linked).resolve()
        yield own
        shared = _first_line(own / "commondir").strip()
        if shared:
            yield (own / shared).resolve()


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_GIT_FILE_BYTES_MAX).split(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return ""


def _absolute(project: Path, paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield project / path
        yield (project / path).resolve()


def _has_other_names(path: Path) -> bool:
    """Return whether a file has hard links: writing it writes what may be protected elsewhere."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_nlink > 1 and not path.is_dir()


def _is_same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return one.samefile(other)
    except OSError:  # One of them does not exist; then names alone tell.
        return False

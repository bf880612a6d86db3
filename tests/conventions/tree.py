"""The tree as the house rules see it: which files there are, and Python files parsed.

A rule is a function from files to complaints, one sentence each with the place in front, so that
its own test can hand it a bad sample and see the complaint.
"""

import ast
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
MADE_HERE = {"build", "dist", "htmlcov", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Source:
    """A Python file: its path from the root of the repository, and its text."""

    path: PurePosixPath
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @property
    def module(self) -> str:
        """The dotted name it is imported by, for a file under src."""
        parts = self.path.with_suffix("").parts[1:]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        """The part of taskloom it belongs to; empty for taskloom itself and outside src."""
        names = self.module.split(".")
        return names[1] if self.path.parts[0] == "src" and len(names) > 1 else ""

    def at(self, node: ast.stmt | ast.expr) -> str:
        return f"{self.path}:{node.lineno}"


def sample(text: str, path: str = "src/taskloom/board/sample.py") -> Source:
    """A made-up file, for the test of a rule."""
    return Source(PurePosixPath(path), text)


@cache
def files() -> list[PurePosixPath]:
    """Every file that is tracked or about to be, from the root of the repository."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive, or no git
        listed = list(walk(ROOT))
    # A file removed but still in the index is listed too, so each is looked at.
    return [PurePosixPath(name) for name in sorted(set(listed)) if name and (ROOT / name).is_file()]


def walk(top: Path) -> Iterator[str]:
    """What git would list, by rule of thumb: caches hide behind a dot or have a known name."""
    for folder, below, names in os.walk(top):
        below[:] = [
            name for name in below if name == ".ci" or (name not in MADE_HERE and name[0] != ".")
        ]
        yield from (str((Path(folder) / name).relative_to(top)) for name in names)


def texts() -> Iterator[tuple[PurePosixPath, str]]:
    """Every file of text with its content; pictures and the like are left out."""
    for path in files():
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@cache
def python(*folders: str) -> list[Source]:
    """The Python files under these folders of the repository."""
    return [
        Source(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in files()
        if path.suffix == ".py" and path.parts[0] in folders
    ]

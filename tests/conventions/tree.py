"""The files of the repository, for the convention tests.

A rule is a function from files to violations, one sentence each with its location, so that the
rule's own test can pass a bad sample and see the violation.
"""

import ast
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"build", "dist", "htmlcov", "node_modules", "__pycache__"}


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
        """The dotted module name of a file under src."""
        parts = self.path.with_suffix("").parts[1:]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        """The package of taskloom it belongs to; empty for taskloom itself and outside src."""
        names = self.module.split(".")
        return names[1] if self.path.parts[0] == "src" and len(names) > 1 else ""

    def at(self, node: ast.stmt | ast.expr) -> str:
        return f"{self.path}:{node.lineno}"


def sample(text: str, path: str = "src/taskloom/board/sample.py") -> Source:
    """Return an invented file, for the test of a rule."""
    return Source(PurePosixPath(path), text)


@cache
def files() -> list[PurePosixPath]:
    """Return every file that is tracked or not ignored, relative to the root."""
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
    # A file that was removed but is still in the index is listed too.
    return [PurePosixPath(name) for name in sorted(set(listed)) if name and (ROOT / name).is_file()]


def walk(top: Path) -> Iterator[str]:
    """Yield about what git would list: no hidden and no generated directories."""
    for folder, below, names in os.walk(top):
        below[:] = [
            name for name in below if name == ".ci" or (name not in GENERATED and name[0] != ".")
        ]
        yield from (str((Path(folder) / name).relative_to(top)) for name in names)


def texts() -> Iterator[tuple[PurePosixPath, str]]:
    """Yield every text file with its content."""
    for path in files():
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@cache
def python(*folders: str) -> list[Source]:
    """Return the Python files under these directories of the repository."""
    return [
        Source(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in files()
        if path.suffix == ".py" and path.parts[0] in folders
    ]

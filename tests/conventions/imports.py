"""What a Python file imports, read from its text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.conventions.tree import Source

SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Import:
    """One imported name: `from a.b import c` is module `a.b`, name `c`."""

    node: ast.Import | ast.ImportFrom
    module: str
    name: str | None
    inside: bool
    """Whether it stands in a function or a class."""


def imports(source: Source) -> Iterator[Import]:
    """Every import of a file, those under `if TYPE_CHECKING` and in functions too."""
    yield from _below(source.tree, inside=False)


def _below(node: ast.AST, *, inside: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(child, alias.name, None, inside)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                yield Import(child, child.module or "", alias.name, inside)
        else:
            yield from _below(child, inside=inside or isinstance(child, SCOPES))

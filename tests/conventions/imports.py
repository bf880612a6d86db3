"""The imports of a Python file, read from its syntax tree."""

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
    """Whether it is in a function or a class."""


def imports(source: Source) -> Iterator[Import]:
    """Yield every import statement, also under `if TYPE_CHECKING` and in functions."""
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


def dynamic_imports(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call of `import_module` with the module it names.

    The argument is a string, or a constant of the file; for any other the module is empty.
    """
    constants: dict[str, str] = {}
    for node in source.tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text)))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text)))
            ):
                constants[name] = text
            case _:
                continue
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[argument, *_],
            ):
                yield node, _text(argument, constants)
            case _:
                continue


def _text(argument: ast.expr, constants: dict[str, str]) -> str:
    match argument:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return constants.get(name, "")
        case _:
            return ""

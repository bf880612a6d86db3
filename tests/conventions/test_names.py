"""Names of files, contents of `__init__.py`, public names, exceptions."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import PurePosixPath

import pytest

import taskloom
from scripts.reference import PINNED, find, packages, pinned
from tests.conventions.tree import Source, files, python, sample

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "core"}
"""Files of these names collect unrelated things, and grow."""


def empty_names(paths: Iterable[PurePosixPath]) -> Iterator[str]:
    for path in paths:
        if path.suffix == ".py":
            for part in path.with_suffix("").parts:
                if part.strip("_").removeprefix("test_") in EMPTY_NAMES:
                    yield f"{path}: `{part}` says nothing; name it after its content"


def code_in_init(source: Source) -> Iterator[str]:
    """Yield statements of an `__init__.py` other than docstring, imports and `__all__`."""
    if source.path.name != "__init__.py":
        return
    top = source.module == "taskloom"
    allowed = {"__all__", "__version__"} if top else {"__all__"}
    for node in source.tree.body:
        if top and _loads_late(node):
            continue
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                continue
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name))
            ) if name in allowed:
                continue
            case _:
                yield f"{source.at(node)}: only a docstring, imports and __all__ belong here"


def _loads_late(node: ast.stmt) -> bool:
    """Return whether a statement belongs to the lazy imports of taskloom; see its docstring."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a module, also those under `if TYPE_CHECKING`."""
    seen: list[ast.stmt] = []
    for node in body:
        seen.extend(node.body if isinstance(node, ast.If) and _loads_late(node) else [node])
    return seen


def no_docstring(source: Source) -> Iterator[str]:
    if source.tree.body and not ast.get_docstring(source.tree):
        yield f"{source.path}: has no module docstring"


def undocumented(package: str, names: Iterable[str]) -> list[str]:
    """The names without a docstring where they are defined."""
    found = {name: find(package, name) for name in names if name != "__version__"}
    return [name for name, one in found.items() if one is None or not one.doc]


OUTSIDE_THE_TREE = {
    "Crashed": "simulates the end of a process, so no code under test may catch it",
    "RunInterrupt": "pauses a run, so that no tool's `except Exception` catches it",
    "WouldBlockError": "never leaves the runtime: a try without waiting found a lock taken",
}
"""Exceptions that are not below `TaskloomError`, and why."""


def stray_exceptions(sources: Iterable[Source]) -> Iterator[str]:
    """Yield exceptions that are not below `TaskloomError`, or whose name does not end in Error."""
    bases: dict[str, list[str]] = {}
    at: dict[str, str] = {}
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                at[node.name] = source.at(node)

    def ancestors(name: str) -> set[str]:
        return {name}.union(*(ancestors(base) for base in bases.get(name, ())))

    for name in bases:
        above = ancestors(name)
        if not any(_is_exception(one) for one in above) or name in OUTSIDE_THE_TREE:
            continue
        if "TaskloomError" not in above:
            yield f"{at[name]}: {name} is not below TaskloomError"
        if not name.endswith("Error"):
            yield f"{at[name]}: the name {name} does not end in Error"


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def test_every_exception_outside_the_tree_exists() -> None:
    classes = {
        node.name
        for source in python("src")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    assert set(OUTSIDE_THE_TREE) <= classes


@pytest.mark.spec("LB-405")
def test_every_exception_is_in_the_tree_and_named_error() -> None:
    assert list(stray_exceptions(python("src"))) == []


def test_an_exception_outside_the_tree_or_without_the_suffix_is_reported() -> None:
    tree = sample("class TaskloomError(Exception): ...\nclass GoodError(TaskloomError): ...")
    assert list(stray_exceptions([tree])) == []
    for bad in (
        "class BadError(ValueError): ...",
        "class Bad(TaskloomError): ...",
        "import errors\nclass Worse(errors.GoodError): ...",
        "class Stop(BaseException): ...\nclass Crashed(BaseException): ...",
    ):
        found = {line.partition(": ")[2] for line in stray_exceptions([tree, sample(bad)])}
        assert found, bad
    assert list(stray_exceptions([tree, sample("class Plain: ...\nclass More(Plain): ...")])) == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert list(empty_names(files())) == []


def test_init_files_have_no_code() -> None:
    assert [c for source in python("src") for c in code_in_init(source)] == []


def test_every_module_has_a_docstring() -> None:
    everywhere = python("src", "tests", "scripts", "bench")
    assert [c for source in everywhere for c in no_docstring(source)] == []


@pytest.mark.spec("LB-403")
def test_the_public_names_of_every_package_are_the_pinned_ones() -> None:
    assert PINNED.read_text(encoding="utf-8") == pinned(), (
        "the public names changed: if that is intended, run `make reference`"
    )


@pytest.mark.spec("LB-403")
@pytest.mark.parametrize("package", packages())
def test_each_public_name_exists_and_is_documented(package: str) -> None:
    module = import_module(package)
    assert sorted(module.__all__) == sorted(packages()[package])
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert undocumented(package, module.__all__) == []


def test_a_name_that_was_added_or_removed_is_noticed() -> None:
    assert "[taskloom.agent]\n" in pinned()
    assert pinned().replace("\nAgent\n", "\n", 1) != PINNED.read_text(encoding="utf-8")


def test_the_first_level_is_listed_once_and_type_checkers_see_it() -> None:
    sources = {source.module: source for source in python("src")}
    imports = [
        node for node in sources["taskloom.api"].tree.body if isinstance(node, ast.ImportFrom)
    ]
    aliases = [alias for node in imports for alias in node.names]
    assert [alias.name for alias in aliases if alias.asname != alias.name] == []
    assert sorted(alias.name for alias in aliases) == dir(taskloom)
    assert "from taskloom.api import *" in sources["taskloom"].text


def test_a_name_that_says_nothing_is_reported() -> None:
    bad = ["src/taskloom/utils.py", "src/taskloom/core/x.py", "tests/test_helpers.py", "a/_base.py"]
    assert len(list(empty_names(map(PurePosixPath, bad)))) == len(bad)
    assert list(empty_names([PurePosixPath("src/taskloom/board/decide/command.py")])) == []


def test_code_in_an_init_file_is_reported() -> None:
    path = "src/taskloom/log/__init__.py"
    good = '"""The log."""\n\nfrom taskloom.log.jsonl import JsonlLog\n\n__all__ = ["JsonlLog"]\n'
    assert list(code_in_init(sample(good, path))) == []
    for bad in ("def f(): ...", "x = 1", "if x:\n    import y", "__version__ = '1'"):
        assert len(list(code_in_init(sample(bad, path)))) == 1
    assert list(code_in_init(sample("__version__ = '1'", "src/taskloom/__init__.py"))) == []


def test_a_module_without_a_docstring_is_reported() -> None:
    assert len(list(no_docstring(sample("x = 1")))) == 1
    assert list(no_docstring(sample('"""What it is for."""\nx = 1'))) == []


def test_an_undocumented_name_is_reported_through_imports() -> None:
    assert undocumented("taskloom.agent", ["Agent", "Language", "tool"]) == []
    names = ["_messages", "Result", "gone"]
    assert undocumented("taskloom.agent.agent", names) == ["_messages", "gone"]

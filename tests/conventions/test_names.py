"""Names: files are a noun or a verb, door signs hold no code, public names are pinned and told."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import taskloom
from tests.conventions.tree import ROOT, Source, files, python, sample

SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "core"}
"""Files of these names take in whatever comes, and grow."""

PINNED = ROOT / "tests" / "conventions" / "public_names.txt"


def empty_names(paths: Iterable[PurePosixPath]) -> Iterator[str]:
    for path in paths:
        if path.suffix == ".py":
            for part in path.with_suffix("").parts:
                if part.strip("_").removeprefix("test_") in SAYS_NOTHING:
                    yield f"{path}: `{part}` says nothing; name it by the noun or verb it holds"


def code_on_sign(source: Source) -> Iterator[str]:
    """A room's `__init__.py` is its door sign: docstring, imports, `__all__`, and no code."""
    if source.path.name != "__init__.py":
        return
    top = source.module == "taskloom"
    allowed = {"__all__", "__version__", "_ROOMS"} if top else {"__all__"}
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
                yield f"{source.at(node)}: only a docstring, imports and __all__ stand here"


def _loads_late(node: ast.stmt) -> bool:
    """The package itself loads its names when they are first used; see its docstring."""
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__getattr__", "__dir__")
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def signs(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module, those only type checkers see among them."""
    seen: list[ast.stmt] = []
    for node in body:
        seen.extend(node.body if isinstance(node, ast.If) and _loads_late(node) else [node])
    return seen


def no_opening(source: Source) -> Iterator[str]:
    if source.tree.body and not ast.get_docstring(source.tree):
        yield f"{source.path}: opens without a docstring that says what it is for"


def binds(node: ast.stmt, name: str) -> bool:
    """Whether a statement gives `name` its value."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name == name
        case ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)):
            return found == name
        case _:
            return False


def is_told(name: str, module: str, sources: Mapping[str, Source]) -> bool:
    """Whether the name has a docstring where it is defined, followed through door signs."""
    body = signs(sources[module].tree.body) if module in sources else []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return is_told(alias.name, node.module or "", sources)
        elif binds(node, name):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                return bool(ast.get_docstring(node))
            # A constant or an alias is told by the string beneath it.
            return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return name == "__version__"


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert list(empty_names(files())) == []


def test_door_signs_hold_no_code() -> None:
    assert [c for source in python("src") for c in code_on_sign(source)] == []


def test_every_module_opens_with_what_it_is_for() -> None:
    everywhere = python("src", "tests", "scripts", "bench")
    assert [c for source in everywhere for c in no_opening(source)] == []


def test_the_public_names_are_the_pinned_ones() -> None:
    pinned = PINNED.read_text(encoding="utf-8").split()
    assert pinned == sorted(pinned)
    assert sorted(taskloom.__all__) == pinned, (
        "the public surface changed: if it was meant, change tests/conventions/public_names.txt"
    )


def test_each_public_name_is_there_and_told() -> None:
    sources = {source.module: source for source in python("src")}
    assert [name for name in taskloom.__all__ if not hasattr(taskloom, name)] == []
    assert [name for name in taskloom.__all__ if not is_told(name, "taskloom", sources)] == []


def test_the_names_that_load_late_are_the_ones_type_checkers_see() -> None:
    tree = next(source.tree for source in python("src") if source.module == "taskloom")
    seen = {
        alias.name: node.module
        for node in signs(tree.body)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taskloom")
        for alias in node.names
    }
    late = {name: room for room, names in taskloom._ROOMS.items() for name in names}  # pyright: ignore[reportPrivateUsage] # the table itself is what is tested
    assert late == seen
    assert sorted(late) == sorted(taskloom.__all__)


def test_a_name_that_says_nothing_is_reported() -> None:
    bad = ["src/taskloom/utils.py", "src/taskloom/core/x.py", "tests/test_helpers.py", "a/_base.py"]
    assert len(list(empty_names(map(PurePosixPath, bad)))) == len(bad)
    assert list(empty_names([PurePosixPath("src/taskloom/board/decide/command.py")])) == []


def test_code_on_a_door_sign_is_reported() -> None:
    path = "src/taskloom/log/__init__.py"
    good = '"""The log."""\n\nfrom taskloom.log.jsonl import JsonlLog\n\n__all__ = ["JsonlLog"]\n'
    assert list(code_on_sign(sample(good, path))) == []
    for bad in ("def f(): ...", "x = 1", "if x:\n    import y", "__version__ = '1'"):
        assert len(list(code_on_sign(sample(bad, path)))) == 1
    assert list(code_on_sign(sample("__version__ = '1'", "src/taskloom/__init__.py"))) == []


def test_a_module_without_an_opening_is_reported() -> None:
    assert len(list(no_opening(sample("x = 1")))) == 1
    assert list(no_opening(sample('"""What it is for."""\nx = 1'))) == []


def test_an_untold_public_name_is_reported_through_the_door_sign() -> None:
    defined = (
        '"""Room."""\nclass Told:\n    """Yes."""\nclass Bare: ...\n'
        'LIMIT = 1\n"""Why one."""\nOTHER = 2\n'
    )
    names = ("Told", "Bare", "LIMIT", "OTHER", "Gone")
    sign = "\n".join(f"from taskloom.log.room import {name}" for name in names)
    sources = {
        "taskloom": sample("from taskloom.log import " + ", ".join(names)),
        "taskloom.log": sample(sign),
        "taskloom.log.room": sample(defined),
    }
    told = [name for name in names if is_told(name, "taskloom", sources)]
    assert told == ["Told", "LIMIT"]

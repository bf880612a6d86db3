"""Limits of files, functions, parameter lists and nesting."""

import ast
from collections.abc import Iterator

from tests.conventions.tree import Source, python, sample

FILE_LINES = 400
TEST_FILE_LINES = 600
FUNCTION_LINES = 70
PARAMETERS = 7
NESTING = 4

Function = ast.FunctionDef | ast.AsyncFunctionDef
NESTS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match,
)  # fmt: skip  # short in one block


def long_file(source: Source, limit: int) -> Iterator[str]:
    lines = len(source.text.splitlines())
    if lines > limit:
        yield f"{source.path}: {lines} lines, at most {limit}: split it"


def functions(source: Source) -> Iterator[Function]:
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            yield node


def long_function(source: Source) -> Iterator[str]:
    for function in functions(source):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{source.at(function)}: {function.name} has {lines} lines"


def many_parameters(source: Source) -> Iterator[str]:
    """Count positional parameters; keyword-only ones are named at each call."""
    for function in functions(source):
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > PARAMETERS:
            yield f"{source.at(function)}: {function.name} takes {count} parameters"


def depth(node: ast.AST) -> int:
    """Return how deep statements nest below a node; inner functions are not counted."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.Lambda | ast.ClassDef):
            continue
        # An `elif` is an If inside an If in the tree, but not in the text.
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        step = int(isinstance(child, NESTS) and not is_elif)
        deepest = max(deepest, step + depth(child))
    return deepest


def deep_nesting(source: Source) -> Iterator[str]:
    for function in functions(source):
        if depth(function) > NESTING:
            yield f"{source.at(function)}: {function.name} nests {depth(function)} deep"


def test_files_fit_their_limit() -> None:
    assert [c for s in python("src", "scripts", "bench") for c in long_file(s, FILE_LINES)] == []
    assert [c for s in python("tests") for c in long_file(s, TEST_FILE_LINES)] == []


def test_functions_fit_their_limits() -> None:
    rules = (long_function, many_parameters, deep_nesting)
    assert [c for s in python("src") for rule in rules for c in rule(s)] == []


def test_a_file_one_line_too_long_is_reported() -> None:
    assert list(long_file(sample("x = 1\n" * 400), FILE_LINES)) == []
    assert len(list(long_file(sample("x = 1\n" * 401), FILE_LINES))) == 1


def test_a_function_one_line_too_long_is_reported() -> None:
    assert list(long_function(sample("def f():\n" + "    x = 1\n" * 69))) == []
    assert list(long_function(sample("async def f():\n" + "    x = 1\n" * 70))) == [
        "src/taskloom/board/sample.py:1: f has 71 lines"
    ]


def test_an_eighth_parameter_is_reported_unless_it_is_self_or_keyword_only() -> None:
    assert list(many_parameters(sample("def f(self, a, b, c, d, e, f, g, *, h): ..."))) == []
    assert len(list(many_parameters(sample("def f(a, b, c, d, e, f, g, h): ...")))) == 1
    assert len(list(many_parameters(sample("def f(a, b, c, d, /, e, f, g, h): ...")))) == 1


def nested(levels: int, head: str = "if x:") -> str:
    lines = ["def f():", *("    " * (n + 1) + head for n in range(levels))]
    return "\n".join([*lines, "    " * (levels + 1) + "pass"])


def test_a_fifth_level_is_reported_and_an_elif_is_not_a_level() -> None:
    assert list(deep_nesting(sample(nested(4)))) == []
    assert len(list(deep_nesting(sample(nested(5))))) == 1
    assert len(list(deep_nesting(sample(nested(5, "with x:"))))) == 1
    chain = "def f():\n    if a: pass\n" + "    elif b: pass\n" * 9
    assert depth(sample(chain).tree.body[0]) == 1

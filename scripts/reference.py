"""Write docs/reference: one page for each package, from the names in its `__all__`.

`make reference` writes the pages and the pinned names; tests compare both with the source. The
pages are made from the syntax trees, not from imported modules: they are the same on every Python
version, and need no optional library.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src"
PAGES: Final = ROOT / "docs" / "reference"
PINNED: Final = ROOT / "tests" / "conventions" / "public_names.txt"
LINE_CHARS_MAX: Final = 96

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SECTION: Final = re.compile(r"(Args|Raises|Returns|Yields):")
_ITEM: Final = re.compile(r"    (\S[^:]*): (.*)")
_QUOTED: Final = re.compile(r"'([^'\"\\\\]*)'")
"""`ast.unparse` writes single quotes, the rest of the tree double ones."""

_SPECIAL: Final = {
    "__aenter__": "Use it with `async with`.",
    "__enter__": "Use it with `with`.",
    "__aiter__": "Use it with `async for`.",
    "__iter__": "It can be iterated.",
    "__await__": "It can be awaited.",
}


class Name(NamedTuple):
    """A public name: where it is defined, the statements that do it, and the text about it."""

    name: str
    module: str
    nodes: tuple[ast.stmt, ...]
    doc: str


@cache
def tree(module: str) -> ast.Module:
    """Return the syntax tree of a module or package."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def statements(module: str) -> list[ast.stmt]:
    """Return the statements of a module, with those under `if TYPE_CHECKING`."""
    found: list[ast.stmt] = []
    for node in tree(module).body:
        found.extend(node.body if isinstance(node, ast.If) else [node])
    return found


@cache
def packages() -> dict[str, tuple[str, ...]]:
    """Return the public names of each package; packages near the root come first."""
    files = (path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py"))
    names = sorted(
        (".".join(path.parts) for path in files), key=lambda name: (name.count("."), name)
    )
    exports = {name: _exports(name) for name in names}
    return {name: exported for name, exported in exports.items() if exported}


def _exports(module: str) -> tuple[str, ...]:
    for node in tree(module).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.List() as value)
            ):
                return tuple(sorted(ast.literal_eval(value), key=str.casefold))
            case _:
                continue
    return tuple(sorted(_star_exports(module), key=str.casefold))


def _star_exports(module: str) -> Iterator[str]:
    """Yield what `from other import *` gives: in `other`, each name is imported as itself."""
    for node in statements(module):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            imports = (
                one for one in statements(node.module or "") if isinstance(one, ast.ImportFrom)
            )
            yield from (alias.name for one in imports for alias in one.names if alias.asname)


def find(module: str, name: str) -> Name | None:
    """Return the definition of a name, followed through imports; None if it is not found."""
    body = statements(module)
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taskloom"):
            for alias in node.names:
                if (alias.asname or alias.name) in (name, "*"):
                    return find(node.module or "", name if alias.name == "*" else alias.name)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == name:
                every = [one for one in body if isinstance(one, type(node)) and one.name == name]
                return Name(name, module, tuple(every), ast.get_docstring(every[-1]) or "")
        elif name in _targets(node):
            return Name(name, module, (node,), _text_of(after))
    return None


def _targets(node: ast.stmt | None) -> list[str]:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case _:
            return []


def _text_of(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return cleandoc(text)
        case _:
            return ""


def page(package: str) -> str:
    """Return the reference page of a package."""
    found = [find(package, name) for name in packages()[package]]
    names = [one for one in found if one is not None]
    lines = [f"# {package}", *_prose(ast.get_docstring(tree(package)) or ""), ""]
    lines += ["| name | |", "| --- | --- |"]
    lines += [f"| `{one.name}` | {_summary(one.doc)} |" for one in names]
    for one in names:
        home = _home(one)
        lines += ["", f"## {one.name}", ""]
        if home == package:
            lines += _entry(one)
        else:
            lines.append(f"See [{home}]({file_name(home)}).")
    return "\n".join(lines).rstrip() + "\n"


def index() -> str:
    """Return the list of all pages."""
    lines = [
        "# Reference",
        "",
        "The public names of every package; `make reference` writes these pages from the source.",
        "Start with [taskloom](taskloom.md); the [guide](../guide) shows how to use the parts.",
        "",
        "| package | names | |",
        "| --- | ---: | --- |",
    ]
    for name, exported in packages().items():
        doc = ast.get_docstring(tree(name)) or ""
        lines.append(f"| [{name}]({file_name(name)}) | {len(exported)} | {_summary(doc)} |")
    return "\n".join(lines) + "\n"


def file_name(package: str) -> str:
    """Return the name of a package's page."""
    return f"{package}.md"


@cache
def _homes() -> dict[tuple[str, str], str]:
    homes: dict[tuple[str, str], str] = {}
    for package, exported in packages().items():
        for name in exported:
            found = find(package, name)
            if found is not None:
                homes.setdefault((found.module, found.name), package)
    return homes


def _home(name: Name) -> str:
    """Return the package whose page describes a name: the one nearest to the root."""
    return _homes()[name.module, name.name]


def _summary(doc: str) -> str:
    paragraph = doc.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    return re.split(r"(?<=\.) ", paragraph)[0]


def _entry(name: Name) -> Iterator[str]:
    node = name.nodes[-1]
    match node:
        case ast.ClassDef():
            yield from _class(name.module, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            functions = [one for one in name.nodes if isinstance(one, Function)]
            overloads = [one for one in functions if "overload" in _decorators(one)]
            yield from _code(*(signature(one) for one in overloads or functions))
            yield from _prose(name.doc)
        case _:
            yield from _code(ast.unparse(node))
            yield from _prose(name.doc)


def _class(module: str, node: ast.ClassDef) -> Iterator[str]:
    members = list(_members(module, node))
    keywords = [ast.unparse(one) for one in (*node.bases, *node.keywords)]
    head = f"class {node.name}({', '.join(keywords)})" if keywords else f"class {node.name}"
    fields = [one for one in members if not isinstance(one[0], Function)]
    made = [one for one, _ in members if isinstance(one, Function) and one.name == "__init__"]
    if fields:
        head = "\n".join([f"{head}:", *(f"    {ast.unparse(one)}" for one, _ in fields)])
    made_with = [signature(one, name=node.name) for one in made]
    if made_with and not keywords and not fields:
        yield from _code(f"class {made_with[-1]}")
    else:
        yield from _code(head, *made_with)
    yield from _prose(ast.get_docstring(node) or "")
    for one in made:
        yield from _prose(_arguments(ast.get_docstring(one) or ""))
    special = {one.name for one, _ in members if isinstance(one, Function)}
    yield from (line for name, text in _SPECIAL.items() if name in special for line in ("", text))
    yield from _field_texts(fields)
    for one, _ in members:
        if isinstance(one, Function) and (one.name == "__call__" or one.name[0] != "_"):
            yield from ("", f"### {node.name}.{one.name}", "")
            yield from _code(signature(one, is_method=True))
            yield from _prose(ast.get_docstring(one) or "")


def _field_texts(fields: Sequence[tuple[ast.stmt, str]]) -> Iterator[str]:
    described = [(name, text) for node, text in fields if text for name in _targets(node)]
    if described:
        yield ""
    for name, text in described:
        yield f"- `{name}`: " + text.replace("\n", " ")


def _members(module: str, node: ast.ClassDef) -> Iterator[tuple[ast.stmt, str]]:
    """Yield fields with their texts and methods, with those of base classes that are not public."""
    own: list[tuple[ast.stmt, str]] = []
    for one, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(one, Function) or any(name[0] != "_" for name in _targets(one)):
            own.append((one, _text_of(after)))
    known = {name for one, _ in own for name in _bound(one)}
    for base in node.bases:
        found = find(module, base.id) if isinstance(base, ast.Name) else None
        if found is None or (found.module, found.name) in _homes():
            continue
        parent = found.nodes[-1]
        if isinstance(parent, ast.ClassDef):
            inherited = _members(found.module, parent)
            yield from (pair for pair in inherited if not known & set(_bound(pair[0])))
    yield from own


def _bound(node: ast.stmt) -> list[str]:
    return [node.name] if isinstance(node, Function) else _targets(node)


def _decorators(node: Function) -> set[str]:
    return {ast.unparse(one).split("(")[0] for one in node.decorator_list}


def signature(node: Function, *, name: str = "", is_method: bool = False) -> str:
    """Return a function as it is called; with a name, as the constructor of that class."""
    decorators = _decorators(node)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and not name else ""
    if decorators & {"property", "cached_property"}:
        return f"{node.name}: {returns.removeprefix(' -> ')}"
    drop = 1 if name or (is_method and "staticmethod" not in decorators) else 0
    parts = _parameters(node.args, drop)
    before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    head = name or f"{before}def {node.name}"
    if "classmethod" in decorators:
        head = f"@classmethod\n{head}"
    line = f"{head}({', '.join(parts)}){returns}"
    if len(line) <= LINE_CHARS_MAX:
        return line
    return "\n".join([f"{head}(", *(f"    {part}," for part in parts), f"){returns}"])


def _parameters(arguments: ast.arguments, drop: int) -> list[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    parts = [_parameter(*pair) for pair in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        parts.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg is not None:
        parts.append("*" + ast.unparse(arguments.vararg))
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg is not None:
        parts.append("**" + ast.unparse(arguments.kwarg))
    return parts[drop:]


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    text = ast.unparse(argument)
    if default is None:
        return text
    return (
        f"{text} = {ast.unparse(default)}"
        if argument.annotation
        else f"{text}={ast.unparse(default)}"
    )


def _code(*blocks: str) -> Iterator[str]:
    text = _QUOTED.sub(r'"\1"', "\n\n".join(blocks))
    yield from ("```py", *text.splitlines(), "```")


def _arguments(doc: str) -> str:
    """Return the sections of a constructor's docstring; its first sentence adds nothing."""
    found = _SECTION.search(doc)
    return doc[found.start() :] if found else ""


def _prose(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown: its sections become lists."""
    in_section = False
    if doc:
        yield ""
    for line in doc.splitlines():
        section = _SECTION.fullmatch(line)
        item = _ITEM.fullmatch(line) if in_section else None
        if section is not None:
            in_section = True
            yield from (f"{section[1]}:", "")
        elif item is not None:
            yield f"- `{item[1]}`: {item[2]}"
        elif in_section and line.startswith("    "):
            yield f"  {line.strip()}"
        else:
            in_section = in_section and not line.strip()
            yield line


def pinned() -> str:
    """Return the public names of every package, one per line under the package's name."""
    sections = (f"[{package}]\n" + "\n".join(names) for package, names in packages().items())
    return "\n\n".join(sections) + "\n"


def pages() -> dict[Path, str]:
    """Return every page with its text."""
    found = {PAGES / file_name(package): page(package) for package in packages()}
    return {PAGES / "README.md": index(), **found}


def main() -> None:
    """Write the pages and the pinned names; remove pages of packages that are gone."""
    wanted = pages()
    PAGES.mkdir(exist_ok=True)
    for old in set(PAGES.glob("*.md")) - set(wanted):
        old.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    PINNED.write_text(pinned(), encoding="utf-8")
    sys.stdout.write(f"{len(wanted)} pages in {PAGES.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()

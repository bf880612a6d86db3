"""Imports without cycles, at the top of their file, and from packages instead of their files."""

import graphlib
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator

import pytest

from tests.conventions.imports import dynamic_imports, imports
from tests.conventions.tree import ROOT, Source, python, sample

LATE_IMPORTS = {
    "src/taskloom/__init__.py": "a name is loaded when it is first used (decision 0006)",
    "src/taskloom/cli/": "a command loads only what it needs (decision 0007)",
    "src/taskloom/sandbox/launcher.py": "every command that a worker runs waits for its start",
    "src/taskloom/agent/loop/run_source.py": "an agent without a journal needs no log",
    "src/taskloom/agent/providers/open_model.py": "the extra `models` may be missing",
    "src/taskloom/acp/session.py": "the MCP library takes long to load, and few sessions use it",
    "src/taskloom/orchestrator/workers.py": "the extra `acp` may be missing",
    "src/taskloom/app/pools.py": "the configuration names the module",
}
"""Where an import may be inside a function or a call of `import_module`, and why."""

PAST_THE_PACKAGE = {
    "taskloom.app.": "the command line loads one module at a time (decision 0007)",
    "taskloom.view.": "the command line loads one module at a time (decision 0007)",
    "taskloom.agent.journal": "`taskloom.agent` alone does not load the log",
    "taskloom.board.validation": "a namespace: its short names need the module's name",
}
"""Files that other packages may import, and why; everything else comes from a package."""


def edges(source: Source, modules: set[str]) -> Iterator[str]:
    for found in imports(source):
        below = f"{found.module}.{found.name}"
        target = below if below in modules else found.module
        if target in modules:
            yield target


def cycle(sources: Iterable[Source]) -> list[str]:
    """Return the modules of one cycle of imports, or nothing."""
    known = {source.module: source for source in sources}
    graph = {name: set(edges(source, set(known))) for name, source in known.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        # The sorter names each module before the one that imports it.
        return list(reversed(error.args[1]))
    return []


def late_imports(source: Source, allowed: Collection[str] = tuple(LATE_IMPORTS)) -> Iterator[str]:
    if str(source.path).startswith(tuple(allowed)):
        return
    for found in imports(source):
        if found.inside:
            yield f"{source.at(found.node)}: {found.module} is imported inside a function"
    for call, module in dynamic_imports(source):
        yield f"{source.at(call)}: {module or 'a module'} is imported by import_module"


def layers() -> list[set[str]]:
    """Return the layers of pyproject.toml, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [set(re.findall(r"\w+", line)) for line in contract["layers"]]


def upward(source: Source) -> Iterator[str]:
    """Yield the modules that a file loads with `import_module` and that are not below it."""
    order = {name: height for height, names in enumerate(layers()) for name in names}
    own = order.get(source.package, -1)  # The package taskloom itself is above all layers.
    for call, module in dynamic_imports(source):
        target = module.removeprefix("taskloom.").partition(".")[0]
        if module.startswith("taskloom.") and target != source.package and order[target] <= own:
            yield f"{source.at(call)}: {source.package} loads {module}, which is not below it"


def past_the_package(sources: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """Yield each import of another package's file: a sentence, and the module."""
    known = {source.module: source for source in sources}
    packages = {name for name, one in known.items() if one.path.name == "__init__.py"}
    for source in known.values():
        for module in edges(source, set(known)):
            inner = module.count(".") >= 2 and module.split(".")[1] != source.package
            if inner and module not in packages:
                yield f"{source.path} imports {module}; import from its package", module


def test_there_is_no_cycle_of_imports() -> None:
    assert cycle(python("src")) == []


def test_imports_are_at_the_top_of_a_file() -> None:
    assert [c for source in python("src") for c in late_imports(source)] == []


def test_every_exception_to_the_rules_of_imports_is_needed() -> None:
    late = [c for source in python("src") for c in late_imports(source, allowed=())]
    assert [path for path in LATE_IMPORTS if not any(c.startswith(path) for c in late)] == []
    past = {module for _, module in past_the_package(python("src"))}
    assert [one for one in PAST_THE_PACKAGE if not any(m.startswith(one) for m in past)] == []


def test_dynamic_imports_go_downward_only() -> None:
    assert [c for source in python("src") for c in upward(source)] == []


def test_other_packages_import_a_package_and_not_its_files() -> None:
    allowed = tuple(PAST_THE_PACKAGE)
    found = past_the_package(python("src"))
    assert [c for c, module in found if not module.startswith(allowed)] == []


def test_a_cycle_is_reported_even_if_only_types_need_it() -> None:
    one = sample("from taskloom.log import two", "src/taskloom/log/one.py")
    two = sample(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import taskloom.log.one",
        "src/taskloom/log/two.py",
    )
    init = sample("from taskloom.log.one import One", "src/taskloom/log/__init__.py")
    assert set(cycle([init, one, two])) == {"taskloom.log.one", "taskloom.log.two"}
    assert cycle([init, two, sample("", "src/taskloom/log/one.py")]) == []


def test_an_import_inside_a_function_is_reported_but_not_where_it_is_allowed() -> None:
    text = "def f():\n    import rich\n"
    assert len(list(late_imports(sample(text, "src/taskloom/app.py")))) == 1
    assert list(late_imports(sample(text, "src/taskloom/cli/show.py"))) == []
    assert list(late_imports(sample("import rich", "src/taskloom/app.py"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "from importlib import import_module\nx = import_module('rich')",
        "import importlib\nNAME = 'rich'\n\ndef f():\n    importlib.import_module(NAME)",
        "import importlib\n\ndef f(name):\n    importlib.import_module(name)",
    ],
)
def test_an_import_by_a_call_is_reported_but_not_where_it_is_allowed(text: str) -> None:
    assert len(list(late_imports(sample(text, "src/taskloom/app/other.py")))) == 1
    assert list(late_imports(sample(text, "src/taskloom/orchestrator/workers.py"))) == []


def test_a_late_import_upward_is_reported() -> None:
    text = "import importlib\nNAME = 'taskloom.{}'\nimportlib.import_module(NAME)"
    path = "src/taskloom/agent/sample.py"
    for wrong in ("app.project", "runtime.board"):
        assert len(list(upward(sample(text.format(wrong), path)))) == 1
    for right in ("log.disk", "agent.journal"):
        assert list(upward(sample(text.format(right), path))) == []
    assert list(upward(sample(text.format("cli.main"), "src/taskloom/__init__.py"))) == []


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("from taskloom.log import Wal", False),
        ("from taskloom.log.inner import Reader", False),
        ("from taskloom.log.wal import Wal", True),
        ("from taskloom.log import wal", True),
        ("import taskloom.log.wal", True),
        ("import taskloom.errors", False),
    ],
)
def test_an_import_of_another_packages_file_is_reported(line: str, reported: bool) -> None:
    others = [
        sample("", "src/taskloom/errors.py"),
        sample("from taskloom.log.wal import Wal", "src/taskloom/log/__init__.py"),
        sample("", "src/taskloom/log/wal.py"),
        sample("from taskloom.log.wal import Wal", "src/taskloom/log/inner/__init__.py"),
    ]
    found = list(past_the_package([*others, sample(line, "src/taskloom/cli/sample.py")]))
    assert [module for _, module in found] == (["taskloom.log.wal"] if reported else [])

"""Imports go downward only, never in a circle, and stand at the top of their file."""

import graphlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conventions.imports import imports
from tests.conventions.tree import ROOT, Source, python, sample

LATE_IMPORTS = (
    "src/taskloom/cli/",
    "src/taskloom/sandbox/launcher.py",  # every command that a worker runs pays for its start
    "src/taskloom/testing/",
)
"""Where an import may wait until it is needed: start-up time, and extras that may be missing."""


def lint_imports(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Checks the contracts of pyproject.toml on the taskloom found first on these paths."""
    return subprocess.run(
        [
            *(str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"),
            *("--config", str(ROOT / "pyproject.toml")),
        ],
        cwd=paths[0],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def edges(source: Source, modules: set[str]) -> Iterator[str]:
    for found in imports(source):
        below = f"{found.module}.{found.name}"
        target = below if below in modules else found.module
        if target in modules:
            yield target


def cycle(sources: Iterable[Source]) -> list[str]:
    """The modules of one circle of imports, or nothing."""
    known = {source.module: source for source in sources}
    graph = {name: set(edges(source, set(known))) for name, source in known.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        # The sorter names each module before the one that imports it.
        return list(reversed(error.args[1]))
    return []


def late_imports(source: Source) -> Iterator[str]:
    if not str(source.path).startswith(LATE_IMPORTS):
        for found in imports(source):
            if found.inside:
                yield f"{source.at(found.node)}: {found.module} is imported inside a function"


def package(folder: Path, files: dict[str, str]) -> Path:
    """A small taskloom with a board and a codec, so that every contract finds its source."""
    every = {"__init__.py": "", "board/__init__.py": "", "codec/__init__.py": "", **files}
    for name, text in every.items():
        path = folder / "taskloom" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        (path.parent / "__init__.py").touch()
    return folder


def test_imports_go_downward_only() -> None:
    result = lint_imports(ROOT / "src")
    assert result.returncode == 0, result.stdout + result.stderr


def test_there_is_no_circle_of_imports() -> None:
    assert cycle(python("src")) == []


def test_imports_stand_at_the_top_of_a_file() -> None:
    assert [c for source in python("src") for c in late_imports(source)] == []


def test_a_house_in_order_passes(tmp_path: Path) -> None:
    codec = {"codec/line.py": "import json, zlib, datetime, msgspec\nimport taskloom.board\n"}
    result = lint_imports(package(tmp_path, codec))
    assert result.returncode == 0, result.stdout + result.stderr


WRONG = {
    "board/upward.py": "import taskloom.log",
    "board/clock.py": "import time",
    "board/party.py": "import msgspec",
    "board/wire.py": "import json",
    "codec/disk.py": "from pathlib import Path",
    "codec/party.py": "import anyio",
    "runtime/beside.py": "import taskloom.agent",
    "acp/beside.py": "import taskloom.mcp",
    "orchestrator/upward.py": "import taskloom.config",
}


def test_wrong_imports_and_a_room_without_a_floor_are_reported(tmp_path: Path) -> None:
    rooms = {f"{room}/__init__.py": "" for room in ("log", "agent", "mcp", "config", "attic")}
    result = lint_imports(package(tmp_path, {**rooms, **WRONG}))
    assert result.returncode == 1
    for file, text in WRONG.items():
        module = "taskloom." + file.removesuffix(".py").replace("/", ".")
        assert f"{module} -> {text.split()[1]}" in result.stdout
    assert "taskloom.attic" in result.stdout


def test_a_circle_is_reported_even_if_only_types_need_it() -> None:
    one = sample("from taskloom.log import two", "src/taskloom/log/one.py")
    two = sample(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import taskloom.log.one",
        "src/taskloom/log/two.py",
    )
    sign = sample("from taskloom.log.one import One", "src/taskloom/log/__init__.py")
    assert set(cycle([sign, one, two])) == {"taskloom.log.one", "taskloom.log.two"}
    assert cycle([sign, two, sample("", "src/taskloom/log/one.py")]) == []


def test_an_import_inside_a_function_is_reported_but_not_where_it_is_allowed() -> None:
    text = "def f():\n    import rich\n"
    assert len(list(late_imports(sample(text, "src/taskloom/app.py")))) == 1
    assert list(late_imports(sample(text, "src/taskloom/cli/show.py"))) == []
    assert list(late_imports(sample("import rich", "src/taskloom/app.py"))) == []

"""The board and the codec use no clock, no event loop, no disk, and no library but msgspec.

import-linter checks the libraries that pyproject.toml names; this test refuses every other one.
"""

import ast
import sys
from collections.abc import Iterator

from tests.conventions.imports import imports
from tests.conventions.tree import Source, python, sample

IMPURE = {
    *("asyncio", "concurrent", "multiprocessing", "sched", "select", "selectors", "signal"),
    *("threading", "time", "logging", "random", "secrets", "uuid"),
    *("io", "os", "pathlib", "shutil", "sqlite3", "tempfile", "fcntl", "mmap", "glob"),
    *("http", "socket", "ssl", "subprocess", "urllib", "importlib"),
}
"""Modules of the standard library with clocks, loops, randomness, files, networks, processes."""
REFUSED = {"board": IMPURE | {"json", "zlib"}, "codec": IMPURE}
LIBRARIES: dict[str, set[str]] = {"board": set(), "codec": {"msgspec"}}
READS_THE_CLOCK = {"now", "utcnow", "today"}
"""`datetime` is allowed as a type of values; these of its methods read a clock."""


def impure(source: Source) -> Iterator[str]:
    if source.package not in REFUSED:
        return
    allowed = LIBRARIES[source.package] | {"taskloom"} | sys.stdlib_module_names
    allowed -= REFUSED[source.package]
    for found in imports(source):
        if found.module.partition(".")[0] not in allowed:
            yield f"{source.at(found.node)}: {source.package} must not import {found.module}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in READS_THE_CLOCK:
            yield f"{source.at(node)}: {source.package} reads the clock with .{node.attr}"
        if isinstance(node, ast.Name) and node.id in {"open", "print", "input"}:
            yield f"{source.at(node)}: {source.package} must not use {node.id}"


def test_board_and_codec_are_pure() -> None:
    assert [c for source in python("src") for c in impure(source)] == []


def violations(text: str, package: str) -> int:
    return len(list(impure(sample(text, f"src/taskloom/{package}/sample.py"))))


def test_each_impure_import_or_call_is_reported() -> None:
    assert violations("import time", "board") == 1
    assert violations("from os import path", "codec") == 1
    assert violations("import attrs", "board") == 1
    assert violations("import attrs", "codec") == 1
    assert violations("import msgspec", "board") == 1
    assert violations("def f():\n    import random", "board") == 1
    assert violations("from datetime import datetime\nx = datetime.now()", "board") == 1
    assert violations("import datetime\nx = datetime.date.today", "codec") == 1
    assert violations("x = open('f')", "codec") == 1


def test_what_pure_packages_may_use_is_not_reported() -> None:
    assert violations("from datetime import datetime\nimport heapq, taskloom.ids", "board") == 0
    assert violations("import json, zlib, msgspec\nfrom taskloom.board import x", "codec") == 0
    assert violations("import time, anyio", "runtime") == 0

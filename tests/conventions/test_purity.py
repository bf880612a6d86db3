"""The board and the codec know no clock, no loop, no disk, and no third party but msgspec.

import-linter holds the same line for the names it is given; this refuses every third party.
"""

import ast
import sys
from collections.abc import Iterator

from tests.conventions.imports import imports
from tests.conventions.tree import Source, python, sample

OUTSIDE = {
    *("asyncio", "concurrent", "multiprocessing", "sched", "select", "selectors", "signal"),
    *("threading", "time", "logging", "random", "secrets", "uuid"),
    *("io", "os", "pathlib", "shutil", "sqlite3", "tempfile", "fcntl", "mmap", "glob"),
    *("http", "socket", "ssl", "subprocess", "urllib", "importlib"),
}
"""Of the standard library: clocks, loops, chance, disks, wires and other processes."""
REFUSED = {"board": OUTSIDE | {"json", "zlib"}, "codec": OUTSIDE}
THIRD_PARTIES: dict[str, set[str]] = {"board": set(), "codec": {"msgspec"}}
ASKS_THE_CLOCK = {"now", "utcnow", "today"}
"""`datetime` is a fine type for a value; these of its methods read a clock."""


def impure(source: Source) -> Iterator[str]:
    if source.room not in REFUSED:
        return
    allowed = THIRD_PARTIES[source.room] | {"taskloom"} | sys.stdlib_module_names
    allowed -= REFUSED[source.room]
    for found in imports(source):
        if found.module.partition(".")[0] not in allowed:
            yield f"{source.at(found.node)}: {source.room} may not import {found.module}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in ASKS_THE_CLOCK:
            yield f"{source.at(node)}: {source.room} may not ask for .{node.attr}; take it as `now`"
        if isinstance(node, ast.Name) and node.id in {"open", "print", "input"}:
            yield f"{source.at(node)}: {source.room} may not use {node.id}"


def test_board_and_codec_are_pure() -> None:
    assert [c for source in python("src") for c in impure(source)] == []


def complaints(text: str, room: str) -> int:
    return len(list(impure(sample(text, f"src/taskloom/{room}/sample.py"))))


def test_each_way_out_of_the_pure_rooms_is_reported() -> None:
    assert complaints("import time", "board") == 1
    assert complaints("from os import path", "codec") == 1
    assert complaints("import attrs", "board") == 1
    assert complaints("import attrs", "codec") == 1
    assert complaints("import msgspec", "board") == 1
    assert complaints("def f():\n    import random", "board") == 1
    assert complaints("from datetime import datetime\nx = datetime.now()", "board") == 1
    assert complaints("import datetime\nx = datetime.date.today", "codec") == 1
    assert complaints("x = open('f')", "codec") == 1


def test_what_the_pure_rooms_may_use_is_not_reported() -> None:
    assert complaints("from datetime import datetime\nimport heapq, taskloom.ids", "board") == 0
    assert complaints("import json, zlib, msgspec\nfrom taskloom.board import x", "codec") == 0
    assert complaints("import time, anyio", "runtime") == 0

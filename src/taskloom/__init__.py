"""Taskloom: plans that survive. A durable task board for an Orchestrator and its workers.

The names of `taskloom.api` are the names of this package. They are loaded when the first of them
is used: importing the package takes almost no time, and a program that shows its help does not
load an event loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from taskloom.api import *  # noqa: F403 - this is where type checkers see the names
else:

    def __getattr__(name: str) -> object:
        if name == "__all__" or not name.startswith("_"):
            names = vars(import_module("taskloom.api"))
            if name == "__all__":
                return sorted(each for each in names if not each.startswith("_"))
            if name in names:
                value = globals()[name] = names[name]
                return value
        raise AttributeError(f"module 'taskloom' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __getattr__("__all__")

"""How a person or a program watches a run, and steers it."""

from taskloom.cli.watch.watcher import Kind, Watcher, choose_kind, watcher

__all__ = ["Kind", "Watcher", "choose_kind", "watcher"]

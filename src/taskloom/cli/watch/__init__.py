"""Shows a run to a person or a program, and lets the person control it."""

from taskloom.cli.watch.watcher import Kind, Watcher, choose_kind, new_watcher

__all__ = ["Kind", "Watcher", "choose_kind", "new_watcher"]

"""The file `.plan`: which changes were the last, and how to undo an unfinished one.

Each change writes this file first, with a new token. One small read tells a process whether its
cache is valid, and usually which tasks to read again. While a change of several files is under
way, `undo` holds their previous contents; the next process that finds it after a crash restores
them. Other programs skip the file, because its name starts with a dot.
"""

import os
from typing import Final

import msgspec
from msgspec import Struct, structs

MARKER: Final = ".plan"
_CHANGES_MAX: Final = 32
"""Changes that the file lists; a process that missed more reads every task."""
_IDS_MAX: Final = 64
"""Tasks that one change lists; a larger change counts as one of every task."""


class RecentChange(Struct, frozen=True, array_like=True):
    """The token of a change and the tasks it touched; None means any task."""

    token: str
    ids: tuple[str, ...] | None


class ChangeMarker(Struct, frozen=True, omit_defaults=True):
    """The content of the file."""

    token: str = ""
    highest: int = 0
    recent: tuple[RecentChange, ...] = ()
    undo: dict[str, str | None] = {}

    def next(
        self, highest: int, ids: tuple[str, ...], undo: dict[str, str | None] | None = None
    ) -> "ChangeMarker":
        """Return the marker of the change that follows."""
        token = os.urandom(9).hex()
        change = RecentChange(token, ids if len(ids) <= _IDS_MAX else None)
        recent = (*self.recent[1 - _CHANGES_MAX :], change)
        return ChangeMarker(token, max(highest, self.highest), recent, undo or {})

    def committed(self) -> "ChangeMarker":
        """Return this marker without the undo data."""
        return structs.replace(self, undo={})

    def touched_since(self, token: str) -> set[str] | None:
        """Return the tasks that later changes touched; None if that is unknown."""
        touched: set[str] = set()
        for change in reversed(self.recent):
            if change.token == token:
                return touched
            if change.ids is None:
                return None
            touched.update(change.ids)
        return None


def encode_marker(marker: ChangeMarker) -> str:
    """Return the content of the file."""
    return msgspec.json.encode(marker).decode()


def decode_marker(text: str) -> ChangeMarker:
    """Return the marker in a file's content; an empty one if it is missing or garbled."""
    try:
        return msgspec.json.decode(text, type=ChangeMarker) if text else ChangeMarker()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return ChangeMarker()

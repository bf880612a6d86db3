"""The file beside the tasks that says which change was the last, and how to take it back.

Every change of ours writes it first, with a new token. So a process knows from this one small
file whether what it remembers is still true, and if not, usually which tasks to read again.
While a change of several files is under way, `undo` holds what they were; whoever finds it after
a crash puts that back. Programs that know nothing of it skip the file, as its name has a dot.
"""

import os
from typing import Final

import msgspec
from msgspec import Struct, structs

MARKER: Final = ".plan"
_REMEMBERED: Final = 32
"""Changes that the file tells of; who missed more reads everything."""
_LISTED: Final = 64
"""A change of more tasks than this is told as one of everything."""


class TouchedFile(Struct, frozen=True, array_like=True):
    """One change: its token and the tasks it touched, None for any of them."""

    token: str
    ids: tuple[str, ...] | None


class ChangeMarker(Struct, frozen=True, omit_defaults=True):
    """What the file holds."""

    token: str = ""
    highest: int = 0
    recent: tuple[TouchedFile, ...] = ()
    undo: dict[str, str | None] = {}

    def next(
        self, highest: int, ids: tuple[str, ...], undo: dict[str, str | None] | None = None
    ) -> "ChangeMarker":
        """Return the marker of a change that follows."""
        token = os.urandom(9).hex()
        touched = TouchedFile(token, ids if len(ids) <= _LISTED else None)
        recent = (*self.recent[1 - _REMEMBERED :], touched)
        return ChangeMarker(token, max(highest, self.highest), recent, undo or {})

    def settled(self) -> "ChangeMarker":
        """Return the marker of this change once it is complete."""
        return structs.replace(self, undo={})

    def since(self, token: str) -> set[str] | None:
        """Return the tasks that were touched after a change; None if that is not known."""
        found: set[str] = set()
        for touched in reversed(self.recent):
            if touched.token == token:
                return found
            if touched.ids is None:
                return None
            found.update(touched.ids)
        return None


def encode(marker: ChangeMarker) -> str:
    """Return the content of the file."""
    return msgspec.json.encode(marker).decode()


def decode(text: str) -> ChangeMarker:
    """Return what the file says; of a missing or garbled one, nothing."""
    try:
        return msgspec.json.decode(text, type=ChangeMarker) if text else ChangeMarker()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return ChangeMarker()

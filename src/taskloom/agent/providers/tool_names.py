"""Converts tool names to the form that providers allow, and back.

Providers allow letters, digits, `_` and `-`, at most 64 of them; Taskloom's names may have dots
and more. An allowed name stays as it is. Any other is converted to a readable one, with a hash of
the name appended if another tool of the same request already has it.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

CHARS_MAX: Final = 64
"""The strictest of the providers' limits."""

_ALLOWED: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{CHARS_MAX}}}")
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH_CHARS: Final = 8


class ToolNames:
    """The names of one request's tools, in both directions.

    Names in older calls, whose tools are no longer offered, are added when they occur.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        offered = list(dict.fromkeys(names))
        self._sent = {name: name for name in offered if _ALLOWED.fullmatch(name)}
        self._received = dict(self._sent)
        for name in offered:
            self.sent(name)

    def sent(self, name: str) -> str:
        """Return the name that the provider gets for a tool."""
        known = self._sent.get(name)
        if known is not None:
            return known
        if _ALLOWED.fullmatch(name):
            # An older call; a reply must not use this name for the tool that has it now.
            self._sent[name] = name
            return name
        made = self._free(name)
        self._sent[name] = made
        self._received[made] = name
        return made

    def received(self, name: str) -> str:
        """Return the tool for a name of the provider; an unknown name stays as it is."""
        return self._received.get(name, name)

    def _free(self, name: str) -> str:
        plain = _OTHER.sub("_", name)[:CHARS_MAX] or "_"
        made, tries = plain, 0
        while made in self._received:
            digest = hashlib.sha256(f"{tries}{name}".encode("utf-8", "surrogatepass")).hexdigest()
            made = f"{plain[: CHARS_MAX - _HASH_CHARS - 1]}_{digest[:_HASH_CHARS]}"
            tries += 1
        return made

"""Tool names as providers allow them, and back.

Providers take letters, digits, `_` and `-`, at most 64 of them; our names may have dots and more.
A name that is allowed stays as it is. Of any other a readable form is made; should that belong to
another tool of the same request already, a mark made from the name is put behind it.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

CHARS_MAX: Final = 64
"""The strictest of the providers' limits."""

_ALLOWED: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{CHARS_MAX}}}")
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_MARK_CHARS: Final = 8


class ToolNames:
    """The names of one request's tools, in both directions.

    Names of older calls, whose tools are not offered any more, are added as they come.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Give each tool that is offered its name."""
        offered = list(dict.fromkeys(names))
        self._sent = {name: name for name in offered if _ALLOWED.fullmatch(name)}
        self._received = dict(self._sent)
        for name in offered:
            self.sent(name)

    def sent(self, name: str) -> str:
        """Return a tool's name as the provider is told."""
        known = self._sent.get(name)
        if known is not None:
            return known
        if _ALLOWED.fullmatch(name):
            # A call from before; the name may now mean another tool, and is not answered by it.
            self._sent[name] = name
            return name
        made = self._free(name)
        self._sent[name] = made
        self._received[made] = name
        return made

    def received(self, name: str) -> str:
        """Return the tool that the provider means; a name that nobody has stays as it is."""
        return self._received.get(name, name)

    def _free(self, name: str) -> str:
        plain = _OTHER.sub("_", name)[:CHARS_MAX] or "_"
        made, tries = plain, 0
        while made in self._received:
            mark = hashlib.sha256(f"{tries}{name}".encode("utf-8", "surrogatepass")).hexdigest()
            made = f"{plain[: CHARS_MAX - _MARK_CHARS - 1]}_{mark[:_MARK_CHARS]}"
            tries += 1
        return made

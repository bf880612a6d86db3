"""Truncation of streams: pieces pass through live, and only what may have to go is held back.

A stream that ends at the limit or before it is left as it is. So the last characters before
the limit, as many as the notice takes, wait until it is known whether the stream goes past it;
a longer one ends with the notice there, and is not longer than it was.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

from taskloom.agent import Part, TextPart, ToolRequest
from taskloom.middleware.reduction.handlers import ToolContent
from taskloom.middleware.reduction.settings import Choice
from taskloom.middleware.reduction.truncation import Truncation, as_parts, detail_of, text_of


class Stream:
    """One stream on its way."""

    def __init__(
        self, truncation: Truncation, request: ToolRequest, choice: Choice, *, plain: bool
    ) -> None:
        """Nothing has passed yet. `plain`: the tool yields text and not parts."""
        self._truncation = truncation
        self._request = request
        self._choice = choice
        self._plain = plain
        self._all: list[Part] = []
        self._held: list[Part] = []
        self._size = 0
        self._passed = 0

    async def cut(self, pieces: AsyncIterator[Part]) -> AsyncIterator[Part]:
        """Yield what the model gets, as soon as it is sure."""
        live = await self._live()
        async with AsyncExitStack() as stack:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                stack.push_async_callback(close)
            try:
                async for piece in pieces:
                    for ready in self._take(piece, live):
                        yield ready
            except Exception as error:
                # The tool failed: what was held back is delivered, then its error.
                for piece in joined(self._held):
                    yield piece
                shorter = await self._truncation.error(self._request, error, self._choice)
                if shorter is None:
                    raise
                raise shorter from error
        for piece in await self._ending():
            yield piece

    async def _live(self) -> int:
        """Return how many characters may pass before anything is known."""
        truncation = self._truncation
        if self._choice.trunc_handler is not None:
            return 0  # A handler wants to see the whole.
        path = truncation.source(self._request)
        if path is None:
            path = await truncation.offload.path(detail_of(self._request, ""))
        limit = truncation.settings.max_length_for_trunc
        return max(0, limit - truncation.notices().reserve(path or ""))

    def _take(self, piece: Part, live: int) -> list[Part]:
        """Keep a piece; return what of it may pass."""
        before, size = self._size, len(text_of(piece))
        self._all.append(piece)
        self._size += size
        if not self._held and self._size <= live:
            self._passed = self._size
            return [piece]
        if self._held or not isinstance(piece, TextPart) or before >= live:
            self._held.append(piece)
            return []
        head = live - before
        self._held.append(TextPart(piece.text[head:]))
        self._passed = live
        return [TextPart(piece.text[:head])]

    async def _ending(self) -> Sequence[Part]:
        """Return what comes at the end: what was held back, or the notice."""
        truncation, request, choice = self._truncation, self._request, self._choice
        content = self._content()
        if choice.trunc_handler is not None:
            given = await truncation.by_handler(request, content, choice)
            return joined(self._held) if given is None else as_parts(given)
        if self._size <= truncation.settings.max_length_for_trunc:
            return joined(self._held)
        text = "".join(map(text_of, self._all))
        path = truncation.source(request)
        if path is None:
            path = await truncation.offload.path(detail_of(request, content))
            if path is None or truncation.notices().streamed(path, self._passed, text) is None:
                return joined(self._held)
            path = await truncation.save(request, content, choice, path)
        notice = path and truncation.notices().streamed(path, self._passed, text)
        if not notice:
            return joined(self._held)
        return [TextPart(notice), *(part for part in self._held if not text_of(part))]

    def _content(self) -> ToolContent:
        if self._plain:
            return "".join(map(text_of, self._all))
        return tuple(joined(self._all))


def joined(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with neighbouring texts made one, as the loop keeps them."""
    found: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            found.append(TextPart("".join(texts)))
            texts = []
        found.append(part)
    if texts:
        found.append(TextPart("".join(texts)))
    return found

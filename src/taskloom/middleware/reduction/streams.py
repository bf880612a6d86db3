"""Truncation of streams: chunks pass at once, and only those that may be cut are held back.

A stream that does not exceed the limit is not changed. So the last characters before the limit,
as many as the notice needs, are held back until the stream ends or exceeds the limit; then the
notice replaces them and the rest.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

from taskloom.agent import Part, TextPart, ToolRequest
from taskloom.middleware.reduction.settings import ToolContent, ToolSettings
from taskloom.middleware.reduction.truncation import Truncation, as_parts, detail_of, text_of


class StreamTruncation:
    """The truncation of one stream."""

    def __init__(
        self, truncation: Truncation, request: ToolRequest, settings: ToolSettings, *, plain: bool
    ) -> None:
        """Start a stream; `plain` means that the tool yields text and not parts."""
        self._truncation = truncation
        self._request = request
        self._settings = settings
        self._plain = plain
        self._all: list[Part] = []
        self._held: list[Part] = []
        self._size = 0
        self._passed = 0

    async def cut(self, chunks: AsyncIterator[Part]) -> AsyncIterator[Part]:
        """Yield the chunks for the model as early as possible."""
        live = await self._live()
        async with AsyncExitStack() as stack:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                stack.push_async_callback(close)
            try:
                async for chunk in chunks:
                    for ready in self._take(chunk, live):
                        yield ready
            except Exception as error:
                # The tool failed: yield what was held back, then raise its error.
                for chunk in join_texts(self._held):
                    yield chunk
                shorter = await self._truncation.error(self._request, error, self._settings)
                if shorter is None:
                    raise
                raise shorter from error
        for chunk in await self._ending():
            yield chunk

    async def _live(self) -> int:
        """Return the number of characters that pass at once."""
        truncation = self._truncation
        if self._settings.trunc_handler is not None:
            return 0  # A handler needs the whole result.
        path = truncation.source(self._request)
        if path is None:
            path = await truncation.offload.path(detail_of(self._request, ""))
        limit = truncation.settings.max_length_for_trunc
        return max(0, limit - truncation.notices().reserve(path or ""))

    def _take(self, chunk: Part, live: int) -> list[Part]:
        """Record a chunk; return the part of it that passes."""
        before, size = self._size, len(text_of(chunk))
        self._all.append(chunk)
        self._size += size
        if not self._held and self._size <= live:
            self._passed = self._size
            return [chunk]
        if self._held or not isinstance(chunk, TextPart) or before >= live:
            self._held.append(chunk)
            return []
        head = live - before
        self._held.append(TextPart(chunk.text[head:]))
        self._passed = live
        return [TextPart(chunk.text[:head])]

    async def _ending(self) -> Sequence[Part]:
        """Return the last parts: what was held back, or the notice."""
        truncation, request, settings = self._truncation, self._request, self._settings
        content = self._content()
        if settings.trunc_handler is not None:
            answer = await truncation.by_handler(request, content, settings)
            return join_texts(self._held) if answer is None else as_parts(answer)
        if self._size <= truncation.settings.max_length_for_trunc:
            return join_texts(self._held)
        text = "".join(map(text_of, self._all))
        path = truncation.source(request)
        if path is None:
            path = await truncation.offload.path(detail_of(request, content))
            if path is None or truncation.notices().streamed(path, self._passed, text) is None:
                return join_texts(self._held)
            path = await truncation.save(request, content, settings, path)
        notice = path and truncation.notices().streamed(path, self._passed, text)
        if not notice:
            return join_texts(self._held)
        return [TextPart(notice), *(part for part in self._held if not text_of(part))]

    def _content(self) -> ToolContent:
        if self._plain:
            return "".join(map(text_of, self._all))
        return tuple(join_texts(self._all))


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with adjacent texts joined, as the agent loop stores them."""
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

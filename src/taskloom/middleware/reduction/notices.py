"""The notices that replace results: never longer than the result."""

from typing import Final

from msgspec import Struct

from taskloom.middleware.reduction.texts import EN, ZH, ReductionTexts

OPEN: Final = "<persisted-output>"
CLOSE: Final = "</persisted-output>"
POINTER_MAX: Final = 2_000
"""No pointer is longer, so that a long text cannot avoid clearing by imitating one."""


class Notices(Struct, frozen=True):
    """Writes notices in one language, for one read tool."""

    texts: ReductionTexts
    read_tool: str
    preview: int

    def truncated(self, path: str, text: str, *, parts: bool = False) -> str | None:
        """Return the notice for a text, or None if it would be longer than the text."""
        first = self.texts.too_large_parts if parts else self.texts.too_large
        head = first.format(size=len(text), path=path)
        bare = self._framed(head)
        space = len(text) - len(bare)
        if space < 0:
            return None
        begin, end = self._previews(text, text, space)
        return self._framed(head, begin, end)

    def streamed(self, path: str, shown: int, text: str) -> str | None:
        """Return the notice that ends a stream after `shown` characters."""
        head = self.texts.streamed.format(count=shown, size=len(text), path=path)
        bare = "\n" + self._framed(head)
        space = len(text) - shown - len(bare)
        if space < 0:
            return None
        _, end = self._previews("", text[shown:], space)
        return "\n" + self._framed(head, "", end)

    def reserve(self, path: str) -> int:
        """Return the characters that a stream's notice may need, with a longer path and size."""
        return len(self._framed(self.texts.streamed.format(count=0, size=0, path=path))) + 50

    def cleared(self, path: str) -> str:
        """Return the pointer to a cleared result."""
        return self._framed(self.texts.cleared.format(path=path))

    def is_notice_of(self, content: str, path: str, text: str) -> bool:
        """Return whether a content is exactly what truncation makes of a text."""
        if content == self.truncated(path, text):
            return True
        shown = content.rfind("\n" + OPEN)
        if shown < 0 or content[:shown] != text[:shown]:
            return False
        return content[shown:] == self.streamed(path, shown, text)

    def _previews(self, begin: str, end: str, space: int) -> tuple[str, str]:
        """Return the beginning and the end with headings, in at most `space` characters."""
        longest = len(str(self.preview))
        frame = sum(
            len(heading.format(count="")) + longest + 3
            for heading, text in ((self.texts.beginning, begin), (self.texts.end, end))
            if text
        )
        shares = bool(begin) + bool(end)
        count = min(self.preview, (space - frame) // max(shares, 1))
        if count <= 0:
            return "", ""
        return (
            f"{self.texts.beginning.format(count=count)}\n{begin[:count]}\n" if begin else "",
            f"{self.texts.end.format(count=count)}\n{end[-count:]}\n" if end else "",
        )

    def _framed(self, head: str, *previews: str) -> str:
        lines = (OPEN, head, *filter(None, previews), self.texts.view.format(tool=self.read_tool))
        return "\n".join((*lines, CLOSE))


def notice_path(content: str) -> str | None:
    """Return the path in the truncation notice of a content; None if it has no notice."""
    start = content.rfind(OPEN)
    if start < 0 or not content.endswith(CLOSE):
        return None
    line = content[start + len(OPEN) + 1 :].partition("\n")[0]
    for texts in (EN, ZH):
        for template in (texts.too_large, texts.streamed):
            before, _, _ = template.rpartition("{size}")[2].partition("{path}")
            _, found, path = line.partition(before)
            if found and path:
                return path
    return None


def is_pointer(text: str) -> bool:
    """Return whether a text is a pointer that `cleared` wrote, in any language, for any tool."""
    if not (len(text) <= POINTER_MAX and text.startswith(OPEN) and text.endswith(CLOSE)):
        return False
    lines = text.split("\n")
    if len(lines) != 4:
        return False
    return any(_matches(lines, texts) for texts in (EN, ZH))


def _matches(lines: list[str], texts: ReductionTexts) -> bool:
    before, _, _ = texts.cleared.partition("{path}")
    left, _, right = texts.view.partition("{tool}")
    return lines[1].startswith(before) and lines[2].startswith(left) and lines[2].endswith(right)

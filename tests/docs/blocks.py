"""Fenced code blocks of a Markdown page, put together into stories.

A story is a block and those after it marked `<!-- continued -->`: they share a directory, and the
Python ones share their names. The rules for writers are in CONTRIBUTING.md.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

FENCE = re.compile(r"^(?P<indent> {0,3})(?P<ticks>`{3,})(?P<language>[\w+-]*).*$")
MARK = re.compile(r"^\s*<!--\s*(?P<mark>continued|not run: .+?)\s*-->\s*$")
CONSOLE = {"console", "bash", "sh", "shell"}


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where its text starts."""

    language: str
    text: str
    line: int
    mark: str = ""

    @property
    def runs(self) -> bool:
        """Whether a reader would expect it to work as it stands."""
        if self.language == "python":
            return True
        return self.language in CONSOLE and not self.mark.startswith("not run")


@dataclass(frozen=True)
class Story:
    """Blocks that build on each other."""

    page: str
    blocks: list[Block] = field(default_factory=list[Block])

    def __str__(self) -> str:
        return f"{self.page}:{self.blocks[0].line}"

    def as_data(self) -> dict[str, object]:
        return asdict(self)


def blocks(text: str) -> Iterator[Block]:
    """Every fenced block of a page, whatever its language."""
    mark, fence, start = "", None, 0
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if fence is not None:
            closing = line.strip()
            if closing.startswith(fence["ticks"]) and set(closing) == {"`"}:
                body = [row.removeprefix(fence["indent"]) for row in lines[start : number - 1]]
                yield Block(fence["language"], "\n".join(body) + "\n", start + 1, mark)
                mark, fence = "", None
        elif found := FENCE.match(line):
            fence, start = found, number
        elif found := MARK.match(line):
            mark = found["mark"]
        elif line.strip():
            mark = ""  # A mark holds for the block right beneath it.


def stories(page: str, text: str) -> list[Story]:
    """The stories of a page, without the blocks that nobody would run."""
    told: list[Story] = []
    for block in blocks(text):
        if not block.runs:
            continue
        if block.mark == "continued" and told:
            told[-1].blocks.append(block)
        else:
            told.append(Story(page, [block]))
    return told

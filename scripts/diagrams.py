"""Draw the transition tables into docs/design/board.md.

`python scripts/diagrams.py` writes the page; a test checks that it is up to date.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from taskloom.board import STEP_NEXT, TASK_NEXT

PAGE = Path(__file__).parents[1] / "docs" / "design" / "board.md"
_PART = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- /drawn -->)", re.DOTALL)


def drawn(page: str) -> str:
    """Return the page with every drawn part up to date."""
    parts = {"steps": _steps, "tasks": _tasks}

    def draw(found: re.Match[str]) -> str:
        lines = "\n".join(parts[found[2]]())
        return f"{found[1]}\n```mermaid\nstateDiagram-v2\n{lines}\n```\n\n{found[3]}"

    return _PART.sub(draw, page)


def _steps() -> Iterator[str]:
    yield "    [*] --> pending"
    for status, events in STEP_NEXT.items():
        for event, following in events.items():
            for to in sorted(following):
                if to != status:
                    yield f"    {status} --> {to}: {event.removeprefix('task_step_')}"
        if not events:
            yield f"    {status} --> [*]"


def _tasks() -> Iterator[str]:
    yield "    [*] --> pending"
    for status, events in TASK_NEXT.items():
        for event, to in events.items():
            if to != status:
                yield f"    {status} --> {to}: {event.removeprefix('task_')}"
        if not events:
            yield f"    {status} --> [*]"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

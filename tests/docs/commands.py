"""Commands in a console block: what is typed, how it should end, what it should print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

EXITS = re.compile(r"#\s*exits (\d+)\s*$")


@dataclass
class Command:
    """One line after `$ `, with the lines it is said to print."""

    line: str
    number: int
    output: list[str] = field(default_factory=list[str])

    @property
    def exit_code(self) -> int:
        found = EXITS.search(self.line)
        return int(found[1]) if found else 0

    @property
    def program(self) -> str:
        return self.line.split(maxsplit=1)[0] if self.line else ""


def commands(text: str, first_line: int) -> Iterator[Command]:
    """The commands of a block; a backslash at the end of a line continues it."""
    current: Command | None = None
    for number, line in enumerate(text.splitlines(), start=first_line):
        if current is not None and current.line.endswith("\\"):
            current.line = current.line[:-1] + line.lstrip("> ")
        elif line.startswith("$ "):
            if current is not None:
                yield current
            current = Command(line[2:].strip(), number)
        elif current is not None:
            current.output.append(line.rstrip())
    if current is not None:
        yield current


def fits(said: list[str], printed: str) -> bool:
    """Whether the output is as said; `...` is any text in a line, alone any lines.

    Nothing said means that only the exit code counts.
    """
    said = "\n".join(said).strip("\n").split("\n")
    if said == [""]:
        return True
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else _one_line(line) + r"[ \t]*\n" for line in said
    )
    return re.fullmatch(pattern, printed.strip("\n") + "\n") is not None


def _one_line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))

"""The output of commands: tables for people, JSON for programs, notes on standard error."""

import sys
from typing import TYPE_CHECKING, cast

import msgspec

from taskloom.cli.stdio import print_error
from taskloom.view.format import clean

if TYPE_CHECKING:
    from rich.console import RenderableType

    from taskloom.cli.plain_console import PlainConsole


def print_json(value: object) -> None:
    """Print one JSON document."""
    _write(msgspec.json.format(encode(value), indent=2) + b"\n")


def print_json_line(value: object) -> None:
    """Print one JSON document on one line, and flush it."""
    _write(encode(value) + b"\n")


def encode(value: object) -> bytes:
    r"""Return a value as JSON; bytes that are not UTF-8, as in some file names, as `\udcff`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(value)))


def _escaped(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return {_escaped(name): _escaped(each) for name, each in pairs}
        case list() | tuple():
            return [_escaped(each) for each in cast("list[object]", value)]
        case _:
            return value


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def console(*, error: bool = False) -> "PlainConsole":
    """Return the console that prints text for people."""
    from taskloom.cli.plain_console import PlainConsole

    return PlainConsole(sys.stderr if error else sys.stdout)


def draw(*parts: "RenderableType") -> None:
    """Print renderables; into a pipe without trailing blanks."""
    out = console()
    if out.is_terminal:
        out.print(*parts, sep="\n", crop=False)
        return
    with out.capture() as captured:
        out.print(*parts, sep="\n", crop=False)
    out.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def note(text: str) -> None:
    """Print a note, which is not part of the answer, to standard error."""
    print_error(f"note: {clean(text)}")

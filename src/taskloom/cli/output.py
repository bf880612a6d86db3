"""Where a command's words go: tables for people or JSON for programs, notes beside them."""

import sys
from typing import TYPE_CHECKING, cast

import msgspec

from taskloom.cli.stdio import say
from taskloom.view.format import clean

if TYPE_CHECKING:
    from rich.console import RenderableType

    from taskloom.cli.plain_console import Screen


def print_json(value: object) -> None:
    """Print one JSON document."""
    _write(msgspec.json.format(encode(value), indent=2) + b"\n")


def print_json_line(value: object) -> None:
    """Print one JSON document on one line, at once."""
    _write(encode(value) + b"\n")


def encode(value: object) -> bytes:
    r"""Return a value as JSON; what is no Unicode, as some names of files, as `\udcff`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_written_out(msgspec.to_builtins(value)))


def _written_out(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return {_written_out(name): _written_out(each) for name, each in pairs}
        case list() | tuple():
            return [_written_out(each) for each in cast("list[object]", value)]
        case _:
            return value


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def console(*, error: bool = False) -> "Screen":
    """Return what people's words are printed on."""
    from taskloom.cli.plain_console import Screen

    return Screen(sys.stderr if error else sys.stdout)


def draw(*parts: "RenderableType") -> None:
    """Print what was drawn for people; into a pipe without the blanks at the ends of lines."""
    out = console()
    if out.is_terminal:
        out.print(*parts, sep="\n", crop=False)
        return
    with out.capture() as captured:
        out.print(*parts, sep="\n", crop=False)
    out.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def note(text: str) -> None:
    """Say something that is not part of the answer."""
    say(f"note: {clean(text)}")

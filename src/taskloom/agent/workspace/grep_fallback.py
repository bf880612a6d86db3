"""A replacement for ripgrep, run as a program of its own: a pattern may take forever.

Python's regular expressions hold the interpreter lock, so a thread would block the whole run. The
file is started by its path, isolated, and needs the standard library only.

    python -I -S grep_fallback.py PATTERN GLOB TARGET LINES_MAX LINE_CHARS_MAX SKIPPED...
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 2_000_000


def main(pattern: str, glob: str, target: str, lines: str, chars: str, *skipped: str) -> None:
    """Write `path NUL number:text` for each line that matches."""
    wanted = re.compile(pattern)
    left = int(lines)
    for file in _files(Path(target), frozenset(skipped)):
        if glob and not file.match(glob):
            continue
        for number, line in enumerate(_text(file).splitlines(), 1):
            if wanted.search(line):
                found = f"{number}:{line[: int(chars)]}\n".encode(errors="replace")
                sys.stdout.buffer.write(os.fsencode(file) + b"\0" + found)
                left -= 1
                if left == 0:
                    return


def _files(target: Path, skipped: frozenset[str]) -> Iterator[Path]:
    if target.is_file():
        yield target
        return
    for folder, folders, names in os.walk(target):
        folders[:] = sorted(name for name in folders if name not in skipped)
        for name in sorted(names):
            file = Path(folder, name)
            if not file.is_symlink() and file.is_file() and file.stat().st_size <= FILE_BYTES_MAX:
                yield file


def _text(file: Path) -> str:
    """Return the text of a file; empty if it is binary or cannot be read."""
    try:
        data = file.read_bytes()
    except OSError:
        return ""
    return "" if b"\0" in data[:1024] else data.decode(errors="replace")


if __name__ == "__main__":
    main(*sys.argv[1:])

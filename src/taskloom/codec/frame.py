r"""The frame of a line: one JSON object that ends in a checksum chained to all before it.

    {"wal_seq":7, … ,"tx":[1,2,6],"crc":"5d41402a"}\n

Rule 1: the checksum is the CRC-32 of every byte of the file before its own value's field, the
        checksums of earlier lines included. So one pass over any stretch of the file checks
        all its lines at once, and a line that is missing, moved or from another file is found.
Rule 2: checksums are compared as the eight bytes they are; "A" is not "a".
Rule 3: `tx` is [place, size, base]: this is line `place` of `size` written for one decision,
        and `base` is the last line that was safe before the write which brought this one.
        A decision is there when all its lines are. A reader that finds a hole can tell by the
        bases of later lines whether the hole was once safe (damage) or never was (a torn write).

Nothing here knows what a line says: the board's log and the agent's journal share it.
"""

from typing import Final
from zlib import crc32

import msgspec

SEAL_START: Final = b',"crc":"'
"""Where a seal may begin; inside a string the quotes would be escaped."""
SEAL_BYTES: Final = len(b',"crc":"00000000"}\n')
_SEAL: Final = b',"crc":"%08x"}\n'
_END: Final = ord("}")
_CRC_AT: Final = slice(-11, -3)
_encode_into: Final = msgspec.json.Encoder().encode_into


class Chain:
    """The checksum of a file so far; seals the lines that are appended to it."""

    __slots__ = ("crc",)

    def __init__(self, crc: int = 0) -> None:
        """Start where a file ends: `crc` is the checksum of all its bytes."""
        self.crc = crc

    def append(self, lines: bytearray, line: msgspec.Struct) -> None:
        """Encode the next line of the file and append it, sealed, to `lines`."""
        start = len(lines)
        _encode_into(line, lines, -1)
        self.seal_end(lines, start)

    def seal(self, body: bytes) -> bytes:
        """Turn a JSON object into the next line of the file."""
        line = bytearray(body)
        self.seal_end(line, 0)
        return bytes(line)

    def seal_end(self, lines: bytearray, start: int) -> None:
        """Turn the JSON object that begins at `start` and ends the buffer into a line.

        In place: the line of a big plan is not copied once more for a checksum's sake.
        """
        assert lines[-1] == _END, "a line is one JSON object"
        del lines[-1]
        crc = crc32(memoryview(lines)[start:] if start else lines, self.crc)
        seal = _SEAL % crc
        self.crc = crc32(seal, crc)
        lines += seal


def is_framed(line: bytes) -> bool:
    """Tell whether a line looks sealed, valid or not."""
    return line[-SEAL_BYTES:-11] == SEAL_START and line.endswith(b'"}\n')


def holds(lines: bytes, crc: int) -> bool:
    """Tell whether whole lines follow a file with checksum `crc`, by looking at the last seal."""
    return (
        is_framed(lines) and b"%08x" % crc32(memoryview(lines)[:-SEAL_BYTES], crc) == lines[_CRC_AT]
    )


def chained(lines: bytes, crc: int) -> int:
    """Return the checksum of a file after `lines` were added to one with checksum `crc`."""
    return crc32(lines, crc)


def crc_after(line: bytes) -> int | None:
    """Return the checksum of the file that ends in `line`, by what the line says of itself."""
    if not is_framed(line):
        return None
    try:
        return crc32(line[-SEAL_BYTES:], int(line[_CRC_AT], 16))
    except ValueError:
        return None

r"""The frame of a line: one JSON object that ends in a checksum chained to all before it.

    {"wal_seq":7, … ,"tx":[1,2,6],"crc":"5d41402a"}\n

Rule 1: the checksum is the CRC-32 of every byte of the file before its own value's field, the
        checksums of earlier lines included. So one pass over any stretch of the file checks
        all its lines at once, and a line that is missing, moved or from another file is found.
Rule 2: checksums are compared as the eight bytes they are; "A" is not "a".
Rule 3: `tx` is [number, size, base]: this is line `number` of the `size` lines of one
        transaction, and `base` is the last line that was durable before the write that appended
        this one. A transaction counts when all its lines are there. A reader that finds a hole
        can tell by the bases of later lines whether the hole was once durable (damage) or never
        was (a torn write).

The frame does not depend on the other fields: a board's log and a `RecordLog` share it.
"""

from typing import Final
from zlib import crc32

import msgspec

CRC_START: Final = b',"crc":"'
"""The start of the checksum field; inside a string the quotes would be escaped."""
CRC_BYTES: Final = len(b',"crc":"00000000"}\n')
_CRC: Final = b',"crc":"%08x"}\n'
_END: Final = ord("}")
_CRC_AT: Final = slice(-11, -3)
_encode_into: Final = msgspec.json.Encoder().encode_into


class Chain:
    """The checksum of a file so far, which every line appended to it continues."""

    __slots__ = ("crc",)

    def __init__(self, crc: int = 0) -> None:
        """Continue a file whose bytes have the checksum `crc`."""
        self.crc = crc

    def append(self, lines: bytearray, line: msgspec.Struct) -> None:
        """Encode the next line of the file and append it, with its checksum, to `lines`."""
        start = len(lines)
        _encode_into(line, lines, -1)
        self._end_line(lines, start)

    def line(self, body: bytes) -> bytes:
        """Return a JSON object as the next line of the file."""
        line = bytearray(body)
        self._end_line(line, 0)
        return bytes(line)

    def _end_line(self, lines: bytearray, start: int) -> None:
        """Add the checksum to the JSON object that begins at `start` and ends the buffer.

        In place: the line of a big plan is not copied once more for its checksum.
        """
        assert lines[-1] == _END, "a line is one JSON object"
        del lines[-1]
        crc = crc32(memoryview(lines)[start:] if start else lines, self.crc)
        end = _CRC % crc
        self.crc = crc32(end, crc)
        lines += end


def is_framed(line: bytes) -> bool:
    """Return whether a line ends in a checksum, right or wrong."""
    return line[-CRC_BYTES:-11] == CRC_START and line.endswith(b'"}\n')


def checksum_matches(lines: bytes, crc: int) -> bool:
    """Return whether the checksum of the last line is right for lines behind a file's `crc`."""
    return (
        is_framed(lines) and b"%08x" % crc32(memoryview(lines)[:-CRC_BYTES], crc) == lines[_CRC_AT]
    )


def chained(lines: bytes, crc: int) -> int:
    """Return the checksum of a file with checksum `crc` after `lines` are appended to it."""
    return crc32(lines, crc)


def crc_after(line: bytes) -> int | None:
    """Return the checksum of a file that ends in `line`, if the checksum in the line is right."""
    if not is_framed(line):
        return None
    try:
        return crc32(line[-CRC_BYTES:], int(line[_CRC_AT], 16))
    except ValueError:
        return None

"""Tells the committed part of a log from a torn write behind it, and both from damage.

A crash leaves a beginning of what was being written; a power cut may also leave sectors of it
unwritten, which read as zeros. Such a write was never acknowledged and may be removed. Any other
bytes that do not fit were once durable and have changed since: that is damage, and no writer may
write over it.
"""

from typing import Final

import msgspec

from taskloom.codec.frame import CRC_BYTES, CRC_START, chained, checksum_matches, crc_after
from taskloom.define import define
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq

SECTOR_BYTES: Final = 512
"""The smallest unit that a disk writes as a whole."""


class LineHeader(msgspec.Struct):
    """The fields of a line that belong to the frame."""

    wal_seq: int
    tx: tuple[int, int, int] | None = None


_decode_header: Final = msgspec.json.Decoder(LineHeader).decode
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a hostile or torn line may raise; msgspec's own error is only one of them."""


@define(frozen=True)
class CommittedPrefix:
    """The whole transactions at the start of a part of a log."""

    size_bytes: int
    seq: Seq
    """Their last line."""
    crc: int
    """The checksum of the file up to their end."""
    torn_bytes: int
    """The length of what follows: the remains of a write that was never acknowledged."""


def find_committed_prefix(data: bytes, *, after: Seq, crc: int, offset: int) -> CommittedPrefix:
    """Return the whole transactions of a file's end.

    Args:
        data: the bytes from `offset` to the end of the file.
        after: the last line in front of them.
        crc: the checksum of the file up to `offset`.
        offset: where they begin in the file, which decides where its sectors begin.

    Raises:
        DamagedLogError: What follows the transactions cannot be a torn write.
    """
    end = data.rfind(b"\n") + 1
    prefix = find_synced_prefix(data[:end], after=after, crc=crc)
    if prefix is None:
        return _check_each_line(data, after=after, crc=crc, offset=offset)
    size = prefix.size_bytes
    if end < len(data):
        line = prefix.seq + 1 + data.count(b"\n", size)
        running = chained(data[size:end], prefix.crc)
        _check_unfinished_line(data, end, line=line, crc=running, offset=offset)
    return CommittedPrefix(size, prefix.seq, prefix.crc, len(data) - size)


def find_synced_prefix(lines: bytes, *, after: Seq, crc: int) -> CommittedPrefix | None:
    """Return the whole transactions of some full lines; None if any of their bytes is wrong.

    This is quick: one checksum over all lines, and the header of the last one.
    """
    if not lines or not checksum_matches(lines, crc):
        return None
    end = len(lines)
    last = lines[lines.rfind(b"\n", 0, end - 1) + 1 :]
    header = read_header(last)
    if header is None or header.tx is None:
        raise DamagedLogError(after + lines.count(b"\n"), "the line has no tx field")
    seq = header.wal_seq
    number, size, base = header.tx
    if not 1 <= number <= size or not 0 <= base <= seq - number:
        raise DamagedLogError(seq, f"the tx field is impossible: {list(header.tx)}")
    if number > 1 and number > lines.count(b"\n"):
        raise DamagedLogError(seq, "the first lines of the transaction are missing")
    if number == size:
        return CommittedPrefix(end, seq, crc_after(last) or 0, 0)
    # The last transaction is not whole: leave its lines out.
    for _ in range(number):
        end = lines.rfind(b"\n", 0, end - 1) + 1
    return CommittedPrefix(end, seq - number, chained(lines[:end], crc), len(lines) - end)


def _check_each_line(data: bytes, *, after: Seq, crc: int, offset: int) -> CommittedPrefix:
    """Find the first line that does not fit, and decide whether it is torn or damaged."""
    size, last_seq, last_crc = 0, after, crc
    at, seq, running = 0, after, crc
    while at < len(data):
        end = data.find(b"\n", at) + 1
        line = data[at : end or len(data)]
        header = read_header(line) if end and checksum_matches(line, running) else None
        if header is None:
            _require_torn_write(data, at, line=seq + 1, crc=running, offset=offset)
            break
        if header.wal_seq != seq + 1 or header.tx is None:
            raise DamagedLogError(seq + 1, f"line {seq + 1} is numbered {header.wal_seq}")
        at, seq, running = end, seq + 1, chained(line, running)
        if header.tx[0] == header.tx[1]:
            size, last_seq, last_crc = at, seq, running
    return CommittedPrefix(size, last_seq, last_crc, len(data) - size)


def _require_torn_write(data: bytes, at: int, *, line: Seq, crc: int, offset: int) -> None:
    """Raise unless everything from `at` on can be the remains of one torn write."""
    first, _, later = data[at:].partition(b"\n")
    for other in later.split(b"\n"):
        header = read_header(other)
        if header is not None and (header.tx is None or header.tx[2] >= line):
            raise DamagedLogError(
                line, "the line is damaged: later lines say that it was once durable"
            )
    if _has_lost_sector(data, at, offset):
        return
    if later or data.endswith(b"\n"):
        cause = "wrong checksum" if read_header(first) else "the line does not parse"
        raise DamagedLogError(line, cause)
    _check_unfinished_line(data, at, line=line, crc=crc, offset=offset)


def _check_unfinished_line(data: bytes, at: int, *, line: Seq, crc: int, offset: int) -> None:
    """Raise if the unfinished line at `at` begins with a finished one whose newline was changed.

    A newline that is missing, or still zero, was never written; any other byte in its place
    was once a newline.
    """
    unfinished = data[at:]
    if _has_lost_sector(data, at, offset):
        return
    start = b'{"wal_seq":%d,' % line
    written = unfinished.rstrip(b"\0")  # What was never written reads as zeros.
    if written[: len(start)] != start[: len(written)]:
        raise DamagedLogError(line, "this is not the start of a line of a Taskloom log")
    crc_at = unfinished.find(CRC_START)
    while crc_at >= 0:
        end = crc_at + CRC_BYTES - 1
        changed = unfinished[end : end + 1] not in (b"", b"\0")
        if changed and checksum_matches(unfinished[:end] + b"\n", crc):
            raise DamagedLogError(line, "the line does not end in a newline")
        crc_at = unfinished.find(CRC_START, crc_at + 1)


def _has_lost_sector(data: bytes, at: int, offset: int) -> bool:
    """Return whether any sector, or its part behind `at`, holds nothing but zeros."""
    start = at
    while start < len(data):
        end = min(len(data), start + SECTOR_BYTES - (offset + start) % SECTOR_BYTES)
        if not data[start:end].strip(b"\0"):
            return True
        start = end
    return False


def read_header(line: bytes) -> LineHeader | None:
    """Return the frame's fields of a line; None if it does not parse."""
    try:
        return _decode_header(line)
    except DECODE_ERRORS:
        return None

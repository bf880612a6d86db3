"""Finding where a log's whole decisions end, and what the rest is: a torn write, or damage.

A crash leaves a beginning of what was being written, perhaps with sectors missing (read as
zeros) when the power went. That was never acknowledged and may be set aside. Anything else
that does not fit was once true and has been changed: damage, which nobody may write over.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from taskloom.codec.frame import SEAL_BYTES, SEAL_START, chained, crc_after, holds
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq

SECTOR_BYTES: Final = 512
"""The least that a disk writes as a whole."""


class LineHeader(msgspec.Struct):
    """What the frame needs to know of a line."""

    wal_seq: int
    tx: tuple[int, int, int] | None = None


_decode_mark: Final = msgspec.json.Decoder(LineHeader).decode
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a hostile or torn line may raise; msgspec's own error is only one of them."""


@dataclass(frozen=True, slots=True)
class CommittedPrefix:
    """How far a stretch of a log holds whole decisions."""

    size_bytes: int
    """Of the whole decisions, from the start of the stretch."""
    seq: Seq
    """The last line among them."""
    crc: int
    """The checksum of the file up to there."""
    torn_bytes: int
    """What follows them: the remains of a write that was never acknowledged."""


def find_committed_prefix(data: bytes, *, after: Seq, crc: int, offset: int) -> CommittedPrefix:
    """Say how far the end of a file is whole. `data` starts at `offset`, behind line `after`.

    Raises:
        DamagedLogError: What follows the whole part cannot be a torn write.
    """
    end = data.rfind(b"\n") + 1
    whole = find_synced_prefix(data[:end], after=after, crc=crc)
    if whole is None:
        return _slow(data, after=after, crc=crc, offset=offset)
    if end < len(data):
        line = whole.seq + 1 + data.count(b"\n", whole.size_bytes)
        running = chained(data[whole.size_bytes : end], whole.crc)
        _check_ending(data, end, line=line, crc=running, offset=offset)
    return CommittedPrefix(whole.size_bytes, whole.seq, whole.crc, len(data) - whole.size_bytes)


def find_synced_prefix(lines: bytes, *, after: Seq, crc: int) -> CommittedPrefix | None:
    """Say how far a stretch of full lines is whole, or None if any of its bytes is wrong.

    This is the quick way: one checksum over all of it, and a look at the last line.
    """
    if not lines or not holds(lines, crc):
        return None
    end = len(lines)
    last = lines[lines.rfind(b"\n", 0, end - 1) + 1 :]
    mark = read_header(last)
    if mark is None or mark.tx is None:
        raise DamagedLogError(after + lines.count(b"\n"), "the line has no place in a decision")
    place, size, base = mark.tx
    if not 1 <= place <= size or not 0 <= base <= mark.wal_seq - place:
        raise DamagedLogError(mark.wal_seq, f"{list(mark.tx)} is no place in a decision")
    if place > 1 and place > lines.count(b"\n"):
        raise DamagedLogError(mark.wal_seq, "the decision begins before the lines there are")
    if place == size:
        return CommittedPrefix(end, mark.wal_seq, crc_after(last) or 0, 0)
    # The last decision is not whole: leave its lines out.
    for _ in range(place):
        end = lines.rfind(b"\n", 0, end - 1) + 1
    return CommittedPrefix(end, mark.wal_seq - place, chained(lines[:end], crc), len(lines) - end)


def _slow(data: bytes, *, after: Seq, crc: int, offset: int) -> CommittedPrefix:
    """Walk line by line to the first that does not fit, and judge from there."""
    good, good_seq, good_crc = 0, after, crc
    at, seq, running = 0, after, crc
    while at < len(data):
        end = data.find(b"\n", at) + 1
        line = data[at : end or len(data)]
        mark = read_header(line) if end and holds(line, running) else None
        if mark is None:
            _judge(data, at, line=seq + 1, crc=running, offset=offset)
            break
        if mark.wal_seq != seq + 1 or mark.tx is None:
            raise DamagedLogError(seq + 1, f"line {seq + 1} is numbered {mark.wal_seq}")
        at, seq, running = end, seq + 1, chained(line, running)
        if mark.tx[0] == mark.tx[1]:
            good, good_seq, good_crc = at, seq, running
    return CommittedPrefix(good, good_seq, good_crc, len(data) - good)


def _judge(data: bytes, at: int, *, line: Seq, crc: int, offset: int) -> None:
    """Raise unless everything from `at` on can be the remains of one torn write."""
    first, _, later = data[at:].partition(b"\n")
    for other in later.split(b"\n"):
        mark = read_header(other)
        if mark is not None and (mark.tx is None or mark.tx[2] >= line):
            raise DamagedLogError(
                line, "the line is damaged: later lines say that it was once whole"
            )
    if _has_lost_sector(data, at, offset):
        return
    if later or data.endswith(b"\n"):
        cause = "wrong checksum" if read_header(first) else "the line does not parse"
        raise DamagedLogError(line, cause)
    _check_ending(data, at, line=line, crc=crc, offset=offset)


def _check_ending(data: bytes, at: int, *, line: Seq, crc: int, offset: int) -> None:
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
        raise DamagedLogError(line, "this is not the beginning of a line of ours")
    seal = unfinished.find(SEAL_START)
    while seal >= 0:
        end = seal + SEAL_BYTES - 1
        changed = unfinished[end : end + 1] not in (b"", b"\0")
        if changed and holds(unfinished[:end] + b"\n", crc):
            raise DamagedLogError(line, "the line does not end in a newline")
        seal = unfinished.find(SEAL_START, seal + 1)


def _has_lost_sector(data: bytes, at: int, offset: int) -> bool:
    """Tell whether a sector, or what of it lies behind `at`, holds nothing but zeros."""
    start = at
    while start < len(data):
        end = min(len(data), start + SECTOR_BYTES - (offset + start) % SECTOR_BYTES)
        if not data[start:end].strip(b"\0"):
            return True
        start = end
    return False


def read_header(line: bytes) -> LineHeader | None:
    """Read a line's number and its place in a decision; None if it does not parse."""
    try:
        return _decode_mark(line)
    except DECODE_ERRORS:
        return None

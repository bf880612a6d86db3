"""Reading a JSONL log from where one stopped, in pieces of whole decisions."""

from collections.abc import Iterator
from typing import Final

from taskloom.codec import find_committed_prefix, find_synced_prefix, is_framed, read_header
from taskloom.errors import DamagedLogError
from taskloom.log.disk import Disk
from taskloom.log.protocol import START, Position

_PIECE_BYTES: Final = 1 << 18
"""Small enough to stay in the processor's cache while it is decoded, and to keep memory flat."""


class Reader:
    """A place in an open file. Checks every byte it hands out; changes nothing."""

    def __init__(self, disk: Disk, fd: int) -> None:
        """Begin at the start of the file."""
        self._disk = disk
        self._fd = fd
        self.offset = 0
        self.position: Position = START
        self.is_foreign = False
        self.torn_bytes = 0
        """What stands behind the whole decisions, after `pieces` came to the end."""

    def pieces(self, size_bytes: int) -> Iterator[bytes]:
        """Yield what stands between here and `size_bytes`.

        Raises:
            DamagedLogError: A line is not what was written.
        """
        held = b""
        at = self.offset
        want = _PIECE_BYTES
        while at < size_bytes:
            chunk = self._disk.read(self._fd, min(want, size_bytes - at), at)
            if not chunk:
                break
            at += len(chunk)
            held = held + chunk if held else chunk
            if self.offset == 0:
                self.is_foreign = _is_foreign(held)
            piece = self._take(held, last=at >= size_bytes)
            if piece:
                held = held[len(piece) :]
                want = _PIECE_BYTES
                yield piece
            else:
                want *= 2  # A line longer than a piece, or damage: look at more of it.
        self.torn_bytes = len(held)

    def skip(self, size_bytes: int, position: Position) -> None:
        """Note that this much was appended by ourselves."""
        self.offset += size_bytes
        self.position = position

    def _take(self, held: bytes, *, last: bool) -> bytes:
        lines = held[: held.rfind(b"\n") + 1]
        if self.is_foreign:
            self.skip(len(lines), Position(self.position.seq + lines.count(b"\n"), 0))
            return lines
        seq, crc = self.position
        whole = (
            find_committed_prefix(held, after=seq, crc=crc, offset=self.offset)
            if last
            else find_synced_prefix(lines, after=seq, crc=crc)
        )
        if whole is None or whole.size_bytes == 0:
            return b""
        if whole.seq <= seq:
            raise DamagedLogError(seq + 1, f"the line is numbered {whole.seq}")
        self.skip(whole.size_bytes, Position(whole.seq, whole.crc))
        return lines if whole.size_bytes == len(lines) else held[: whole.size_bytes]


def _is_foreign(head: bytes) -> bool:
    """Tell by the first line: the reference implementation numbers its lines and seals none."""
    line = head[: head.find(b"\n") + 1]
    mark = read_header(line) if line else None
    return mark is not None and mark.tx is None and not is_framed(line)

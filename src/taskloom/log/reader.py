"""A read position in an open JSONL log, which returns whole transactions and checks each byte."""

from collections.abc import Iterator
from typing import Final

from taskloom.codec import find_committed_prefix, find_synced_prefix, is_framed, read_header
from taskloom.errors import DamagedLogError
from taskloom.log.disk import Disk
from taskloom.log.protocol import START, Position

_CHUNK_BYTES: Final = 1 << 18
"""Small enough to stay in the processor's cache while it is decoded, and to keep memory flat."""


class Reader:
    """A read position; it starts at the start of the file."""

    def __init__(self, disk: Disk, fd: int) -> None:
        """Take an open file."""
        self._disk = disk
        self._fd = fd
        self.offset = 0
        self.position: Position = START
        self.is_reference_log = False
        self.torn_bytes = 0
        """The length of an unfinished write behind the transactions, after `chunks` has ended."""

    def chunks(self, size_bytes: int) -> Iterator[bytes]:
        """Yield the transactions between here and the file's length `size_bytes`.

        Raises:
            DamagedLogError: A line is not what was written.
        """
        buffer = b""
        at = self.offset
        want = _CHUNK_BYTES
        while at < size_bytes:
            data = self._disk.read(self._fd, min(want, size_bytes - at), at)
            if not data:
                break
            at += len(data)
            buffer = buffer + data if buffer else data
            if self.offset == 0:
                self.is_reference_log = _is_reference_log(buffer)
            chunk = self._take(buffer, last=at >= size_bytes)
            if chunk:
                buffer = buffer[len(chunk) :]
                want = _CHUNK_BYTES
                yield chunk
            else:
                want *= 2  # A line longer than the buffer, or damage: more bytes will show which.
        self.torn_bytes = len(buffer)

    def skip(self, size_bytes: int, position: Position) -> None:
        """Move past lines that are known: the handle has read or appended them."""
        self.offset += size_bytes
        self.position = position

    def _take(self, buffer: bytes, *, last: bool) -> bytes:
        lines = buffer[: buffer.rfind(b"\n") + 1]
        if self.is_reference_log:
            self.skip(len(lines), Position(self.position.seq + lines.count(b"\n"), 0))
            return lines
        seq, crc = self.position
        prefix = (
            find_committed_prefix(buffer, after=seq, crc=crc, offset=self.offset)
            if last
            else find_synced_prefix(lines, after=seq, crc=crc)
        )
        if prefix is None or prefix.size_bytes == 0:
            return b""
        if prefix.seq <= seq:
            raise DamagedLogError(seq + 1, f"the line is numbered {prefix.seq}")
        self.skip(prefix.size_bytes, Position(prefix.seq, prefix.crc))
        return lines if prefix.size_bytes == len(lines) else buffer[: prefix.size_bytes]


def _is_reference_log(start: bytes) -> bool:
    """Tell by the first line: the reference implementation numbers its lines, without checksums."""
    line = start[: start.find(b"\n") + 1]
    header = read_header(line) if line else None
    return header is not None and header.tx is None and not is_framed(line)

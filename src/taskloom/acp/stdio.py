"""The program's standard streams as the wire, and nothing else on them.

Whatever is printed from here on, by us, by a library or by a child process, goes to standard
error: the wire gets descriptors of its own, and the old ones lead elsewhere.
"""

import asyncio
import os
import stat
import sys
import threading

from taskloom.acp.jsonrpc_transport import Drain, Source

_PIECE_BYTES = 64 * 1024


async def take_stdio() -> tuple[Source, Drain]:
    """Take standard input and output for the wire; return both ends."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return await _open_source(incoming), await _open_drain(outgoing)


def _is_waitable(descriptor: int) -> bool:
    """Tell whether an event loop can wait for a descriptor; for a plain file it cannot."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _open_source(descriptor: int) -> Source:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    if _is_waitable(descriptor):
        pipe = os.fdopen(descriptor, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        return reader

    def pump() -> None:
        try:
            while data := os.read(descriptor, _PIECE_BYTES):
                loop.call_soon_threadsafe(reader.feed_data, data)
            loop.call_soon_threadsafe(reader.feed_eof)
        except (OSError, RuntimeError):
            return  # Gone, or the program has ended meanwhile.

    # A thread of its own that nobody waits for: a terminal may never say anything again.
    threading.Thread(target=pump, name="taskloom acp input", daemon=True).start()
    return reader


async def _open_drain(descriptor: int) -> Drain:
    if not _is_waitable(descriptor):
        return _PlainFile(descriptor)
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _PlainFile:
    """A file or terminal, which takes what it is given without being waited for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        os.close(self._descriptor)

"""Serves one client over a pair of streams, or over standard input and output."""

import asyncio
import logging
import os
import signal
import stat
import sys
import threading
from contextlib import suppress
from typing import Final

import anyio
from acp.connection import Connection

from taskloom.acp.agent import AcpAgent
from taskloom.acp.options import AcpOptions
from taskloom.acp.protocol.client import Client
from taskloom.acp.protocol.jsonrpc_transport import JsonRpcTransport, Sink, Source

SHUTDOWN_S: Final = 10.0
"""How long turns may take to end after the client has disconnected."""

_CHUNK_BYTES: Final = 64 * 1024


async def serve_stdio(options: AcpOptions) -> None:
    """Serve the client on standard input and output until it closes them or sends SIGTERM.

    Editors stop their agents with SIGTERM: turns are ended then as well, and no program that a tool
    has started is left running.
    """
    source, sink = await take_stdio()
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await serve(options, JsonRpcTransport(source, sink))


async def serve(options: AcpOptions, transport: JsonRpcTransport) -> None:
    """Serve one client over a transport until it closes."""
    logging.getLogger("taskloom.acp").debug("a client is served")
    client = Client()
    agent = AcpAgent(options, client)
    connection = Connection(agent.handle, transport, listening=False)
    client.attach(connection)
    try:
        await connection.main_loop()
    finally:
        with anyio.move_on_after(SHUTDOWN_S, shield=True):
            await agent.close_all()
            # A client that sends everything and reads later gets every answer.
            await transport.wait_answered()
            await agent.close_all()  # Sessions that were opened meanwhile.
        with anyio.CancelScope(shield=True):
            await connection.close()


async def take_stdio() -> tuple[Source, Sink]:
    """Take standard input and output for the protocol, and send all other output to standard error.

    What this process, a library or a child process prints from here on does not get between two
    messages: the protocol has file descriptors of its own.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return await _open_source(incoming), await _open_sink(outgoing)


def _is_pollable(descriptor: int) -> bool:
    """Return whether an event loop can wait for a descriptor; for a plain file it cannot."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _open_source(descriptor: int) -> Source:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    if _is_pollable(descriptor):
        pipe = os.fdopen(descriptor, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        return reader

    def copy() -> None:
        try:
            while data := os.read(descriptor, _CHUNK_BYTES):
                loop.call_soon_threadsafe(reader.feed_data, data)
            loop.call_soon_threadsafe(reader.feed_eof)
        except (OSError, RuntimeError):
            return  # The file is gone, or the program has ended meanwhile.

    # A daemon thread: reading from a terminal may never return.
    threading.Thread(target=copy, name="taskloom acp input", daemon=True).start()
    return reader


async def _open_sink(descriptor: int) -> Sink:
    if not _is_pollable(descriptor):
        return _PlainFile(descriptor)
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _PlainFile:
    """A file or terminal, to which writes block."""

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

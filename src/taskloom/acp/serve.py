"""The door opened: one client over a pair of streams, until it leaves."""

import asyncio
import logging
import signal
from contextlib import suppress
from typing import Final

import anyio
from acp.connection import Connection

from taskloom.acp.agent import AcpAgent
from taskloom.acp.client import Client
from taskloom.acp.jsonrpc_transport import JsonRpcTransport
from taskloom.acp.options import AcpOptions
from taskloom.acp.stdio import take_stdio

SHUT_S: Final = 10.0
"""How long turns may take to end in order when the client has left."""


async def serve_stdio(setup: AcpOptions) -> None:
    """Serve the client on standard input and output until it closes them, or asks us to end.

    Editors end their agents with SIGTERM: what runs is then ended in order as well, and no
    program that a tool has started is left behind.
    """
    source, drain = await take_stdio()
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await serve(setup, JsonRpcTransport(source, drain))


async def serve(setup: AcpOptions, transport: JsonRpcTransport) -> None:
    """Serve one client over a transport until its end."""
    # What the SDK logs about a client's mistakes goes with our own words to standard error.
    logging.getLogger("taskloom.acp").debug("a client is served")
    client = Client()
    door = AcpAgent(setup, client)
    connection = Connection(door.handle, transport, listening=False)
    client.attach(connection)
    try:
        await connection.main_loop()
    finally:
        with anyio.move_on_after(SHUT_S, shield=True):
            await door.shut()
            await transport.settled()  # A client that only writes and reads later gets all of it.
            await door.shut()  # What was opened meanwhile.
        with anyio.CancelScope(shield=True):
            await connection.close()

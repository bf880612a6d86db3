"""JSON-RPC messages, one per line; a line that is not one is answered with an error.

The official SDK drops lines that it cannot read and fails on JSON that is not a message, so that a
client waits for ever. Here every bad line is answered with a JSON-RPC error, and the next is read.
"""

import asyncio
import logging
from typing import Any, Final, Protocol, cast

import msgspec

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Enough for a prompt with images; a client that never ends its line cannot fill the memory."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

_PIECE_BYTES: Final = 256 * 1024
_LOG = logging.getLogger("taskloom.acp")
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode

Frame = dict[str, Any]


class Source(Protocol):
    """Reads bytes; an `asyncio.StreamReader` is one."""

    async def read(self, n: int = -1) -> bytes:
        """Return some bytes; empty at the end."""
        ...


class Sink(Protocol):
    """Writes bytes; an `asyncio.StreamWriter` is one."""

    def write(self, data: bytes) -> None:
        """Write bytes, in order."""
        ...

    async def drain(self) -> None:
        """Wait while the buffer is full."""
        ...

    def close(self) -> None:
        """Close the stream."""
        ...


class JsonRpcTransport:
    """Messages over a pair of byte streams, for `acp.connection.Connection`."""

    def __init__(self, source: Source, sink: Sink, *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        """Take the streams; nothing is read yet."""
        self._source = source
        self._sink = sink
        self._max = line_bytes_max
        self._buffer = bytearray()
        self._searched = 0
        self._skipping = False
        self._unanswered = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()

    async def wait_answered(self) -> None:
        """Return when every request that was received has been answered."""
        await self._all_answered.wait()

    async def send(self, message: Frame) -> None:
        """Write one message, waiting while the client does not read."""
        try:
            self._sink.write(encode(message))
            await self._sink.drain()
        finally:
            if "method" not in message:
                self._count(-1)

    async def receive(self) -> Frame | None:
        """Return the next message; None at the end."""
        while True:
            line = await self._line()
            if line is None:
                return None
            if not line.strip():
                continue
            frame, error = read_frame(line)
            if frame is not None:
                if "method" in frame and "id" in frame:
                    self._count(1)
                return frame
            if error is not None:
                self._count(1)
                await self.send(error)

    async def close(self) -> None:
        """Close the sink."""
        self._sink.close()

    def _count(self, requests: int) -> None:
        self._unanswered += requests
        if self._unanswered > 0:
            self._all_answered.clear()
        else:
            self._all_answered.set()

    async def _line(self) -> bytes | None:
        """Return the next line; one that is too long is skipped and answered."""
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                if not self._skipping:
                    return line
                self._skipping = False
                continue
            self._searched = len(self._buffer)
            if self._searched > self._max:
                if not self._skipping:
                    self._count(1)
                    await self.send(_too_long(self._max))
                self._skipping = True
            if self._skipping:
                self._buffer.clear()
                self._searched = 0
            piece = await self._source.read(_PIECE_BYTES)
            if not piece:
                rest = b"" if self._skipping else bytes(self._buffer)
                self._buffer.clear()
                self._searched = 0
                return rest if rest.strip() else None
            self._buffer += piece


def encode(message: Frame) -> bytes:
    """Return a message as its line."""
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate, as models and file names may have: JSON cannot contain it.
        return _encode(_encodable(message)) + b"\n"


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {_encodable(key): _encodable(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in cast("list[object]", value)]
    return value


def read_frame(line: bytes) -> tuple[Frame | None, Frame | None]:
    """Return the message of a line, or the error to answer; neither for a bad answer."""
    try:
        frame: object = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, _error(PARSE_ERROR, f"Parse error: the line is not valid JSON: {error}.")
    if not isinstance(frame, dict):
        return None, _error(
            INVALID_REQUEST, "Invalid request: a message is one JSON object, not a batch or value."
        )
    message = cast("Frame", frame)
    if "method" not in message:
        return _answer(message)
    return _call(message)


def _call(message: Frame) -> tuple[Frame | None, Frame | None]:
    id_ = message.get("id")
    if "id" in message and not _is_id(id_):
        return None, _error(
            INVALID_REQUEST, "Invalid request: an id is a string or a whole number."
        )
    if not isinstance(message["method"], str):
        return None, _error(INVALID_REQUEST, "Invalid request: the method is not a string.", id_)
    if not isinstance(message.get("params"), dict | list | None):
        return None, _error(INVALID_REQUEST, "Invalid request: params is not an object.", id_)
    return message, None


def _answer(message: Frame) -> tuple[Frame | None, Frame | None]:
    """Check an answer to a request of the agent; a malformed one is dropped."""
    id_ = message.get("id")
    if "result" not in message and "error" not in message:
        wrong = "Invalid request: a message has a method, a result or an error."
        return None, _error(INVALID_REQUEST, wrong, id_ if _is_id(id_) else None)
    error = cast("Frame | None", message.get("error"))
    if not _is_id(id_) or (error is not None and not isinstance(error, dict)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a client may send anything
        _LOG.warning("dropped an answer of the client: it has no id, or its error is malformed")
        return None, None
    if error is not None:
        code, text = error.get("code"), error.get("message")
        message["error"] = {
            "code": code if isinstance(code, int) else INVALID_REQUEST,
            "message": text if isinstance(text, str) else "The client gave no reason.",
            "data": error.get("data"),
        }
    return message, None


def _is_id(id_: object) -> bool:
    return isinstance(id_, str | int) and not isinstance(id_, bool)


def _too_long(limit: int) -> Frame:
    return _error(INVALID_REQUEST, f"Invalid request: a line is longer than {limit} bytes.")


def _error(code: int, text: str, id_: object = None) -> Frame:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}

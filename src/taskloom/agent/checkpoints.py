"""Checkpoints: the state of a stopped run as versioned JSON, in memory or in a directory.

    {"format":"taskloom-checkpoint","version":1,"crc":"5d41402a","progress":{…}}

A file that is damaged or of an unknown version is refused with an error; it is never used in part,
and loading never changes it.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol
from zlib import crc32

import anyio.to_thread
import msgspec
from msgspec import Raw, Struct

from taskloom.agent.errors import CheckpointError
from taskloom.agent.loop.run_state import RunState
from taskloom.atomic_write import write_file

FORMAT: Final = "taskloom-checkpoint"
VERSION: Final = 1


class CheckpointStore(Protocol):
    """Where checkpoints are kept, by run id."""

    async def save(self, run_id: str, data: bytes) -> None:
        """Replace the data of a run in one step; when this returns, it survives a crash."""
        ...

    async def load(self, run_id: str) -> bytes | None:
        """Return the data of a run, or None."""
        ...

    async def delete(self, run_id: str) -> None:
        """Delete the checkpoint of a run; a missing one is not an error."""
        ...


class MemoryCheckpoints:
    """Checkpoints for one process."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    async def save(self, run_id: str, data: bytes) -> None:
        """Keep the data."""
        self._data[run_id] = data

    async def load(self, run_id: str) -> bytes | None:
        """Return the data of a run, or None."""
        return self._data.get(run_id)

    async def delete(self, run_id: str) -> None:
        """Delete the checkpoint of a run."""
        self._data.pop(run_id, None)


class DirectoryCheckpoints:
    """One file per run in a directory; each is written whole or not at all."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Name the directory; it is made when the first checkpoint is saved."""
        self._directory = Path(directory)

    async def save(self, run_id: str, data: bytes) -> None:
        """Write a new file beside the old, and put it in its place."""
        with _explained(run_id, "saved"):
            await anyio.to_thread.run_sync(write_file, self._path(run_id), data)

    async def load(self, run_id: str) -> bytes | None:
        """Return the data of a run, or None."""
        with _explained(run_id, "read"):
            try:
                return await anyio.to_thread.run_sync(self._path(run_id).read_bytes)
            except FileNotFoundError:
                return None

    async def delete(self, run_id: str) -> None:
        """Remove the file of a run."""
        path = self._path(run_id)
        with _explained(run_id, "removed"):
            await anyio.to_thread.run_sync(lambda: path.unlink(missing_ok=True))

    def _path(self, run_id: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", run_id):
            raise CheckpointError(f"{run_id!r} is not a run id: use letters, digits, - and _.")
        return self._directory / f"{run_id}.checkpoint.json"


@contextmanager
def _explained(run_id: str, what: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint of run {run_id} could not be {what}: {error}. Check the directory "
            "and its rights; the run's `result` holds what was done."
        ) from error


class _Envelope(Struct):
    format: str
    version: int
    crc: str
    progress: Raw


def pack(state: RunState) -> bytes:
    """Return a run's state as the JSON of a checkpoint."""
    body = msgspec.json.encode(state)
    return msgspec.json.encode(_Envelope(FORMAT, VERSION, f"{crc32(body):08x}", Raw(body)))


def unpack(data: bytes, run_id: str) -> RunState:
    """Return the state that a checkpoint holds.

    Raises:
        CheckpointError: it is damaged, or of a version this program does not know.
    """
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(run_id, str(error)) from error
    if envelope.format != FORMAT:
        raise _damaged(run_id, f"it is a {envelope.format!r}")
    if envelope.version != VERSION:
        raise CheckpointError(
            f"The checkpoint of run {run_id} has version {envelope.version}; this program knows "
            f"version {VERSION}. Resume it with the program that wrote it."
        )
    if f"{crc32(envelope.progress):08x}" != envelope.crc:
        raise _damaged(run_id, "its checksum is wrong")
    try:
        return msgspec.json.decode(envelope.progress, type=RunState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(run_id, str(error)) from error


def _damaged(run_id: str, why: str) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint of run {run_id} cannot be used: {why}. It was left as it is; "
        "start the run again."
    )

"""Where a run begins: from messages, from a journal, or from a checkpoint."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import anyio.to_thread
from msgspec import Struct

from taskloom.agent.checkpoints import CheckpointStore, unpack
from taskloom.agent.errors import AgentError, CheckpointError, JournalMismatchError
from taskloom.agent.journal_entries import Answered, Entry, RunBegun
from taskloom.agent.messages import Message
from taskloom.agent.run_context import Journal
from taskloom.agent.run_state import RunState, replay


class LoadedRun(Struct):
    """A run's state, its journal, and what is to be noted before it goes on."""

    progress: RunState
    journal: Journal | None
    entries: Sequence[Entry]
    resumed: bool


class RunSource(Struct, frozen=True):
    """What the caller said about where the run comes from."""

    run_id: str
    agent: str
    messages: tuple[Message, ...] | None
    journal: str | os.PathLike[str] | None
    checkpoints: CheckpointStore | None
    answers: Mapping[str, Any] | None

    async def open(self) -> LoadedRun:
        """Return the state to go on from.

        Raises:
            CheckpointError: there is no usable checkpoint.
            JournalMismatchError: the journal holds a run with another input.
            AgentError: there is nothing to start from.
        """
        if self.checkpoints is not None:
            return await self._from_checkpoint(self.checkpoints)
        if self.journal is not None:
            return await self._from_journal(self.journal)
        return LoadedRun(RunState(), None, [self._begun(self.messages)], resumed=False)

    async def _from_journal(self, path: str | os.PathLike[str]) -> LoadedRun:
        journal, entries = await anyio.to_thread.run_sync(_open_journal, path)
        try:
            progress = replay(entries)
            news = self._going_on(progress, path) if entries else [self._begun(self.messages)]
        except BaseException:
            journal.close()
            raise
        return LoadedRun(progress, journal, news, resumed=bool(entries))

    def _going_on(self, progress: RunState, path: str | os.PathLike[str]) -> Sequence[Entry]:
        check_same_input(progress, self.messages, str(path))
        return [Answered(dict(self.answers))] if self.answers else []

    def _begun(self, messages: tuple[Message, ...] | None) -> RunBegun:
        if not messages:
            raise AgentError("Give the run something to start from: a text or messages.")
        return RunBegun(self.run_id, self.agent, messages)

    async def _from_checkpoint(self, store: CheckpointStore) -> LoadedRun:
        data = await store.load(self.run_id)
        if data is None:
            raise CheckpointError(
                f"There is no checkpoint of run {self.run_id}: it never stopped half-way, or it "
                "has ended since."
            )
        progress = unpack(data, self.run_id)
        return LoadedRun(progress, None, [Answered(dict(self.answers or {}))], resumed=True)


def _open_journal(path: str | os.PathLike[str]) -> tuple[Journal, list[Entry]]:
    """Open a journal; the log's code is loaded with the first, since most runs have none."""
    opened: tuple[Journal, list[Entry]] = import_module("taskloom.agent.journal").open_journal(path)
    return opened


def check_same_input(progress: RunState, messages: tuple[Message, ...] | None, path: str) -> None:
    """Refuse to go on with a journal that was begun with another input."""
    if messages is not None and list(messages) != list(progress.messages[: progress.given]):
        raise JournalMismatchError(
            f"The journal {path} holds a run that began with another input. Give each run a file "
            "of its own, or leave the input out to go on with this one."
        )

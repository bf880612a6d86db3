"""Where a run starts: from messages, from a journal, or from a checkpoint."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import anyio.to_thread
from msgspec import Struct

from taskloom.agent.checkpoints import CheckpointStore, unpack
from taskloom.agent.errors import AgentError, CheckpointError, JournalMismatchError
from taskloom.agent.loop.journal_entries import Answered, Entry, RunBegun
from taskloom.agent.loop.run_context import Journal
from taskloom.agent.loop.run_state import RunState, replay
from taskloom.agent.messages import Message


class LoadedRun(Struct):
    """A run's state, its journal, and the entries to record before it continues."""

    state: RunState
    journal: Journal | None
    entries: Sequence[Entry]
    resumed: bool


class RunSource(Struct, frozen=True):
    """What the caller gave to start or resume a run."""

    run_id: str
    agent: str
    messages: tuple[Message, ...] | None = None
    journal: str | os.PathLike[str] | None = None
    checkpoints: CheckpointStore | None = None
    saved: RunState | None = None
    answers: Mapping[str, Any] | None = None

    async def load(self) -> LoadedRun:
        """Return the state to continue from.

        Raises:
            CheckpointError: there is no usable checkpoint.
            JournalMismatchError: the journal holds a run with another prompt.
            AgentError: there is nothing to start from.
        """
        if self.saved is not None:
            return self._from_state(self.saved)
        if self.checkpoints is not None:
            return await self._from_checkpoint(self.checkpoints)
        if self.journal is not None:
            return await self._from_journal(self.journal)
        return LoadedRun(RunState(), None, [self._begun()], resumed=False)

    async def _from_journal(self, path: str | os.PathLike[str]) -> LoadedRun:
        journal, entries = await anyio.to_thread.run_sync(_open_journal, path)
        try:
            state = replay(entries)
            new = self._resumed(state, path) if entries else [self._begun()]
        except BaseException:
            journal.close()
            raise
        return LoadedRun(state, journal, new, resumed=bool(entries))

    def _resumed(self, state: RunState, path: str | os.PathLike[str]) -> Sequence[Entry]:
        given = list(state.messages[: state.given])
        if self.messages is not None and list(self.messages) != given:
            raise JournalMismatchError(
                f"The journal {path} holds a run with another prompt. Give each run a file of its "
                "own, or leave the prompt out to resume this one."
            )
        return [Answered(dict(self.answers))] if self.answers else []

    def _begun(self) -> RunBegun:
        if not self.messages:
            raise AgentError("The run has nothing to start from: give it a prompt.")
        return RunBegun(self.run_id, self.agent, self.messages)

    async def _from_checkpoint(self, store: CheckpointStore) -> LoadedRun:
        data = await store.load(self.run_id)
        if data is None:
            raise CheckpointError(
                f"Run {self.run_id} has no checkpoint: it was never interrupted or cancelled, or "
                "it has ended since. Check the run id and the checkpoint store."
            )
        return self._from_state(unpack(data, self.run_id))

    def _from_state(self, state: RunState) -> LoadedRun:
        return LoadedRun(state, None, [Answered(dict(self.answers or {}))], resumed=True)


def _open_journal(path: str | os.PathLike[str]) -> tuple[Journal, list[Entry]]:
    """Open a journal; most runs have none, so the first one imports the log's code."""
    opened: tuple[Journal, list[Entry]] = import_module("taskloom.agent.journal").open_journal(path)
    return opened

"""Commits on an event loop: many callers, one sync.

The sync starts at the end of the loop's iteration, when all tasks that were about to send have
sent. It runs on the loop's own thread while the disk is quick, because handing it to another
thread and back would cost as much as the sync itself (decision 0003).
"""

from asyncio import AbstractEventLoop, Future
from collections.abc import Awaitable, Generator
from typing import TYPE_CHECKING, Any, Final

from taskloom.errors import TaskloomError
from taskloom.log import SyncPolicy
from taskloom.runtime.task_writer import PendingAnswer, TaskWriter
from taskloom.runtime.write_lock import WouldBlockError

if TYPE_CHECKING:
    AnyAnswer = PendingAnswer[Any]
    Batch = list[tuple[AnyAnswer, Future[None]]]

_ALONE_ITERATIONS: Final = 8
"""After so many iterations with one caller each, the next caller is taken to be alone, too."""

_LOOK_AGAIN: Final = 16
"""One in so many lonely commits waits for the end of the iteration, to see who else came."""


class GroupCommit:
    """Commits the answers of one event loop's callers."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        """Serve the callers on this loop."""
        self.loop = loop
        self._waiting: dict[TaskWriter, Batch] = {}
        # Why not simply sync in `commit`? Because the 63 other callers who are about to send
        # in this iteration would each pay for a sync of their own. So commits wait for the
        # iteration's end. But a caller who is alone would wait for nothing, and that costs a
        # quarter of a sync. `_alone` counts the iterations that had one caller only.
        self._alone = 0
        self._policy = SyncPolicy()

    def commit(self, pending: "AnyAnswer") -> Awaitable[None]:
        """Return what to await before giving the answer away.

        Cancelling that takes nothing back: the change becomes durable all the same.

        Raises:
            StorageError: The answer is lost already.
        """
        writer = pending.writer
        if writer.is_committed(pending):
            return _DONE
        if self._alone >= _ALONE_ITERATIONS and not self._waiting and self._policy.is_inline:
            self._alone += 1
            if self._alone % _LOOK_AGAIN and self._commit_here(pending):
                return _DONE
        future: Future[None] = self.loop.create_future()
        batch = self._waiting.get(writer)
        if batch is None:
            if not self._waiting:
                self.loop.call_soon(_Iteration(self).end)
            batch = self._waiting[writer] = []
        batch.append((pending, future))
        return future

    def commit_waiting(self) -> None:
        """Commit for everyone who waits."""
        waiting, self._waiting = self._waiting, {}
        callers = sum(map(len, waiting.values()))
        self._alone = self._alone + 1 if callers == 1 else 0
        for writer, batch in waiting.items():
            self._commit_batch(writer, batch)

    def abandon(self) -> None:
        """Commit what waits, although the loop was closed: it holds the log's write lock."""
        waiting, self._waiting = self._waiting, {}
        for writer, batch in waiting.items():
            _commit_quietly(writer, batch[-1][0])

    def _commit_batch(self, writer: TaskWriter, batch: "Batch") -> None:
        # A sync takes everything that was staged before it, so committing the last answer
        # commits all of them.
        last = batch[-1][0]
        try:
            if self._policy.is_inline and self._commit_here(last):
                _resolve(writer, batch, last_is_committed=True)
                return
            self._policy.note_threaded()
            done = self.loop.run_in_executor(None, _commit_quietly, writer, last)
            done.add_done_callback(lambda _: _resolve(writer, batch))
        except TaskloomError:
            _resolve(writer, batch)
        except BaseException as bug:
            for _, future in batch:  # Whatever went wrong, no caller is left waiting.
                if not future.done():
                    future.set_exception(bug)
            raise

    def _commit_here(self, pending: "AnyAnswer") -> bool:
        """Commit on the loop's thread; return False if another thread is syncing."""
        try:
            pending.writer.commit(pending, wait=False)
        except WouldBlockError:
            return False
        self._policy.note_inline(pending.writer.last_sync_s)
        return True


class _Iteration:
    """One iteration of a loop. A closed loop drops it without ending it, and that shows here."""

    __slots__ = ("_ended", "_group")

    def __init__(self, group: GroupCommit) -> None:
        self._group = group
        self._ended = False

    def end(self) -> None:
        self._ended = True
        self._group.commit_waiting()

    def __del__(self) -> None:
        if not self._ended:
            self._group.abandon()


class _Done:
    """Awaited, it returns at once: cheaper than a future that is done."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


_DONE: Final = _Done()


def _commit_quietly(writer: TaskWriter, pending: "AnyAnswer") -> None:
    try:
        writer.commit(pending)
    except TaskloomError:
        return  # `_resolve` gives each caller the failure.


def _resolve(writer: TaskWriter, batch: "Batch", *, last_is_committed: bool = False) -> None:
    """Tell each caller what became of its own answer, after the sync that was to take it."""
    # Within an epoch lines become durable in order: with the last answer all are committed.
    all_committed = last_is_committed and batch[0][0].epoch == batch[-1][0].epoch
    for pending, future in batch:
        if future.done():
            continue  # Its caller was cancelled.
        if all_committed:
            future.set_result(None)
            continue
        try:
            committed = writer.is_committed(pending)
        except TaskloomError as failure:
            future.set_exception(failure)
            continue
        assert committed, "a sync takes everything that was staged before it"
        future.set_result(None)

"""Waiting for durability on an event loop, many callers to one sync.

A sync is started at the end of the loop's round, when everybody who was about to ask has asked.
It runs where it stands while the disk is quick: on a quick disk, handing it to another thread
and back costs as much as the sync itself. After a slow one the next few go to a thread.
"""

from asyncio import AbstractEventLoop, Future
from typing import TYPE_CHECKING, Any, Final

from taskloom.errors import TaskloomError
from taskloom.log import SyncPolicy
from taskloom.runtime.pending_answer import PendingAnswer
from taskloom.runtime.task_writer import TaskWriter

if TYPE_CHECKING:
    AnyTicket = PendingAnswer[Any]


_ALONE_ROUNDS: Final = 8
_LOOK_AGAIN: Final = 16
"""After so many rounds with one caller a sync need not wait for the round's end; one in so many
does, to see whether that is still true."""


class GroupCommit:
    """The callers of one loop that wait for one desk."""

    def __init__(self, loop: AbstractEventLoop, writer: TaskWriter) -> None:
        """Serve this loop."""
        self.loop = loop
        self.writer = writer
        self._waiting: list[tuple[AnyTicket, Future[None]]] = []
        self._policy = SyncPolicy()
        self._alone = 0
        """How many rounds in a row had one caller only."""

    def settle_alone(self, pending: "AnyTicket") -> bool:
        """Make a ticket durable at once if nobody else is likely to ask in this round.

        Whether that is so is found out by waiting for the round's end: always at first, and
        again every now and then, which also lets other tasks have the loop.
        """
        if self._alone < _ALONE_ROUNDS or self._waiting or not self._policy.is_inline:
            return False
        self._alone += 1
        if self._alone % _LOOK_AGAIN == 0:
            return False
        return self._settle_here(pending)

    def wait(self, pending: "AnyTicket") -> "Future[None]":
        """Return what to await before giving the ticket's answer away."""
        future: Future[None] = self.loop.create_future()
        self._waiting.append((pending, future))
        if len(self._waiting) == 1:
            self.loop.call_soon(_Round(self).run)
        return future

    def abandoned(self) -> None:
        """Make durable what waits, now: its loop was closed and will never do it."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            _settle(self.writer, waiting[-1][0])

    def run(self) -> None:
        """Make durable what waits, and tell everybody."""
        waiting, self._waiting = self._waiting, []
        self._alone = self._alone + 1 if len(waiting) == 1 else 0
        try:
            if self._policy.is_inline and self._settle_here(waiting[-1][0]):
                self._let_go(waiting)
                return
            self._policy.note_threaded()
            done = self.loop.run_in_executor(None, _settle, self.writer, waiting[-1][0])
            done.add_done_callback(lambda _: self._answer(waiting))
        except TaskloomError:
            self._answer(waiting)
        except BaseException as bug:
            for _, future in waiting:  # Whatever went wrong, nobody is left waiting.
                if not future.done():
                    future.set_exception(bug)
            raise

    def _settle_here(self, pending: "AnyTicket") -> bool:
        settled = self.writer.try_settle(pending)
        if settled:
            self._policy.note_inline(self.writer.last_sync_s)
        return settled

    def _let_go(self, waiting: "list[tuple[AnyTicket, Future[None]]]") -> None:
        """Tell everybody yes: a sync takes all that was staged before it."""
        epoch = waiting[-1][0].epoch
        if waiting[0][0].epoch != epoch:  # Something failed between the first and the last.
            self._answer(waiting)
            return
        for _, future in waiting:
            if not future.done():
                future.set_result(None)

    def _answer(self, waiting: "list[tuple[AnyTicket, Future[None]]]") -> None:
        """Tell each caller what became of its own change."""
        for pending, future in waiting:
            if future.done():
                continue  # The caller has left; the change is durable all the same.
            try:
                settled = self.writer.is_settled(pending)
            except TaskloomError as failure:
                future.set_exception(failure)
                continue
            assert settled, "a sync takes everything that was staged before it"
            future.set_result(None)


class _Round:
    """One round of a loop. A closed loop drops it without running it, and that is noticed."""

    __slots__ = ("_ran", "_syncs")

    def __init__(self, syncs: GroupCommit) -> None:
        self._syncs = syncs
        self._ran = False

    def run(self) -> None:
        self._ran = True
        self._syncs.run()

    def __del__(self) -> None:
        if not self._ran:
            self._syncs.abandoned()


def _settle(writer: TaskWriter, pending: "AnyTicket") -> None:
    try:
        writer.settle(pending)
    except TaskloomError:
        return  # Told to each caller by `is_settled`.

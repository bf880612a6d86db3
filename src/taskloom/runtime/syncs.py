"""Waiting for durability on an event loop, many callers to one sync.

A sync is started at the end of the loop's round, when everybody who was about to ask has asked.
It runs where it stands while the disk is quick: on a quick disk, handing it to another thread
and back costs as much as the sync itself. After a slow one the next go to a thread, until the
disk is quick again.
"""

from asyncio import AbstractEventLoop, Future
from typing import TYPE_CHECKING, Any

from taskloom.errors import TaskloomError
from taskloom.runtime.desk import QUICK_S, Desk, Ticket

if TYPE_CHECKING:
    AnyTicket = Ticket[Any]


class Syncs:
    """The callers of one loop that wait for one desk."""

    def __init__(self, loop: AbstractEventLoop, desk: Desk) -> None:
        """Serve this loop."""
        self._loop = loop
        self._desk = desk
        self._waiting: list[tuple[AnyTicket, Future[None]]] = []

    def wait(self, ticket: "AnyTicket") -> "Future[None]":
        """Return what to await before giving the ticket's answer away."""
        future: Future[None] = self._loop.create_future()
        self._waiting.append((ticket, future))
        if len(self._waiting) == 1:
            self._loop.call_soon(self._run)
        return future

    def _run(self) -> None:
        waiting, self._waiting = self._waiting, []
        last = waiting[-1][0]
        if self._desk.last_sync_s < QUICK_S:
            try:
                settled = self._desk.try_settle(last)
            except TaskloomError:
                settled = True  # Each of them is told below what became of its own.
            if settled:
                self._answer(waiting)
                return
        done = self._loop.run_in_executor(None, _settle, self._desk, last)
        done.add_done_callback(lambda _: self._answer(waiting))

    def _answer(self, waiting: "list[tuple[AnyTicket, Future[None]]]") -> None:
        for ticket, future in waiting:
            if future.done():
                continue  # The caller has left; the change is durable all the same.
            try:
                settled = self._desk.is_settled(ticket)
            except TaskloomError as failure:
                future.set_exception(failure)
                continue
            assert settled, "a sync takes everything that was staged before it"
            future.set_result(None)


def _settle(desk: Desk, ticket: "AnyTicket") -> None:
    try:
        desk.settle(ticket)
    except TaskloomError:
        return  # Told to each caller by `is_settled`.

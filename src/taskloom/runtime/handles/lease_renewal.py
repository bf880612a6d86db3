"""Renewing the leases of claims from a thread, so that no blocked event loop loses one.

One thread serves all claims of a board. It starts with the first claim and ends when it has had
nothing to do for a while.
"""

from collections.abc import Callable
from datetime import timedelta
from heapq import heapify, heappop, heappush
from threading import Condition, Thread
from time import monotonic
from typing import Final

from taskloom.board import Actor, RenewLease
from taskloom.errors import RefusedError, TaskloomError
from taskloom.runtime.handles.held_step import HeldStep, lease_lost
from taskloom.runtime.write_lock import reset_after_fork

_SHARE: Final = 1 / 3
"""A lease is renewed after this share of it."""
_RETRY_SHARE: Final = 1 / 12
"""A renewal that the disk refused is tried again after this share of the lease."""
_IDLE_S: Final = 5.0


class _Renewal:
    """The renewals of one claim."""

    __slots__ = ("due_s", "held", "is_over", "lost", "valid_until_s")

    def __init__(
        self, held: HeldStep, lease_s: float, lost: Callable[[RefusedError], None]
    ) -> None:
        self.held = held
        self.lost = lost
        self.due_s = held.claimed_at_s + lease_s * _SHARE
        self.valid_until_s = held.claimed_at_s + lease_s
        self.is_over = False

    def __lt__(self, other: "_Renewal") -> bool:
        return self.due_s < other.due_s


class LeaseRenewer:
    """Renews leases until they are reported or lost."""

    def __init__(self, send: Callable[[RenewLease, Actor], object], lease: timedelta) -> None:
        """Renew by calling `send`, which may block, on the renewing thread."""
        self._send = send
        self._lease_s = lease.total_seconds()
        self._changed = Condition()
        self._renewals: list[_Renewal] = []
        self._thread: Thread | None = None
        reset_after_fork(self)

    def after_fork(self) -> None:
        """Start anew in a child process: claims belong to the process that made them."""
        self._changed = Condition()
        self._renewals = []
        self._thread = None

    def start(self, held: HeldStep, lost: Callable[[RefusedError], None]) -> Callable[[], None]:
        """Renew a claim's lease until the returned function is called.

        If the lease is lost, `lost` is called with the error, on the renewing thread.
        """
        renewal = _Renewal(held, self._lease_s, lost)
        with self._changed:
            heappush(self._renewals, renewal)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="taskloom-leases", daemon=True)
                self._thread.start()
            else:
                self._changed.notify()

        def stop() -> None:
            with self._changed:
                renewal.is_over = True
                if renewal in self._renewals:
                    self._renewals.remove(renewal)
                    heapify(self._renewals)

        return stop

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._renewals and not self._changed.wait(_IDLE_S) and not self._renewals:
                    self._thread = None
                    return
                if not self._renewals:
                    continue
                left_s = self._renewals[0].due_s - monotonic()
                if left_s > 0:
                    self._changed.wait(left_s)
                    continue
                renewal = heappop(self._renewals)
            if self._renew(renewal):
                with self._changed:
                    if not renewal.is_over:
                        heappush(self._renewals, renewal)

    def _renew(self, renewal: _Renewal) -> bool:
        """Renew one lease; return whether there is more to renew."""
        held, now_s = renewal.held, monotonic()
        command = RenewLease(task_id=held.task_id, step_id=held.step.step_id, fence=held.fence)
        try:
            self._send(command, held.actor)
        except RefusedError as refused:
            return self._end(renewal, lease_lost(held, refused.message))
        except TaskloomError as failure:
            # A full disk or a slow lock may pass; the lease still holds until its end.
            if now_s >= renewal.valid_until_s:
                return self._end(renewal, lease_lost(held, failure.message))
            renewal.due_s = min(now_s + self._lease_s * _RETRY_SHARE, renewal.valid_until_s)
        else:
            renewal.due_s = now_s + self._lease_s * _SHARE
            renewal.valid_until_s = now_s + self._lease_s
        return True

    def _end(self, renewal: _Renewal, lost: RefusedError) -> bool:
        with self._changed:
            is_wanted, renewal.is_over = not renewal.is_over, True
        if is_wanted:
            renewal.lost(lost)
        return False

"""A step that a worker holds: its lease renewed while the worker works, its end always reported."""

from asyncio import CancelledError, current_task, get_running_loop
from asyncio import Task as AsyncioTask
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import anyio

from taskloom.board import Receipt, StepStatus
from taskloom.board.validation import JsonData
from taskloom.errors import RefusedError
from taskloom.runtime.handles.access import BoardAccess
from taskloom.runtime.handles.claimed_step import ClaimedStep
from taskloom.runtime.handles.claims import end_unreported, report
from taskloom.runtime.handles.held_step import HeldStep


class Claim(ClaimedStep):
    """A claimed step. `async with claim` renews its lease while the block runs.

    The block ends in a report: `complete`, `fail` or `block`. If it raises, the step fails with
    the exception as the reason; if it is cancelled, as worker_cancelled; if it ends without a
    report, as worker_finished_without_terminal_step_status. If the lease is lost, the block is
    cancelled and `RefusedError` with the code `lease_lost` is raised from it.
    """

    def __init__(self, board: BoardAccess, held: HeldStep) -> None:
        """Report through this board."""
        super().__init__(held)
        self._board = board
        self._body: AsyncioTask[object] | None = None
        self._cancelling = 0
        self._is_cancelled = False
        self._stop_renewal: Callable[[], None] | None = None

    async def progress(self, text: str) -> Receipt:
        """Note how far the work has come; the step is running from then on."""
        return await self._report(StepStatus.RUNNING, text=text)

    async def complete(
        self, text: str = "", *, data: JsonData = None, artifacts: Iterable[str] = ()
    ) -> Receipt:
        """Complete the step with a result: text for readers, JSON data for programs."""
        return await self._report(StepStatus.COMPLETED, text=text, data=data, artifacts=artifacts)

    async def fail(self, reason: str) -> Receipt:
        """Give the step up. The plan's owner may reopen it."""
        return await self._report(StepStatus.FAILED, reason=reason)

    async def block(self, reason: str) -> Receipt:
        """Say what keeps the step from being done. The plan's owner may reopen it."""
        return await self._report(StepStatus.BLOCKED, reason=reason)

    async def _report(
        self,
        status: StepStatus,
        *,
        text: str | None = None,
        reason: str | None = None,
        data: JsonData = None,
        artifacts: Iterable[str] = (),
    ) -> Receipt:
        with self._reporting(status):
            return await report(
                self._board,
                self._held,
                status,
                text=text,
                reason=reason,
                data=data,
                artifacts=artifacts,
            )

    async def __aenter__(self) -> Self:
        """Renew the lease from now on."""
        self._require_outside(self._stop_renewal)
        loop, body = get_running_loop(), current_task()
        assert body is not None
        self._body, self._cancelling = body, body.cancelling()

        def lost(error: RefusedError) -> None:
            try:
                loop.call_soon_threadsafe(self._lose, error)
            except RuntimeError:
                return  # The loop is closed, and the block with it.

        self._stop_renewal = self._board.lease_renewer.start(self._held, lost)
        return self

    def _lose(self, error: RefusedError) -> None:
        if self._body is not None and not self._is_reported:
            self._lost = error
            self._is_cancelled = self._body.cancel("the lease was lost")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Fail the step if it was not reported."""
        body, self._body = self._body, None
        assert body is not None
        assert self._stop_renewal is not None
        self._stop_renewal()
        self._stop_renewal = None
        if self._is_cancelled:
            is_ours_alone = body.uncancel() <= self._cancelling
            if error is None or (is_ours_alone and isinstance(error, CancelledError)):
                assert self._lost is not None
                raise self._lost from None
            return
        if self._lost is not None:
            if error is None:
                raise self._lost
        elif not self._is_reported:
            with anyio.CancelScope(shield=True):
                await end_unreported(self._board, self._held, error)

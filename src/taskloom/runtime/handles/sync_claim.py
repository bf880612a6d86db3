"""A step that a worker without an event loop holds."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from taskloom.board import Receipt, StepStatus
from taskloom.board.validation import JsonData
from taskloom.errors import RefusedError
from taskloom.runtime.handles.access import BoardAccess, run_blocking
from taskloom.runtime.handles.claimed_step import ClaimedStep
from taskloom.runtime.handles.claims import end_unreported, report
from taskloom.runtime.handles.held_step import HeldStep


class SyncClaim(ClaimedStep):
    """A claimed step. `with claim` renews its lease while the block runs.

    The block ends in a report: `complete`, `fail` or `block`. If it raises, the step fails with
    the exception as the reason; if it is interrupted, as worker_cancelled; if it ends without a
    report, as worker_finished_without_terminal_step_status. If the lease is lost, the next call
    or the end of the block raises `RefusedError` with the code `lease_lost`.
    """

    def __init__(self, board: BoardAccess, held: HeldStep) -> None:
        """Report through this board."""
        super().__init__(held)
        self._board = board
        self._stop_renewal: Callable[[], None] | None = None

    def progress(self, text: str) -> Receipt:
        """Note how far the work has come; the step is running from then on."""
        return self._report(StepStatus.RUNNING, text=text)

    def complete(
        self, text: str = "", *, data: JsonData = None, artifacts: Iterable[str] = ()
    ) -> Receipt:
        """Complete the step with a result: text for readers, JSON data for programs."""
        return self._report(StepStatus.COMPLETED, text=text, data=data, artifacts=artifacts)

    def fail(self, reason: str) -> Receipt:
        """Give the step up. The plan's owner may reopen it."""
        return self._report(StepStatus.FAILED, reason=reason)

    def block(self, reason: str) -> Receipt:
        """Say what keeps the step from being done. The plan's owner may reopen it."""
        return self._report(StepStatus.BLOCKED, reason=reason)

    def _report(
        self,
        status: StepStatus,
        *,
        text: str | None = None,
        reason: str | None = None,
        data: JsonData = None,
        artifacts: Iterable[str] = (),
    ) -> Receipt:
        with self._reporting(status):
            return run_blocking(
                report(
                    self._board,
                    self._held,
                    status,
                    text=text,
                    reason=reason,
                    data=data,
                    artifacts=artifacts,
                )
            )

    def __enter__(self) -> Self:
        """Renew the lease from now on."""
        self._require_outside(self._stop_renewal)

        def lost(error: RefusedError) -> None:
            if not self._is_reported:
                self._lost = error

        self._stop_renewal = self._board.lease_renewer.start(self._held, lost)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Fail the step if it was not reported."""
        assert self._stop_renewal is not None
        self._stop_renewal()
        self._stop_renewal = None
        if self._is_reported:
            return
        if self._lost is None:
            run_blocking(end_unreported(self._board, self._held, error))
        elif error is None:
            raise self._lost

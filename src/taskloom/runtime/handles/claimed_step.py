"""What asynchronous and blocking claims share: the step, its inputs, and whether it was lost."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from taskloom.board import StepStatus, StepView
from taskloom.errors import Code, RefusedError
from taskloom.ids import RunId, Seq, StepId
from taskloom.runtime.handles.held_step import HeldStep, StepResult

_LOST: Final = frozenset({Code.LEASE_LOST, Code.TASK_TERMINAL})


class ClaimedStep:
    """What a claim knows: the step as it was claimed, and the results it builds on."""

    def __init__(self, held: HeldStep) -> None:
        """Show a step that was claimed."""
        self._held = held
        self._is_reported = False
        self._lost: RefusedError | None = None

    @property
    def step(self) -> StepView:
        """The step as it was when it was claimed."""
        return self._held.step

    @property
    def inputs(self) -> Mapping[StepId, StepResult]:
        """The results of the steps it depends on, by step id."""
        return self._held.inputs

    @property
    def attempt(self) -> int:
        """How many times the step was claimed, this time included."""
        return self._held.step.attempts

    @property
    def run_id(self) -> RunId:
        """The run that this claim is."""
        return self._held.actor.run_id

    @property
    def fence(self) -> Seq:
        """The line of the claim in the log, which every write of this claim carries."""
        return self._held.fence

    def __repr__(self) -> str:
        held = self._held
        return f"<{type(self).__name__} {held.task_id}/{held.step.step_id} by {self.run_id}>"

    @contextmanager
    def _reporting(self, status: StepStatus) -> Generator[None]:
        """Note what comes of a report that is sent inside."""
        if self._lost is not None:
            raise self._lost
        # Noted before it is sent: a renewal that comes after it is refused, and no loss.
        was, self._is_reported = self._is_reported, status is not StepStatus.RUNNING
        try:
            yield
        except BaseException as error:
            self._is_reported = was
            if isinstance(error, RefusedError) and error.code in _LOST:
                self._lost = error
            raise

    def _require_outside(self, stop_renewal: object) -> None:
        if stop_renewal is not None:
            raise RefusedError(
                Code.VALIDATION_ERROR, f"{self!r} is in a `with` block already; leave that first."
            )

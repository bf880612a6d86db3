"""Which steps of a Task to show."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from taskloom.board import StepStatus, StepView
from taskloom.ids import PoolId
from taskloom.runtime import Inspection


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFilter:
    """Selects steps by status and pool; what is left out does not limit."""

    statuses: Collection[StepStatus] = ()
    pool: PoolId | None = None
    show_all: bool = False
    """Whether to show every selected step, however many there are."""

    @property
    def is_active(self) -> bool:
        """Whether it leaves steps out, so that a tree would have gaps."""
        return bool(self.statuses) or self.pool is not None

    def matches(self, step: StepView) -> bool:
        """Return whether a step is selected."""
        return (not self.statuses or step.status in self.statuses) and (
            self.pool is None or step.worker_pool_id == self.pool
        )

    def apply(self, inspection: Inspection) -> Inspection:
        """Return the inspection with the selected steps alone."""
        if not self.is_active:
            return inspection
        steps = tuple(step for step in inspection.view.steps if self.matches(step))
        return replace(inspection, view=replace(inspection.view, steps=steps))

"""Which steps of a Task somebody wants to see."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from taskloom.board import StepStatus, StepView
from taskloom.ids import PoolId
from taskloom.runtime import Inspection


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is left out does not limit."""

    statuses: Collection[StepStatus] = ()
    pool: PoolId | None = None
    everything: bool = False
    """However many they are."""

    def takes(self, step: StepView) -> bool:
        """Tell whether the step is one of them."""
        return (not self.statuses or step.status in self.statuses) and (
            self.pool is None or step.worker_pool_id == self.pool
        )

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves any step out, so that a tree would have holes."""
        return bool(self.statuses) or self.pool is not None

    def narrow(self, seen: Inspection) -> Inspection:
        """Leave out the steps that nobody asked for."""
        if not self.is_narrow:
            return seen
        steps = tuple(step for step in seen.view.steps if self.takes(step))
        return replace(seen, view=replace(seen.view, steps=steps))

"""An index of a Task's steps by pool and status, and of its leases by their end.

`evolve` updates it with every change, so that no query costs more because the DAG is big.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush, heapreplace, merge

from taskloom.board.state.sorted_ints import SortedInts
from taskloom.board.state.step import Step
from taskloom.board.status import HELD, StepStatus
from taskloom.ids import PoolId, Seq, StepId


class Index:
    """Steps by pool and status, and the ends of leases."""

    __slots__ = ("_by_order", "_leases", "_sets", "counts")

    def __init__(self, steps: Iterable[Step]) -> None:
        """Index the steps as they are."""
        self.counts = dict.fromkeys(StepStatus, 0)
        """The number of steps by status."""
        self._by_order: dict[int, StepId] = {}
        self._sets: dict[PoolId, dict[StepStatus, SortedInts]] = {}
        self._leases: list[tuple[datetime, Seq, StepId]] = []
        gathered: dict[tuple[PoolId, StepStatus], list[int]] = {}
        for step in steps:
            self._by_order[step.order] = step.step_id
            gathered.setdefault((step.worker_pool_id, step.status), []).append(step.order)
            if step.lease_expires_at is not None:
                self._leases.append((step.lease_expires_at, step.claim_seq, step.step_id))
        for (pool, status), orders in gathered.items():
            self._sets.setdefault(pool, {})[status] = SortedInts(orders)
            self.counts[status] += len(orders)
        heapify(self._leases)

    def add(self, step: Step) -> None:
        """Add a new step."""
        self._by_order[step.order] = step.step_id
        self.counts[step.status] += 1
        self._set(step.worker_pool_id, step.status).add(step.order)

    def drop(self, step: Step) -> None:
        """Remove a deleted step."""
        del self._by_order[step.order]
        self.counts[step.status] -= 1
        self._set(step.worker_pool_id, step.status).remove(step.order)

    def move(self, step: Step, status: StepStatus) -> None:
        """Move a step to another status."""
        self.counts[step.status] -= 1
        self.counts[status] += 1
        sets = self._sets[step.worker_pool_id]
        sets[step.status].remove(step.order)
        there = sets.get(status)
        if there is None:
            there = sets[status] = SortedInts()
        there.add(step.order)

    def repool(self, step: Step, pool: PoolId) -> None:
        """Move a step to another pool."""
        self._set(step.worker_pool_id, step.status).remove(step.order)
        self._set(pool, step.status).add(step.order)

    def lease(self, step: Step, end: datetime) -> None:
        """Add the end of a lease, unless an earlier end of it is there already.

        However often a worker renews its lease, one entry stays: when the entry is first in the
        heap it is compared with the step, and replaced by the later end.
        """
        heappush(self._leases, (end, step.claim_seq, step.step_id))

    def next_lease_end(self, steps: Mapping[StepId, Step]) -> datetime | None:
        """Return the earliest end of the leases that are held."""
        leases = self._leases
        while leases:
            noted, claim_seq, step_id = leases[0]
            end = _lease_end(steps.get(step_id), claim_seq)
            if end == noted:
                return end
            if end is None or end < noted:
                heappop(leases)
            else:
                heapreplace(leases, (end, claim_seq, step_id))
        return None

    def expired(self, steps: Mapping[StepId, Step], now: datetime) -> list[Step]:
        """Return the held steps whose lease has ended, the earliest first. Changes no lease."""
        found: list[Step] = []
        kept: list[tuple[datetime, Seq, StepId]] = []
        leases = self._leases
        while leases and leases[0][0] <= now:
            entry = heappop(leases)
            if kept and kept[-1] == entry:
                continue  # The same end was added twice.
            noted, claim_seq, step_id = entry
            end = _lease_end(steps.get(step_id), claim_seq)
            if end == noted:
                found.append(steps[step_id])
                kept.append(entry)
            elif end is not None and end > noted:
                heappush(leases, (end, claim_seq, step_id))
        for entry in kept:
            heappush(leases, entry)
        return found

    def walk(
        self,
        pools: Collection[PoolId] | None,
        statuses: Collection[StepStatus],
        keep: Callable[[StepId], bool],
    ) -> Iterator[StepId]:
        """Yield the steps of these pools (None is all) and statuses in order of creation."""
        runs = [
            orders
            for pool, sets in self._sets.items()
            if pools is None or pool in pools
            for status, orders in sets.items()
            if status in statuses and orders
        ]
        ordered = iter(runs[0]) if len(runs) == 1 else merge(*runs)
        by_order = self._by_order
        return (by_order[order] for order in ordered if keep(by_order[order]))

    def facts(self) -> dict[str, object]:
        """Return the content of the index, so that tests can compare two of them."""
        return {
            f"{pool}/{status}": [self._by_order[order] for order in orders]
            for pool, sets in sorted(self._sets.items())
            for status, orders in sorted(sets.items())
            if orders
        }

    def _set(self, pool: PoolId, status: StepStatus) -> SortedInts:
        sets = self._sets.setdefault(pool, {})
        there = sets.get(status)
        if there is None:
            there = sets[status] = SortedInts()
        return there


def _lease_end(step: Step | None, claim_seq: Seq) -> datetime | None:
    """Return when the lease of a claim ends; None if the claim no longer holds its step."""
    if step is None or step.claim_seq != claim_seq or step.status not in HELD:
        return None
    return step.lease_expires_at

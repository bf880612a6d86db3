"""The workers of a session in configured order, and which of them are idle."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from taskloom.errors import Code, RefusedError
from taskloom.ids import AgentId, PoolId
from taskloom.orchestrator.pool import Pool, Worker, check_pools, named_workers
from taskloom.orchestrator.worker_run import WorkerRun


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """A worker as interfaces see it, at one moment."""

    name: AgentId
    """The worker's id."""
    pool_id: PoolId
    description: str
    tags: tuple[str, ...]
    status: str
    """`idle`, `busy`, or `unavailable`: its last run ended on the board and does not stop."""


class WorkerSlot:
    """One worker and the run that occupies it. Its worker id is its agent id on the board."""

    __slots__ = ("agent_id", "pool_id", "worker", "worker_run")

    def __init__(self, agent_id: AgentId, pool_id: PoolId, worker: Worker) -> None:
        """Start idle."""
        self.agent_id = agent_id
        self.pool_id = pool_id
        self.worker = worker
        self.worker_run: WorkerRun | None = None

    @property
    def status(self) -> str:
        """`idle`, `busy`, or `unavailable`; see `WorkerInfo`."""
        if self.worker_run is None:
            return "idle"
        return "unavailable" if self.worker_run.is_ended else "busy"

    def free(self, run: WorkerRun) -> None:
        """Make the worker idle, if this run occupies it."""
        if self.worker_run is run:
            self.worker_run = None

    @property
    def tools(self) -> frozenset[str]:
        """The working tools of its runs, unless a dispatch narrows them."""
        tools = frozenset(self.worker.executor.tools)
        if self.worker.definition.tools is not None:
            tools &= frozenset(self.worker.definition.tools)
        if self.worker.allowed_tools is not None:
            tools &= frozenset(self.worker.allowed_tools)
        return tools

    @property
    def info(self) -> WorkerInfo:
        """The worker as interfaces see it now."""
        definition = self.worker.definition
        return WorkerInfo(
            name=self.agent_id,
            pool_id=self.pool_id,
            description=definition.description,
            tags=definition.tags,
            status=self.status,
        )

    def describe(self) -> dict[str, Any]:
        """Return the worker as `list_workers` shows it."""
        definition, worker_run = self.worker.definition, self.worker_run
        shown: dict[str, Any] = {
            "worker_agent_id": self.agent_id,
            "name": definition.name,
            "description": definition.description,
            "worker_pool_id": self.pool_id,
            "status": self.status,
            "tags": list(definition.tags),
            "tools": sorted(self.tools),
        }
        if worker_run is not None:
            shown["current_run_id"] = worker_run.run_id
            shown["current_step_id"] = worker_run.step_id
        return shown


class WorkerSlots:
    """All workers of a session."""

    def __init__(self, pools: Sequence[Pool], default_pool: PoolId) -> None:
        """Check the pools and make a slot for each worker.

        Raises:
            ConfigError: a pool or a worker cannot be used.
        """
        check_pools(pools)
        self._default = default_pool
        self._pools = {pool.pool_id: pool for pool in pools}
        self._slots = [
            WorkerSlot(worker_id, pool.pool_id, worker)
            for pool in pools
            for worker_id, worker in named_workers(pool)
        ]

    def __iter__(self) -> Iterator[WorkerSlot]:
        """Iterate in configured order."""
        return iter(self._slots)

    @property
    def pool_ids(self) -> list[PoolId]:
        """The ids of the pools."""
        return list(self._pools)

    def of_pool(self, pool_id: PoolId) -> list[WorkerSlot]:
        """Return the slots of one pool.

        Raises:
            RefusedError: there is no such pool.
        """
        if pool_id not in self._pools:
            known = ", ".join(self._pools)
            raise RefusedError(
                Code.WORKER_NOT_AVAILABLE,
                f"There is no worker pool {pool_id!r}. Pools: {known}.",
                {"worker_pool_id": pool_id, "worker_pool_ids": list(self._pools)},
            )
        return [slot for slot in self._slots if slot.pool_id == pool_id]

    def choose(self, pool_id: PoolId | None, agent_id: AgentId | None) -> tuple[WorkerSlot, str]:
        """Return the named worker, or the first idle one of the pool, and the reason for it.

        Raises:
            RefusedError: there is no such worker, or it is busy, or all are.
        """
        if agent_id is not None:
            return self._named(pool_id, agent_id), "specified_worker"
        pool_id = pool_id or self._default
        slots = self.of_pool(pool_id)
        for slot in slots:
            if slot.status == "idle":
                return slot, "first_idle"
        raise RefusedError(
            Code.WORKER_POOL_BUSY,
            f"All {len(slots)} workers of pool {pool_id!r} are busy. Wait for one with "
            "wait_workers, or cancel one with cancel_worker.",
            {"worker_pool_id": pool_id, "busy_run_ids": [_run_id(slot) for slot in slots]},
        )

    def _named(self, pool_id: PoolId | None, agent_id: AgentId) -> WorkerSlot:
        slots = self._slots if pool_id is None else self.of_pool(pool_id)
        for slot in slots:
            if slot.agent_id != agent_id:
                continue
            if slot.status != "idle":
                raise RefusedError(
                    Code.WORKER_BUSY,
                    f"Worker {agent_id!r} is {slot.status}. Wait for it with wait_workers, or "
                    "leave worker_agent_id out to take any idle one.",
                    {"worker_agent_id": agent_id, "current_run_id": _run_id(slot)},
                )
            return slot
        where = f" in pool {pool_id!r}" if pool_id is not None else ""
        raise RefusedError(
            Code.WORKER_NOT_AVAILABLE,
            f"There is no worker {agent_id!r}{where}. list_workers shows the workers.",
            {"worker_agent_id": agent_id, "worker_pool_id": pool_id},
        )


def _run_id(slot: WorkerSlot) -> str | None:
    return slot.worker_run.run_id if slot.worker_run is not None else None

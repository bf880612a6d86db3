"""Worker pools as they are configured, checked before anything starts."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from taskloom.errors import ConfigError
from taskloom.ids import ID_CHARS_MAX, PoolId, is_safe_id
from taskloom.orchestrator.agent_definition import AgentDefinition
from taskloom.orchestrator.executors.executor import Executor

_ID: Final = f"1 to {ID_CHARS_MAX} characters of a-z, 0-9, - and _"


class Worker(Struct, frozen=True, kw_only=True):
    """One worker: it does one step at a time, and keeps its name over all of them."""

    definition: AgentDefinition
    executor: Executor
    worker_id: str = ""
    """Empty: made up from pool, definition and place, and the same each time."""
    allowed_tools: tuple[str, ...] | None = None
    """Working tools it may use; None is all that its definition has."""


class Pool(Struct, frozen=True, kw_only=True):
    """Workers that may take the same steps."""

    pool_id: PoolId
    workers: tuple[Worker, ...]


def check_pools(pools: Sequence[Pool]) -> None:
    """See that there is somebody to work, and that every name means one of them.

    Raises:
        ConfigError: there is not, or it does not.
    """
    if not any(pool.workers for pool in pools):
        raise ConfigError(
            "Orchestrator mode needs a worker pool with at least one worker. Add [[pools]] with "
            "a worker to taskloom.toml, or give `pools`."
        )
    seen: dict[str, str] = {}
    for place, pool in enumerate(pools):
        where = f"pools[{place}]"
        if not is_safe_id(pool.pool_id):
            raise ConfigError(f"{where}.pool_id must be {_ID}; got {pool.pool_id!r}.")
        if any(pool.pool_id == other.pool_id for other in pools[:place]):
            raise ConfigError(f"{where}: there are two pools {pool.pool_id!r}; name one otherwise.")
        for worker_id, worker in named_workers(pool):
            if not is_safe_id(worker_id):
                raise ConfigError(f"{where}: a worker_id must be {_ID}; got {worker_id!r}.")
            if worker_id in seen:
                raise ConfigError(
                    f"{where}: worker {worker_id!r} is in pool {seen[worker_id]!r} already; "
                    "every worker needs a name of its own."
                )
            seen[worker_id] = pool.pool_id
            _check_tools(where, worker_id, worker)


def named_workers(pool: Pool) -> list[tuple[str, Worker]]:
    """Return the workers of a pool with their ids, given or made up."""
    return [
        (worker.worker_id or f"{pool.pool_id}_{worker.definition.id}_{place}", worker)
        for place, worker in enumerate(pool.workers)
    ]


def _check_tools(where: str, worker_id: str, worker: Worker) -> None:
    there = set(worker.executor.tools)
    for name in (*(worker.allowed_tools or ()), *(worker.definition.tools or ())):
        if name not in there:
            known = ", ".join(sorted(there)) or "none"
            raise ConfigError(
                f"{where}: worker {worker_id!r} names the tool {name!r}, which there is not. "
                f"Its working tools: {known}."
            )

"""Worker pools and the settings of orchestrator mode, checked before any run starts."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from taskloom.errors import ConfigError
from taskloom.ids import ID_CHARS_MAX, PoolId, is_safe_id
from taskloom.orchestrator.executors.executor import AgentDefinition, Executor

_ID: Final = f"1 to {ID_CHARS_MAX} characters of a-z, 0-9, - and _"


class Settings(Struct, frozen=True, kw_only=True):
    """Time limits of runs, and how much of the board a prompt and a tool result show."""

    default_child_timeout_ms: int = 600_000
    child_cancel_timeout_ms: int = 30_000
    task_board_token_budget: int = 1_200
    task_recent_changes_limit: int = 20
    task_recent_changes_window_minutes: int = 30
    result_bytes_max: int = 16_000
    """The longest result of a Task tool; a big Task comes as a summary."""


DEFAULT_SETTINGS: Final = Settings()
"""The settings of an Orchestrator that is given none."""


class Worker(Struct, frozen=True, kw_only=True):
    """One worker: it does one step at a time and keeps its id over all its runs."""

    definition: AgentDefinition
    executor: Executor
    worker_id: str = ""
    """Empty: made from pool, definition and position, and the same each time."""
    allowed_tools: tuple[str, ...] | None = None
    """Working tools it may use; None for all of its definition."""


class Pool(Struct, frozen=True, kw_only=True):
    """Workers that may take the same steps."""

    pool_id: PoolId
    workers: tuple[Worker, ...]


def merge_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Return the pools with those of the same id made one."""
    workers: dict[PoolId, tuple[Worker, ...]] = {}
    for pool in pools:
        workers[pool.pool_id] = (*workers.get(pool.pool_id, ()), *pool.workers)
    return [Pool(pool_id=pool_id, workers=each) for pool_id, each in workers.items()]


def check_pools(pools: Sequence[Pool]) -> None:
    """Check that there is a worker, and that every id is valid and unique.

    Raises:
        ConfigError: the pools cannot be used; the message says what to change.
    """
    if not any(pool.workers for pool in pools):
        raise ConfigError(
            "Orchestrator mode needs a worker pool with at least one worker. Add [[pools]] with "
            "a worker to taskloom.toml, or give `workers`."
        )
    seen: dict[str, str] = {}
    for index, pool in enumerate(pools):
        where = f"pools[{index}]"
        if not is_safe_id(pool.pool_id):
            raise ConfigError(f"{where}.pool_id must be {_ID}; got {pool.pool_id!r}.")
        if any(pool.pool_id == other.pool_id for other in pools[:index]):
            raise ConfigError(f"{where}: there are two pools {pool.pool_id!r}; rename one.")
        for worker_id, worker in named_workers(pool):
            if not is_safe_id(worker_id):
                raise ConfigError(f"{where}: a worker_id must be {_ID}; got {worker_id!r}.")
            if worker_id in seen:
                raise ConfigError(
                    f"{where}: worker {worker_id!r} is in pool {seen[worker_id]!r} already; "
                    "give every worker a unique id."
                )
            seen[worker_id] = pool.pool_id
            _check_tools(where, worker_id, worker)


def named_workers(pool: Pool) -> list[tuple[str, Worker]]:
    """Return the workers of a pool with their ids."""
    return [
        (worker.worker_id or f"{pool.pool_id}_{worker.definition.id}_{index}", worker)
        for index, worker in enumerate(pool.workers)
    ]


def _check_tools(where: str, worker_id: str, worker: Worker) -> None:
    available = set(worker.executor.tools)
    for name in (*(worker.allowed_tools or ()), *(worker.definition.tools or ())):
        if name not in available:
            known = ", ".join(sorted(available)) or "none"
            raise ConfigError(
                f"{where}: worker {worker_id!r} has no tool {name!r}. Its working tools: {known}."
            )

"""From configuration and definitions to pools of workers."""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from taskloom.config import (
    FILE_NAME,
    AcpExecutorConfig,
    CallableConfig,
    Config,
    ExecutorConfig,
    PoolConfig,
    ProcessConfig,
    WorkerConfig,
    find_definition,
    load_definitions,
    suggest,
)
from taskloom.errors import ConfigError
from taskloom.orchestrator import (
    AgentDefinition,
    Executor,
    FunctionExecutor,
    Pool,
    ProgramExecutor,
    Worker,
    check_pools,
)

MakeAgentExecutor: TypeAlias = Callable[[AgentDefinition], Executor]
"""Makes the executor of a worker that is a chat model."""
MakeAcpExecutor: TypeAlias = Callable[[AcpExecutorConfig, Path], Executor]
"""Makes the executor of a worker that is another agent, in this project."""


def build_pools(
    config: Config,
    project: Path,
    *,
    make_agent_executor: MakeAgentExecutor,
    make_acp_executor: MakeAcpExecutor | None = None,
    definitions: Mapping[str, AgentDefinition] | None = None,
) -> tuple[Pool, ...]:
    """Return the configured pools, each worker with its executor.

    Raises:
        ConfigError: there is none, or one names an unknown definition, tool or executor.
    """
    found = load_definitions(project, config) if definitions is None else definitions
    makers = _Makers(config, project, make_agent_executor, make_acp_executor)
    pools = tuple(
        Pool(pool_id=pool.pool_id, workers=tuple(_workers(pool, f"pools[{index}]", found, makers)))
        for index, pool in enumerate(config.pools)
    )
    check_pools(pools)
    return pools


class _Makers:
    """Makes executors, one for all workers of a kind."""

    def __init__(
        self,
        config: Config,
        project: Path,
        make_agent: MakeAgentExecutor,
        make_acp: MakeAcpExecutor | None,
    ) -> None:
        self._config = config
        self._project = project
        self._make_agent = make_agent
        self._make_acp = make_acp
        self._agents: dict[str, Executor] = {}
        self._named: dict[str, Executor] = {}

    def of(self, definition: AgentDefinition) -> Executor:
        """Return the executor of this kind of worker."""
        if definition.executor is not None:
            return self.named(str(definition.executor.get("name", "")), definition.source)
        if definition.id not in self._agents:
            self._agents[definition.id] = self._make_agent(definition)
        return self._agents[definition.id]

    def named(self, name: str, where: str) -> Executor:
        """Return the executor configured under this name."""
        if name not in self._config.executors:
            hint = suggest(name, self._config.executors)
            raise ConfigError(
                f"{where}: the executor {name!r} is not under [executors] in {FILE_NAME}. {hint}"
            )
        if name not in self._named:
            self._named[name] = self._make(name, self._config.executors[name])
        return self._named[name]

    def implied(self, name: str) -> AgentDefinition:
        """Return the definition of a worker that is only an executor."""
        executor = self._config.executors[name]
        return AgentDefinition(
            id=name,
            name=name,
            description=executor.description or f"Executes steps with {name}.",
            executor={"name": name},
            source=FILE_NAME,
        )

    def _make(self, name: str, executor: ExecutorConfig) -> Executor:
        match executor:
            case ProcessConfig():
                cwd = self._project / executor.cwd
                return ProgramExecutor(executor.command, cwd=cwd, env=executor.env)
            case CallableConfig():
                return FunctionExecutor(load_target(executor.target, self._project))
            case AcpExecutorConfig():
                if self._make_acp is None:
                    raise ConfigError(
                        f"{FILE_NAME}: executors.{name} is of type acp, which is not supported "
                        "here. Use type process or callable."
                    )
                return self._make_acp(executor, self._project)


def _workers(
    pool: PoolConfig, where: str, definitions: Mapping[str, AgentDefinition], makers: _Makers
) -> Iterator[Worker]:
    for index, worker in enumerate(pool.workers):
        key = f"{where}.workers[{index}]"
        if worker.executor:
            executor = makers.named(worker.executor, key)
            definition = makers.implied(worker.executor)
        else:
            definition = find_definition(definitions, worker.agent, key)
            executor = makers.of(definition)
        for worker_id in _ids(worker):
            yield Worker(
                definition=definition,
                executor=executor,
                worker_id=worker_id,
                allowed_tools=worker.allowed_tools,
            )


def _ids(worker: WorkerConfig) -> list[str]:
    """Return the ids of a worker and its copies; empty ones are derived from their position."""
    if worker.count == 1 or not worker.worker_id:
        return [worker.worker_id] * worker.count
    return [f"{worker.worker_id}_{number}" for number in range(worker.count)]


def load_target(target: str, project: Path) -> Callable[..., object]:
    """Return the function named `package.module:function`; modules of the project are found too.

    Raises:
        ConfigError: it cannot be imported.
    """
    module, _, path = target.partition(":")
    if str(project.absolute()) not in sys.path:
        sys.path.append(str(project.absolute()))
    try:
        found: object = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{FILE_NAME}: the target {target!r} of an executor cannot be loaded: "
            f"{type(error).__name__}: {error}. Modules are searched on Python's path and in "
            f"{project}.",
            target=target,
        ) from error
    if not callable(found):
        raise ConfigError(f"{FILE_NAME}: the target {target!r} of an executor is not a function.")
    return found

"""The parts that hosts and doors of one project share: its tools' reduction, its workers."""

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from taskloom.agent import ChatModel, Retry
from taskloom.agent.workspace import PermissionRequest, Permit, Workspace
from taskloom.app.models import chat_model
from taskloom.app.pools import build_pools
from taskloom.config import AcpExecutorConfig, Config
from taskloom.errors import ConfigError
from taskloom.files import LocalFiles
from taskloom.middleware import ToolReduction
from taskloom.orchestrator import AgentDefinition, AgentExecutor, Executor, Pool
from taskloom.orchestrator.executors.agent import MakeTools

RETRY: Final = Retry(max_retries=3)
"""A model that is busy for a moment must not end hours of work."""

_ACP_EXECUTOR: Final = "taskloom.orchestrator.executors.acp"
_CONTEXT_TOKENS: Final = 100_000
"""Above this, old tool results are kept in files; today's models have room for more."""

PermitOf: TypeAlias = Callable[[str], Permit]
"""The permit of the agent of this name."""


class Project:
    """One project with its configuration."""

    def __init__(
        self,
        config: Config,
        project: Path,
        environ: Mapping[str, str],
        *,
        saved: str,
        tokens: int = _CONTEXT_TOKENS,
    ) -> None:
        """Keep what everything here is made from.

        `saved` is where long tool results go, `tokens` how much context a run may fill.
        """
        self.reduction = ToolReduction(
            LocalFiles(project),
            root_dir=saved,
            trust_own_read_tool=True,  # The workspace's read_file reaches what is saved there.
            max_tokens_for_clear=tokens,
            language=config.run.language,
        )
        self._config = config
        self._project = project
        self._environ = environ

    def workspace(self, permit_of: PermitOf, who: str) -> Workspace:
        """Return the project as one agent may use it."""
        permit = permit_of(who)
        return Workspace(self._project, permit=permit, language=self._config.run.language)

    def pools(
        self,
        definitions: Mapping[str, AgentDefinition],
        model: ChatModel,
        make_tools: MakeTools,
        permit_of: PermitOf,
    ) -> tuple[Pool, ...]:
        """Return the workers that are configured.

        Raises:
            ConfigError: one of them cannot be.
        """
        return build_pools(
            self._config,
            self._project,
            make_agent_executor=lambda _: self._agent_executor(model, make_tools),
            make_acp_executor=lambda config, project: _acp_executor(config, project, permit_of),
            definitions=definitions,
        )

    def _agent_executor(self, model: ChatModel, make_tools: MakeTools) -> AgentExecutor:
        config = self._config
        return AgentExecutor(
            model,
            make_tools,
            middleware=lambda _: [self.reduction],
            language=config.run.language,
            retry=RETRY,
            max_iterations=config.agents.worker_iterations_max,
            open_named=partial(_named_model, config, self._environ),
        )


def _named_model(config: Config, environ: Mapping[str, str], name: str) -> ChatModel:
    return chat_model(config, environ, name=name)


def _acp_executor(config: AcpExecutorConfig, project: Path, permit_of: PermitOf) -> Executor:
    """Return what hands steps to another agent.

    Raises:
        ConfigError: the extra `acp` is missing.
    """
    try:
        room: Any = importlib.import_module(_ACP_EXECUTOR)
    except ImportError as error:
        raise ConfigError(
            "Executors of type acp need the extra `acp`: pip install 'taskloom[acp]'."
        ) from error
    program = config.command[0]
    permit = permit_of(program)

    async def permit_title(title: str) -> bool:
        return await permit(PermissionRequest("run", command=(program, title)))

    executor: Executor = room.AcpExecutor(
        config.command, cwd=project / config.cwd, env=config.env, permit=permit_title
    )
    return executor

"""From a project's configuration to everything a host needs."""

import importlib
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from taskloom.agent import ChatModel, Retry
from taskloom.agent.workspace import Workspace
from taskloom.agent.workspace.permission import PermissionRequest
from taskloom.app.host import HostSetup
from taskloom.app.models import chat_model
from taskloom.app.permissions import Ask, Permissions
from taskloom.app.pools import build_pools
from taskloom.config import (
    AcpExecutorConfig,
    Config,
    find_definition,
    load_config,
    load_definitions,
)
from taskloom.config.allow import is_allowed
from taskloom.files import LocalFiles
from taskloom.middleware import ToolReduction
from taskloom.orchestra import AgentDefinition, AgentExecutor, ConfigError, Executor

RETRY: Final = Retry(max_retries=3)
"""A model that is busy for a moment must not end hours of work."""

_ACP_EXECUTOR: Final = "taskloom.orchestra.acp_executor"
_CONTEXT_TOKENS: Final = 100_000
"""Above this, old tool results are kept in files; today's models have room for more."""


def compose(
    project: Path,
    *,
    ask: Ask | None = None,
    yes: bool = False,
    model_name: str = "",
    state_dir: str = ".taskloom",
    environ: Mapping[str, str] | None = None,
) -> HostSetup:
    """Return what a host of this project works with.

    Args:
        project: the directory that is worked on.
        ask: how a person is asked for permission; None is nobody.
        yes: allow everything but secrets without a question.
        model_name: instead of the configured model.
        state_dir: where the project's state is.
        environ: the environment; by default this process's.

    Raises:
        ConfigError: something is missing or wrong; the message says what to set.
    """
    variables = os.environ if environ is None else environ
    config = load_config(project, environ=variables)
    definitions = load_definitions(project, config)
    chief = find_definition(definitions, config.agents.orchestrator, "agents.orchestrator")
    name = model_name or chief.model
    model = chat_model(config, variables, name=name)
    permissions = Permissions(
        partial(is_allowed, config.run.allow), ask=ask, yes=yes, state_dir=state_dir
    )
    house = _House(config, project, model, permissions, variables, state_dir)
    return HostSetup(
        project=project,
        model=model,
        pools=build_pools(
            config,
            project,
            make_agent_executor=house.executor,
            make_acp_executor=house.acp_executor,
            definitions=definitions,
        ),
        instruction=chief.body,
        tools=house.workspace("orchestrator").tools(writes=False, commands=False),
        middleware=[house.reduction],
        state_dir=state_dir,
        settings=config.settings,
        rules=config.rules,
        language=config.run.language,
        retry=RETRY,
        max_iterations=config.run.max_iterations,
    )


class _House:
    """Makes the parts that share a project, its model and its permissions."""

    def __init__(
        self,
        config: Config,
        project: Path,
        model: ChatModel,
        permissions: Permissions,
        environ: Mapping[str, str],
        state_dir: str,
    ) -> None:
        self.reduction = ToolReduction(
            LocalFiles(project),
            root_dir=f"{state_dir}/reduction",
            trust_own_read_tool=True,  # The workspace's read_file reaches what is saved there.
            max_tokens_for_clear=_CONTEXT_TOKENS,
            language=config.run.language,
        )
        self._config = config
        self._project = project
        self._model = model
        self._permissions = permissions
        self._environ = environ

    def workspace(self, who: str) -> Workspace:
        """Return the project as one agent may use it."""
        permit = self._permissions.permit(who)
        return Workspace(self._project, permit=permit, language=self._config.run.language)

    def executor(self, definition: AgentDefinition) -> AgentExecutor:
        """Return what carries out the steps of one kind of chat-model worker."""
        model = self._model
        if definition.model:
            model = chat_model(self._config, self._environ, name=definition.model)
        return AgentExecutor(
            model,
            lambda who: self.workspace(who).tools(),
            middleware=lambda _: [self.reduction],
            language=self._config.run.language,
            retry=RETRY,
            max_iterations=self._config.agents.worker_iterations_max,
        )

    def acp_executor(self, config: AcpExecutorConfig, project: Path) -> Executor:
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
        permit = self._permissions.permit(config.command[0])

        async def permit_title(title: str) -> bool:
            return await permit(PermissionRequest("run", command=(config.command[0], title)))

        executor: Executor = room.AcpExecutor(
            config.command, cwd=project / config.cwd, env=config.env, permit=permit_title
        )
        return executor

"""From a project's configuration to everything a host needs."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from taskloom.agent import ChatModel, Retry
from taskloom.agent.workspace import Workspace
from taskloom.app.host import HostSetup
from taskloom.app.models import chat_model
from taskloom.app.permissions import Ask, Permissions
from taskloom.app.pools import build_pools
from taskloom.config import Config, find_definition, load_config, load_definitions
from taskloom.config.allow import is_allowed
from taskloom.orchestra import AgentDefinition, AgentExecutor

RETRY = Retry(max_retries=3)
"""A model that is busy for a moment must not end hours of work."""


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
    house = _House(config, project, model, permissions, variables)
    return HostSetup(
        project=project,
        model=model,
        pools=build_pools(
            config,
            project,
            make_agent_executor=house.executor,
            definitions=definitions,
        ),
        instruction=chief.body,
        tools=house.workspace("orchestrator").tools(writes=False, commands=False),
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
    ) -> None:
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
            language=self._config.run.language,
            retry=RETRY,
            max_iterations=self._config.agents.worker_iterations_max,
        )

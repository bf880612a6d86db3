"""From configuration to what the door for editors is given: per project, as sessions are opened."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from taskloom.acp import Setup
from taskloom.acp.setup import MakeTools
from taskloom.agent import ChatModel
from taskloom.agent.workspace.permission import refuse_all
from taskloom.app.house import House
from taskloom.app.models import chat_model
from taskloom.config import Config, find_definition, load_config, load_definitions
from taskloom.config.allow import is_allowed
from taskloom.orchestra import Pool


def editor_setup(
    *,
    version: str,
    index_dir: Path | None = None,
    model_name: str = "",
    show_board: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Setup:
    """Return how the agent behind the door is made; a project's own configuration counts."""
    variables = os.environ if environ is None else environ
    makers = _Makers(model_name, variables)
    plain = Setup(
        make_model=makers.model,
        index_dir=index_dir,
        show_task_board=show_board,
        version=version,
    )
    return replace(plain, for_project=partial(makers.for_project, plain))


class _Makers:
    """Makes models and workers from the configuration of the project that is asked for."""

    def __init__(self, model_name: str, environ: Mapping[str, str]) -> None:
        self._model_name = model_name
        self._environ = environ

    def model(self, project: Path) -> ChatModel:
        """Return a project's model.

        Raises:
            ConfigError: there is none; the message says what to set.
        """
        return self._model(load_config(project, environ=self._environ))

    def for_project(self, plain: Setup, project: Path) -> Setup:
        """Return the setup of one project.

        Raises:
            ConfigError: its configuration cannot be used.
        """
        config = load_config(project, environ=self._environ)
        definitions = load_definitions(project, config)
        chief = find_definition(definitions, config.agents.orchestrator, "agents.orchestrator")
        return replace(
            plain,
            show_task_board=plain.show_task_board or config.acp.show_task_board,
            language=config.run.language,
            make_pools=partial(self._pools, config, plain.state_dir),
            orchestrator_instruction=chief.body,
            settings=config.settings,
            rules=config.rules,
            allows=partial(is_allowed, config.run.allow),
            for_project=None,
        )

    def _model(self, config: Config) -> ChatModel:
        return chat_model(config, self._environ, name=self._model_name)

    def _pools(
        self, config: Config, state_dir: str, project: Path, make_tools: MakeTools
    ) -> Sequence[Pool]:
        house = House(config, project, self._environ, state_dir)
        # What another agent asks while it works nobody sees here, so it is told no.
        return house.pools(
            load_definitions(project, config), self._model(config), make_tools, lambda _: refuse_all
        )

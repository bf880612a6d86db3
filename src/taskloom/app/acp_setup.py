"""From configuration to what the door for editors is given: per project, as sessions are opened."""

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from taskloom.acp import AcpOptions
from taskloom.acp.options import MakeTools
from taskloom.agent import ChatModel, Middleware
from taskloom.agent.workspace import PermissionRequest, Permit
from taskloom.app.models import chat_model
from taskloom.app.project import RETRY, Project
from taskloom.config import find_definition, load_config, load_definitions
from taskloom.config.allow_list import is_allowed
from taskloom.orchestrator import Pool

CONTEXT_TOKENS: Final = 200_000
"""What today's models take in; above half of it old tool results are kept in files."""


def editor_setup(
    *,
    version: str,
    index_dir: Path | None = None,
    model_name: str = "",
    show_board: bool = False,
    environ: Mapping[str, str] | None = None,
) -> AcpOptions:
    """Return what the door is given; each project's own configuration is read with its sessions.

    Args:
        version: what the agent says of itself.
        index_dir: where it is noted which project has which session.
        model_name: instead of the model that is configured.
        show_board: show the board's Tasks as plans, whatever is configured.
        environ: the environment; by default this process's.
    """
    variables = os.environ if environ is None else environ

    def for_project(project: Path) -> AcpOptions:
        return _Project(project, model_name, variables).setup(version, index_dir, show_board)

    def make_model(project: Path) -> ChatModel:
        return for_project(project).make_model(project)

    return AcpOptions(
        make_model=make_model, for_project=for_project, index_dir=index_dir, version=version
    )


class _Project:
    """One project as it is configured."""

    def __init__(self, project: Path, model_name: str, environ: Mapping[str, str]) -> None:
        self._project = project
        self._config = load_config(project, environ=environ)
        self._definitions = load_definitions(project, self._config)
        self._chief = find_definition(
            self._definitions, self._config.agents.orchestrator, "agents.orchestrator"
        )
        self._environ = environ
        self._name = model_name or self._chief.model
        self._open = cache(self._open_model)

    def setup(self, version: str, index_dir: Path | None, show_board: bool) -> AcpOptions:
        """Return the door's setup for this project."""
        config = self._config
        return AcpOptions(
            make_model=lambda _: self._open(self._name),
            index_dir=index_dir,
            show_task_board=show_board or config.acp.show_task_board,
            language=config.run.language,
            max_iterations=config.run.max_iterations,
            context_tokens=CONTEXT_TOKENS,
            retry=RETRY,
            middleware=self._middleware,
            make_pools=self._pools,
            orchestrator_instruction=self._chief.body,
            settings=config.settings,
            rules=config.rules,
            allows=partial(is_allowed, config.run.allow),
            version=version,
        )

    def _open_model(self, name: str) -> ChatModel:
        return chat_model(self._config, self._environ, name=name)

    def _middleware(self, folder: Path) -> Sequence[Middleware]:
        saved = (folder / "reduction").relative_to(self._project).as_posix()
        return [self._house(saved, CONTEXT_TOKENS // 2).reduction]

    def _pools(self, project: Path, make_tools: MakeTools) -> Sequence[Pool]:
        house = self._house(".taskloom/reduction", CONTEXT_TOKENS // 2)
        assert project == self._project
        return house.pools(
            self._definitions, self._open(self._name), make_tools, lambda _: self._permit
        )

    def _house(self, saved: str, tokens: int) -> Project:
        return Project(self._config, self._project, self._environ, saved=saved, tokens=tokens)

    @property
    def _permit(self) -> Permit:
        """What another agent asks while it works nobody sees here: the allow list answers."""

        async def permit(request: PermissionRequest) -> bool:
            return is_allowed(self._config.run.allow, request)

        return permit

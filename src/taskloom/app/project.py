"""One project with its configuration: what `run` and `acp` are composed from.

Everything that a session of a project needs is built here, for every interface: models, workers,
permissions, middleware. `taskloom.app.acp_setup` adds what is specific to editors.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from taskloom.agent import ChatModel
from taskloom.agent.workspace import Decision, PermissionRequest, Permit, Workspace
from taskloom.app.models import chat_model
from taskloom.app.pools import build_pools
from taskloom.app.session_host import HostOptions
from taskloom.config import (
    AcpExecutorConfig,
    CallableConfig,
    find_definition,
    is_allowed,
    load_config,
    load_definitions,
)
from taskloom.middleware import ToolReduction
from taskloom.orchestrator import AgentExecutor, Executor, MakeTools, Pool, acp_executor
from taskloom.session import (
    RETRY,
    Asker,
    PermissionPolicy,
    ProtectedPaths,
    SessionDirectory,
    tool_reduction,
)

PermitOf: TypeAlias = Callable[[str], Permit]
"""The permit of the agent of this name."""


class Project:
    """A project directory, its configuration and its agent definitions."""

    def __init__(
        self,
        root: Path,
        *,
        model_name: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Read the configuration; no model is opened yet.

        Args:
            root: the project's directory.
            model_name: the model to use instead of the configured one.
            environ: the environment; by default that of this process.

        Raises:
            ConfigError: the configuration or a definition cannot be used.
        """
        self.root = root
        self._environ = os.environ if environ is None else environ
        self.config = load_config(root, environ=self._environ)
        self.definitions = load_definitions(root, self.config)
        self.orchestrator = find_definition(
            self.definitions, self.config.agents.orchestrator, "agents.orchestrator"
        )
        self._model_name = model_name or self.orchestrator.model
        self._open = cache(self._open_model)

    def model(self) -> ChatModel:
        """Return the model of the project's agents, opened once.

        Raises:
            ConfigError: none is configured, its key is missing, or it cannot be opened.
        """
        return self._open(self._model_name)

    def permissions(
        self, session: SessionDirectory, *, allow_all: bool = False
    ) -> PermissionPolicy:
        """Return the permission policy of a session."""
        return PermissionPolicy(
            allows=partial(is_allowed, self.config.run.allow),
            allow_all=allow_all,
            state_dir=session.project / session.state_dir,
            protected=ProtectedPaths(
                self.root, state_dir=session.state_dir, also=self._named_paths()
            ),
        )

    def _named_paths(self) -> list[Path]:
        """Return the files of the project that its configuration names to be run or read."""
        config = self.config
        named = [Path(config.agents.definitions_dir)]
        for executor in config.executors.values():
            if isinstance(executor, CallableConfig):
                module = executor.target.partition(":")[0].replace(".", "/")
                named += [Path(f"{module}.py"), Path(module)]
            else:
                named += [
                    Path(executor.cwd, word)
                    for word in executor.command
                    if "/" in word or "." in word
                ]
        return named

    def reduction(self, session: SessionDirectory) -> ToolReduction:
        """Return the middleware that saves long tool results in the session's directory."""
        return tool_reduction(self.root, session.reduction, language=self.config.run.language)

    def pools(
        self, session: SessionDirectory, make_tools: MakeTools, permit_of: PermitOf
    ) -> tuple[Pool, ...]:
        """Return the configured workers, for one session.

        Raises:
            ConfigError: a worker, its model or its executor cannot be used.
        """
        config, reduction = self.config, self.reduction(session)

        def agent_executor(_: object) -> AgentExecutor:
            return AgentExecutor(
                self.model(),
                make_tools,
                middleware=lambda _: [reduction],
                language=config.run.language,
                retry=RETRY,
                max_iterations=config.agents.worker_iterations_max,
                open_named=self._open,
            )

        return build_pools(
            config,
            self.root,
            make_agent_executor=agent_executor,
            make_acp_executor=partial(_acp_executor, permit_of),
            definitions=self.definitions,
        )

    def host_options(
        self, session: SessionDirectory, *, asker: Asker | None = None, allow_all: bool = False
    ) -> HostOptions:
        """Return the options for hosting a session in this process.

        Args:
            session: the session.
            asker: asks a person for permission; None if there is nobody to ask.
            allow_all: allow everything but secrets without a question.

        Raises:
            ConfigError: the model or a worker cannot be used; the message says what to set.
        """
        config, permissions = self.config, self.permissions(session, allow_all=allow_all)
        permit_of = partial(permissions.permit, asker=asker)

        def workspace(who: str) -> Workspace:
            return Workspace(self.root, permit=permit_of(who), language=config.run.language)

        return HostOptions(
            session=session,
            model=self.model(),
            pools=self.pools(session, lambda who: workspace(who).tools(), permit_of),
            instruction=self.orchestrator.body,
            tools=workspace("orchestrator").tools(writes=False, commands=False),
            permissions=permissions,
            middleware=[self.reduction(session)],
            settings=config.settings,
            rules=config.rules,
            language=config.run.language,
            max_iterations=config.run.max_iterations,
        )

    def _open_model(self, name: str) -> ChatModel:
        return chat_model(self.config, self._environ, name=name)


def _acp_executor(permit_of: PermitOf, config: AcpExecutorConfig, root: Path) -> Executor:
    """Return the executor that hands steps to another agent.

    Raises:
        ConfigError: the extra `acp` is missing.
    """
    program = config.command[0]
    permit = permit_of(program)

    async def permit_title(title: str) -> bool:
        answer = await permit(PermissionRequest("run", command=(program, title)))
        return answer.allowed if isinstance(answer, Decision) else answer

    return acp_executor(config.command, cwd=root / config.cwd, env=config.env, permit=permit_title)

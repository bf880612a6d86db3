"""From a project's configuration to everything a host needs."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from taskloom.app.models import chat_model
from taskloom.app.project import RETRY, Project
from taskloom.app.session_host import HostSetup
from taskloom.config import find_definition, load_config, load_definitions
from taskloom.config.allow_list import is_allowed
from taskloom.session import Asker, PermissionPolicy


def compose(
    project: Path,
    *,
    asker: Asker | None = None,
    yes: bool = False,
    model_name: str = "",
    state_dir: str = ".taskloom",
    environ: Mapping[str, str] | None = None,
) -> HostSetup:
    """Return what a host of this project works with.

    Args:
        project: the directory that is worked on.
        asker: asks a person for permission; None for no questions.
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
    permissions = PermissionPolicy(
        allows=partial(is_allowed, config.run.allow), allow_all=yes, state_dir=project / state_dir
    )
    permit_of = partial(permissions.permit, asker=asker)
    house = Project(config, project, variables, saved=f"{state_dir}/reduction")
    workspace = partial(house.workspace, permit_of)
    return HostSetup(
        project=project,
        model=model,
        pools=house.pools(definitions, model, lambda who: workspace(who).tools(), permit_of),
        instruction=chief.body,
        tools=workspace("orchestrator").tools(writes=False, commands=False),
        permissions=permissions,
        middleware=[house.reduction],
        state_dir=state_dir,
        settings=config.settings,
        rules=config.rules,
        language=config.run.language,
        retry=RETRY,
        max_iterations=config.run.max_iterations,
    )

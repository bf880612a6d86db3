"""From the configuration of projects to the options of the ACP server."""

from collections.abc import Mapping
from pathlib import Path

from taskloom.acp import AcpOptions
from taskloom.agent import ChatModel
from taskloom.app.project import Project


def acp_options(
    *,
    version: str,
    index_dir: Path | None = None,
    model_name: str = "",
    show_board: bool = False,
    environ: Mapping[str, str] | None = None,
) -> AcpOptions:
    """Return the options of the server; each project is read when a session of it is opened.

    Args:
        version: the version that the agent announces.
        index_dir: the index of projects that have sessions.
        model_name: the model to use instead of the configured one.
        show_board: show the board's Tasks as plans, whatever is configured.
        environ: the environment; by default that of this process.
    """

    def for_project(root: Path) -> AcpOptions:
        project = Project(root, model_name=model_name, environ=environ)
        config = project.config
        return AcpOptions(
            make_model=lambda _: project.model(),
            index_dir=index_dir,
            show_task_board=show_board or config.acp.show_task_board,
            language=config.run.language,
            max_iterations=config.run.max_iterations,
            make_pools=project.pools,
            make_permissions=project.permissions,
            orchestrator_instruction=project.orchestrator.body,
            settings=config.settings,
            rules=config.rules,
            version=version,
        )

    def make_model(root: Path) -> ChatModel:
        return for_project(root).make_model(root)

    return AcpOptions(
        make_model=make_model, for_project=for_project, index_dir=index_dir, version=version
    )

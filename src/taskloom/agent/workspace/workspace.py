"""A project directory as an agent may use it.

    Agent(model, tools=Workspace("project", permit=ask_me).tools())

Reading is free inside the directory; writing, running commands and opening what looks like a
secret need the permit's yes, each time. Everything returned is bounded.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from taskloom.agent.model_texts import Language
from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.backends import Commands, LocalCommands, TextFiles
from taskloom.agent.workspace.command import command_tool
from taskloom.agent.workspace.context import WorkspaceContext
from taskloom.agent.workspace.permission import Permit, refuse_all
from taskloom.agent.workspace.process import harmless_environment
from taskloom.agent.workspace.read_tools import list_tool, read_tool
from taskloom.agent.workspace.search import search_tool
from taskloom.agent.workspace.workspace_texts import workspace_texts
from taskloom.agent.workspace.write_tools import edit_tool, write_tool


class Workspace:
    """The tools read_file, list_dir, search, write_file, edit_file and run_command."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        permit: Permit = refuse_all,
        language: Language | None = None,
        environment: Mapping[str, str] | None = None,
        also: Sequence[str | os.PathLike[str]] = (),
        files: TextFiles | None = None,
        commands: Commands | None = None,
    ) -> None:
        """Name the directory and who is asked; without a permit nothing is written or run.

        Args:
            directory: where paths begin.
            permit: says yes or no before anything is written, run or let out.
            language: of what the tools say.
            environment: of commands; by default this process's without its keys and tokens.
            also: other directories that may be used, by their whole paths.
            files: how texts are read and written; by default on the disk.
            commands: how programs are run; by default here.
        """
        variables = harmless_environment() if environment is None else environment
        self._ground = WorkspaceContext(
            Path(directory),
            permit,
            workspace_texts(language),
            variables,
            tuple(Path(one) for one in also),
            files,
            commands or LocalCommands(),
        )

    def tools(self, *, writes: bool = True, commands: bool = True) -> list[Tool]:
        """Return the tools; leave out those that write or run commands on request."""
        context = self._ground
        tools = [read_tool(context), list_tool(context), search_tool(context)]
        if writes:
            tools += [write_tool(context), edit_tool(context)]
        if commands:
            tools.append(command_tool(context))
        return tools

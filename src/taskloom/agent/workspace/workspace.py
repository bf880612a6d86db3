"""Tools for work in a project directory.

    Agent(model, tools=Workspace("project", permit=ask_me).tools())

Inside the directory reading is free; writing, running a command and reading what looks like a
secret ask the permit each time. All output is limited.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from taskloom.agent.language import Language
from taskloom.agent.tools.tool import Tool
from taskloom.agent.workspace.backends import Commands, LocalCommands, TextFiles
from taskloom.agent.workspace.command import command_tool
from taskloom.agent.workspace.context import WorkspaceContext
from taskloom.agent.workspace.permission import Permit, refuse_all
from taskloom.agent.workspace.process import program_environment
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
        hidden: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        """Configure the tools; without a permit they only read.

        Args:
            directory: the root of relative paths.
            permit: asked before a tool writes, runs a command or reads a secret.
            language: of the tools' texts.
            environment: of commands; by default the harmless variables of this process.
            also: other directories that the tools may use, by absolute paths.
            files: reads and writes texts; by default on the disk.
            commands: runs programs; by default on this machine, without a sandbox.
            hidden: directories that do not exist for the tools.
        """
        variables = program_environment() if environment is None else environment
        self._context = WorkspaceContext(
            Path(directory),
            permit,
            workspace_texts(language),
            variables,
            tuple(Path(one) for one in also),
            files,
            commands or LocalCommands(),
            tuple(Path(one) for one in hidden),
        )

    def tools(self, *, writes: bool = True, commands: bool = True) -> list[Tool]:
        """Return the tools, optionally without those that write or run commands."""
        context = self._context
        tools = [read_tool(context), list_tool(context), search_tool(context)]
        if writes:
            tools += [write_tool(context), edit_tool(context)]
        if commands:
            tools.append(command_tool(context))
        return tools

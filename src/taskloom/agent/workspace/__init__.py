"""Built-in tools for work in a project directory, confined to it."""

from taskloom.agent.workspace.backends import Commands, TextFiles
from taskloom.agent.workspace.permission import (
    PermissionRequest,
    Permit,
    allow_all,
    refuse_all,
)
from taskloom.agent.workspace.process import Finished
from taskloom.agent.workspace.workspace import Workspace

__all__ = [
    "Commands",
    "Finished",
    "PermissionRequest",
    "Permit",
    "TextFiles",
    "Workspace",
    "allow_all",
    "refuse_all",
]

"""Built-in tools for work in a project directory, confined to it."""

from taskloom.agent.workspace.permission import (
    PermissionRequest,
    Permit,
    allow_all,
    refuse_all,
)
from taskloom.agent.workspace.workspace import Workspace

__all__ = ["PermissionRequest", "Permit", "Workspace", "allow_all", "refuse_all"]

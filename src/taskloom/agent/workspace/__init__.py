"""Tools for work in a project directory, confined to it."""

from taskloom.agent.workspace.backends import Commands, DiskFiles, TextFiles
from taskloom.agent.workspace.paths import OutsideWorkspaceError, resolve_path
from taskloom.agent.workspace.permission import (
    NotPermittedError,
    PermissionRequest,
    Permit,
    allow_all,
    refuse_all,
)
from taskloom.agent.workspace.process import OUTPUT_BYTES_MAX, Finished, harmless_environment
from taskloom.agent.workspace.workspace import Workspace

__all__ = [
    "OUTPUT_BYTES_MAX",
    "Commands",
    "DiskFiles",
    "Finished",
    "NotPermittedError",
    "OutsideWorkspaceError",
    "PermissionRequest",
    "Permit",
    "TextFiles",
    "Workspace",
    "allow_all",
    "harmless_environment",
    "refuse_all",
    "resolve_path",
]

"""Tools for work in a project directory, confined to it."""

from taskloom.agent.workspace.backends import Commands, DiskFiles, LocalCommands, TextFiles
from taskloom.agent.workspace.paths import OutsideWorkspaceError, resolve_path
from taskloom.agent.workspace.permission import (
    Decision,
    NotPermittedError,
    PermissionRequest,
    Permit,
    allow_all,
    refuse_all,
)
from taskloom.agent.workspace.process import OUTPUT_BYTES_MAX, Finished, program_environment
from taskloom.agent.workspace.secrets import is_secret, secret_files
from taskloom.agent.workspace.workspace import Workspace

__all__ = [
    "OUTPUT_BYTES_MAX",
    "Commands",
    "Decision",
    "DiskFiles",
    "Finished",
    "LocalCommands",
    "NotPermittedError",
    "OutsideWorkspaceError",
    "PermissionRequest",
    "Permit",
    "TextFiles",
    "Workspace",
    "allow_all",
    "is_secret",
    "program_environment",
    "refuse_all",
    "resolve_path",
    "secret_files",
]

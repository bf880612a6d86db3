"""What a sandboxed program may reach, and how the launcher is told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """The limits of one program. Paths are absolute and resolved.

    Everything is readable but `hidden`; nothing is writable but `tree`, `writable` and a temporary
    directory of the program's own; of those, `protected` is not writable either.
    """

    tree: Path
    """The working tree: the program's directory or above it."""
    writable: tuple[Path, ...] = ()
    """Further directories it may write to: caches, build outputs."""
    protected: tuple[Path, ...] = ()
    """Files and directories in the tree that stay as they are; a missing one cannot be made."""
    hidden: tuple[Path, ...] = ()
    """Files and directories that it cannot read."""
    network: bool = False
    """Whether it can reach the network."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What the launcher does: its orders as JSON, and the command it starts."""

    orders: dict[str, Any]
    command: tuple[str, ...]

"""The sandbox for systems without bubblewrap: Landlock rules and a filter of system calls.

Landlock allows whole directories and has no "all but": to keep a path out, everything beside it is
allowed by itself. So nothing new can be made in a directory that holds a protected path, the top
of the working tree as a rule; below its other directories everything works.
"""

import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Final

from taskloom.sandbox.launcher import landlock_version
from taskloom.sandbox.spec import LaunchPlan, SandboxSpec

_VERSION_MIN: Final = 3
"""Before it, any file that the user may write could be emptied from inside."""

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


class Landlock:
    """Confines programs by kernel rules; needs no privileges and no other program."""

    name = "landlock"
    confines = True
    limits = "new files cannot be made at the top of the working tree"
    """What a program may notice besides the limits of every sandbox."""

    def plan(self, command: Iterable[str], spec: SandboxSpec) -> tuple[LaunchPlan, dict[str, str]]:
        """Return what the launcher does, and the variables it adds to the environment."""
        temporary = os.path.join(tempfile.gettempdir(), f"taskloom-{token_hex(8)}")
        # Reading stops at what is hidden, writing at what is protected or hidden.
        kept = {*spec.protected, *spec.hidden}
        write = [path for root in (spec.tree, *spec.writable) for path in all_but(root, kept)]
        read = all_but(Path("/"), set(spec.hidden))
        landlock = {
            "write": [temporary, *_DEVICES, *map(str, write)],
            "read": [str(path) for path in read],
            "list": ["/"],
            "network": spec.network,
        }
        orders = {"temporary": temporary, "landlock": landlock}
        return LaunchPlan(orders, tuple(command)), {"TMPDIR": temporary}


def all_but(root: Path, kept: set[Path]) -> list[Path]:
    """Return paths that together hold everything below `root` but what is kept out.

    What is kept out and does not exist keeps its directory from being allowed as a whole.
    """
    if root in kept:
        return []
    if not any(path.is_relative_to(root) for path in kept):
        return [root]
    try:
        entries = sorted(entry.name for entry in os.scandir(root))
    except OSError:
        return []
    found: list[Path] = []
    for name in entries:
        path = root / name
        # A link is its target's business: the target is allowed where it is, or is not.
        if not path.is_symlink():
            found += all_but(path, kept)
    return found


@cache
def probe_landlock() -> str | None:
    """Return why Landlock cannot be used here; None if it can."""
    version = landlock_version()
    if version == 0:
        return "the kernel has no Landlock"
    if version < _VERSION_MIN:
        return f"the kernel's Landlock has version {version}; {_VERSION_MIN} is needed"
    return None

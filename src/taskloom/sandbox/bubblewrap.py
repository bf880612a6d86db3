"""The sandbox of bubblewrap: own mounts, processes and network around one program."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from taskloom.errors import Code, RefusedError
from taskloom.sandbox.spec import LaunchPlan, SandboxSpec

_PROBE_S: Final = 10.0
_RESOLVER: Final = "/run/systemd/resolve"
"""Where some systems keep the list of name servers; needed with the network alone."""


class Bubblewrap:
    """Confines programs with `bwrap`."""

    name = "bubblewrap"
    confines = True
    limits = ""

    def plan(self, command: Iterable[str], spec: SandboxSpec) -> tuple[LaunchPlan, dict[str, str]]:
        """Return what the launcher does, and the variables it adds to the environment."""
        arguments = ["bwrap", *_mounts(spec), "--", *command]
        orders: dict[str, Any] = {"wrappers": 2}
        if spec.protected:
            orders["record"] = str(_record_of(spec.tree))
            orders["placeholders"] = [str(path) for path in spec.protected if not path.exists()]
        return LaunchPlan(orders, tuple(arguments)), {"TMPDIR": "/tmp"}  # noqa: S108  # the sandbox has a /tmp of its own


def _record_of(tree: Path) -> Path:
    """Return the file that records the placeholders of a tree; see the launcher."""
    folder = Path(tempfile.gettempdir()) / f"taskloom-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise RefusedError(
            Code.CONFIG_ERROR,
            f"{folder} belongs to another user, so the sandbox cannot use it. Remove it, or set "
            "TMPDIR to a directory of your own.",
        )
    return folder / f"{sha256(os.fsencode(tree)).hexdigest()[:32]}.placeholders"


def _mounts(spec: SandboxSpec) -> Iterator[str]:
    # No --new-session: the launcher has no terminal, and signals must reach the program.
    yield from ("--unshare-all", "--die-with-parent")
    if spec.network:
        yield "--share-net"
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    # Sockets of other programs are in these: a desktop bus or a container engine is a way out.
    yield from ("--tmpfs", "/tmp", "--tmpfs", "/run")  # noqa: S108  # the sandbox has a /tmp of its own
    if spec.network:
        yield from ("--ro-bind-try", _RESOLVER, _RESOLVER)
    for root in (spec.tree, *spec.writable):
        yield from ("--bind", str(root), str(root))
    for path in spec.protected:
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))
        elif path.suffix:
            yield from ("--ro-bind", "/dev/null", str(path))
        else:  # An empty directory bothers nobody, an empty file named .git would.
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
    for path in spec.hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        elif path.exists():
            yield from ("--ro-bind", "/dev/null", str(path))


@cache
def probe_bubblewrap() -> str | None:
    """Return why bubblewrap cannot be used here; None if it can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (Debian: apt install bubblewrap)"
    spec = SandboxSpec(tree=Path("/usr"))
    command = ["bwrap", *_mounts(spec), "--", "true"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if done.returncode != 0:
        return f"bubblewrap does not work here: {done.stderr.strip() or done.returncode}"
    return None

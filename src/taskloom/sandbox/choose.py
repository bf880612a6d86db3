"""Which sandbox this system has."""

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

from taskloom.errors import Code, RefusedError
from taskloom.sandbox.bubblewrap import Bubblewrap, probe_bubblewrap
from taskloom.sandbox.landlock import Landlock, probe_landlock
from taskloom.sandbox.spec import LaunchPlan, SandboxSpec
from taskloom.sandbox.unconfined import Unconfined

Mode: TypeAlias = Literal["auto", "require", "off"]
"""`auto` uses a sandbox where one works, `require` refuses to start without, `off` uses none."""


class Sandbox(Protocol):
    """Turns a command into one that runs confined."""

    @property
    def name(self) -> str:
        """`bubblewrap`, `landlock` or `none`."""
        ...

    @property
    def confines(self) -> bool:
        """Whether programs are held at all."""
        ...

    @property
    def limits(self) -> str:
        """What programs may notice besides the limits of every sandbox."""
        ...

    def plan(self, command: Iterable[str], spec: SandboxSpec) -> tuple[LaunchPlan, dict[str, str]]:
        """Return what the launcher does, and the variables it adds to the environment."""
        ...


def find_sandbox(mode: Mode = "auto") -> Sandbox:
    """Return the best sandbox that works here.

    Raises:
        RefusedError: `require` was set and none works.
    """
    if mode == "off":
        return Unconfined('it is switched off (sandbox = "off")')
    no_bubblewrap = probe_bubblewrap()
    if no_bubblewrap is None:
        return Bubblewrap()
    no_landlock = probe_landlock()
    if no_landlock is None:
        return Landlock()
    reason = f"{no_bubblewrap}; {no_landlock}"
    if mode == "require":
        raise RefusedError(
            Code.CONFIG_ERROR,
            f'sandbox = "require" is set and no sandbox works here: {reason}. Install bubblewrap, '
            'or set sandbox = "auto" to work without one.',
        )
    return Unconfined(reason)

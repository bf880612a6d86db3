"""No sandbox: the program is started as it is, and still ends with all that it started."""

from collections.abc import Iterable

from taskloom.sandbox.spec import LaunchPlan, SandboxSpec


class Unconfined:
    """Starts programs without confining them; `reason` says why there is no sandbox."""

    name = "none"
    confines = False
    limits = ""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def plan(self, command: Iterable[str], spec: SandboxSpec) -> tuple[LaunchPlan, dict[str, str]]:
        """Return what the launcher does: it starts the command and nothing else."""
        del spec
        return LaunchPlan({}, tuple(command)), {}

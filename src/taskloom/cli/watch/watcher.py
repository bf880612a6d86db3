"""The three ways to show a run: a screen with keys, plain lines, or JSON."""

import os
import sys
from typing import TYPE_CHECKING, Literal, Protocol, TextIO, TypeAlias

from taskloom.agent import Result
from taskloom.app.session_host import Host
from taskloom.cli.watch.shutdown import Work
from taskloom.session import Asker

if TYPE_CHECKING:
    from rich.console import Console

Kind: TypeAlias = Literal["screen", "lines", "json"]
"""How a run is shown: a screen, plain lines, or JSON lines."""


class Watcher(Protocol):
    """Shows one run. Make a new one for each."""

    @property
    def asker(self) -> Asker | None:
        """Asks the user for a permission; None if there is no user to ask.

        It answers no while nothing is shown.
        """
        ...

    @property
    def was_quit(self) -> bool:
        """Whether the run was stopped early: by the user, a signal, or a lost terminal."""
        ...

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and show it until it has ended.

        Raises:
            KeyboardInterrupt: the user did not wait for the work to stop.
        """
        ...


def choose_kind(json: bool, plain: bool) -> Kind:
    """Return the kind to use: a screen needs a terminal for output and for keys."""
    if json:
        return "json"
    both = _is_terminal(sys.stdin) and _is_terminal(sys.stdout)
    return "screen" if both and not plain and os.environ.get("TERM", "") != "dumb" else "lines"


def new_watcher(kind: Kind, *, console: "Console | None" = None) -> Watcher:
    """Return a new watcher; a screen is drawn on `console`, else on standard output."""
    match kind:
        case "screen":
            from taskloom.cli.output import console as standard_output
            from taskloom.cli.watch.screen_watcher import ScreenWatcher

            return ScreenWatcher(console or standard_output())
        case "lines":
            from taskloom.cli.watch.line_watcher import LineWatcher

            return LineWatcher(sys.stdin if _is_terminal(sys.stdin) else None)
        case "json":
            from taskloom.cli.watch.json_watcher import JsonWatcher

            return JsonWatcher()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # It is closed.
        return False

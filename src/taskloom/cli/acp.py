"""The command that serves an editor: acp."""

import logging
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from taskloom.errors import Code, RefusedError

if TYPE_CHECKING:
    from taskloom.acp import AcpOptions


def acp(given: Namespace) -> int:
    """Serve the client on standard input and output until it leaves."""
    import anyio

    # Standard output is the wire: whatever is logged goes to standard error, from the start.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        from taskloom.acp import serve_stdio
    except ModuleNotFoundError as error:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"The editor's protocol needs the extra `acp`: install taskloom[acp] ({error}).",
        ) from error
    anyio.run(serve_stdio, _setup(given))
    return 0


def _setup(given: Namespace) -> "AcpOptions":
    """Compose what the door is given, from the command line and the environment."""
    from taskloom import __version__
    from taskloom.app.acp_setup import editor_setup

    return editor_setup(
        version=__version__,
        index_dir=_index_dir(),
        model_name=given.model or "",
        show_board=given.show_board,
    )


def _index_dir() -> Path:
    """Return where it is noted which project has which session."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "taskloom" / "sessions"

"""`taskloom acp`: serves an editor."""

import logging
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from taskloom.errors import Code, RefusedError

if TYPE_CHECKING:
    from taskloom.acp import AcpOptions


def acp(args: Namespace) -> int:
    """Serve the client on standard input and output until it disconnects."""
    import anyio

    # Standard output carries the protocol, so log records go to standard error.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        from taskloom.acp import serve_stdio
    except ModuleNotFoundError as error:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"`taskloom acp` needs the extra `acp`: install taskloom[acp] ({error}).",
        ) from error
    anyio.run(serve_stdio, _setup(args))
    return 0


def _setup(args: Namespace) -> "AcpOptions":
    """Return the options of the server, from the command line and the environment."""
    from taskloom import __version__
    from taskloom.app.acp_setup import acp_options

    return acp_options(
        version=__version__,
        index_dir=_index_dir(),
        model_name=args.model or "",
        show_board=args.show_board,
    )


def _index_dir() -> Path:
    """Return the directory of the index from session to project."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "taskloom" / "sessions"

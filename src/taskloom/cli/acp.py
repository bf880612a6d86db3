"""The command that serves an editor: acp."""

import logging
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from taskloom.errors import Code, Refused

if TYPE_CHECKING:
    from taskloom.acp import Setup
    from taskloom.agent import ChatModel

MODEL_VARIABLE: Final = "TASKLOOM_MODEL"


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
        raise Refused(
            Code.VALIDATION_ERROR,
            f"The editor's protocol needs the extra `acp`: install taskloom[acp] ({error}).",
        ) from error
    anyio.run(serve_stdio, _setup(given))
    return 0


def _setup(given: Namespace) -> "Setup":
    """Compose what the door is given, from the command line and the environment."""
    from taskloom import __version__
    from taskloom.acp import Setup
    from taskloom.agent import open_model

    name = given.model or os.environ.get(MODEL_VARIABLE, "")
    opened: list[ChatModel] = []

    def make_model(project: Path) -> "ChatModel":
        if not name:
            raise Refused(
                Code.VALIDATION_ERROR,
                f"There is no model. Set the environment variable {MODEL_VARIABLE} (such as "
                "anthropic:claude-sonnet-4-5) and the provider's key in the editor's settings of "
                f"this agent, or start `taskloom acp --model NAME`. The project is {project}.",
            )
        if not opened:
            opened.append(open_model(name))
        return opened[0]

    return Setup(
        make_model=make_model,
        index_dir=_index_dir(),
        show_task_board=given.show_board,
        version=__version__,
    )


def _index_dir() -> Path:
    """Return where it is noted which project has which session."""
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home / "taskloom" / "sessions"

"""How a command ends: errors to a sentence and an exit code, in one place."""

import os
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from taskloom.errors import Code, Refused, TaskloomError

FINE: Final = 0
TROUBLE: Final = 1
"""A log is damaged or cannot be read."""
USAGE: Final = 2
"""Asked wrongly, or for something that is not there."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""As a shell reports the end of a program whose reader has left."""


def guarded(run: Callable[[], int], *, as_json: bool) -> int:
    """Run a command and turn what it raises into its end."""
    try:
        code = run()
        sys.stdout.flush()
    except TaskloomError as error:
        _tell(error, as_json=as_json)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whatever is flushed at the interpreter's end must not complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        _tell(_without_rich(), as_json=as_json)
        return USAGE
    return code


def exit_code(error: TaskloomError) -> int:
    """Return the exit code of an error: a question that was wrong, or a log that is."""
    return USAGE if isinstance(error, Refused) else TROUBLE


def _tell(error: TaskloomError, *, as_json: bool) -> None:
    if as_json:
        text = msgspec.json.encode({"error": error.as_dict()}).decode()
    else:
        text = f"taskloom: {error.message}"
    sys.stderr.write(text.encode("utf-8", "replace").decode() + "\n")


def _without_rich() -> Refused:
    return Refused(
        Code.VALIDATION_ERROR,
        "Tables for people need the extra `cli`: install taskloom[cli]. --json works without it.",
    )

"""How a command ends: errors to a sentence and an exit code, in one place."""

import sys
from collections.abc import Callable
from typing import Final

from taskloom.cli.output import encode
from taskloom.cli.stdio import say, settle
from taskloom.errors import Code, RefusedError, StorageError, TaskloomError
from taskloom.view.format import clean

FINE: Final = 0
TROUBLE: Final = 1
"""A log is damaged or cannot be read, or an answer cannot be written."""
USAGE: Final = 2
"""Asked wrongly, or for something that is not there."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""As a shell reports the end of a program whose reader has left."""


def guarded(run: Callable[[], int], *, as_json: bool) -> int:
    """Run a command and turn what it raises into its end."""
    try:
        if sys.stdout is None:
            raise StorageError("Standard output is closed: there is nowhere to answer.")
        code = run()
        sys.stdout.flush()
    except TaskloomError as error:
        _tell(error, as_json=as_json)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        _tell(_system_failed(error), as_json=as_json)
        return TROUBLE
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        _tell(_without_rich(), as_json=as_json)
        return USAGE
    finally:
        settle(sys.stdout)
    return code


def exit_code(error: TaskloomError) -> int:
    """Return the exit code of an error: a question that was wrong, or a log that is."""
    asked_wrongly = isinstance(error, RefusedError) or error.code is Code.CONFIG_ERROR
    return USAGE if asked_wrongly else TROUBLE


def _tell(error: TaskloomError, *, as_json: bool) -> None:
    if as_json:
        say(encode({"error": error.as_dict()}).decode())
    else:
        say("\n".join(map(clean, f"taskloom: {error.message}".split("\n"))))


def _system_failed(error: OSError) -> StorageError:
    """Put into words what nobody closer to it did: mostly a full disk behind standard output."""
    where = f"{error.filename}: " if error.filename else ""
    return StorageError(
        f"Input or output failed: {where}{error.strerror or error}.",
        {"error": str(error), "errno": error.errno},
    )


def _without_rich() -> RefusedError:
    return RefusedError(
        Code.VALIDATION_ERROR,
        "Tables for people need the extra `cli`: install taskloom[cli]. --json works without it.",
    )

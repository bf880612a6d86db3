"""How a command ends: the one place that maps errors to a message and an exit code."""

import sys
from collections.abc import Callable
from typing import Final

from taskloom.cli.output import encode
from taskloom.cli.stdio import flush, print_error
from taskloom.errors import Code, RefusedError, StorageError, TaskloomError
from taskloom.view.format import clean

OK: Final = 0
FAILED: Final = 1
"""A log is damaged or unreadable, the answer cannot be written, or a run did not succeed."""
USAGE: Final = 2
"""A usage error, a configuration error, or a name that does not exist."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""What a shell reports for a program that SIGPIPE ended."""


def run_guarded(command: Callable[[], int], *, as_json: bool) -> int:
    """Run a command; report what it raises and return the exit code."""
    try:
        if sys.stdout is None:
            raise StorageError("Standard output is closed. Open it, or redirect it to a file.")
        code = command()
        sys.stdout.flush()
    except TaskloomError as error:
        _report(error, as_json=as_json)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        _report(_io_failed(error), as_json=as_json)
        return FAILED
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        _report(_without_rich(), as_json=as_json)
        return USAGE
    finally:
        flush(sys.stdout)
    return code


def exit_code(error: TaskloomError) -> int:
    """Return the exit code of an error: usage errors differ from failures."""
    is_usage = isinstance(error, RefusedError) or error.code is Code.CONFIG_ERROR
    return USAGE if is_usage else FAILED


def _report(error: TaskloomError, *, as_json: bool) -> None:
    if as_json:
        print_error(encode({"error": error.as_dict()}).decode())
    else:
        print_error("\n".join(map(clean, f"taskloom: {error.message}".split("\n"))))


def _io_failed(error: OSError) -> StorageError:
    """Return the error for a failure that no other code reports, mostly a full disk."""
    where = f"{error.filename}: " if error.filename else ""
    return StorageError(
        f"Input or output failed: {where}{error.strerror or error}.",
        {"error": str(error), "errno": error.errno},
    )


def _without_rich() -> RefusedError:
    return RefusedError(
        Code.VALIDATION_ERROR,
        "Tables need the extra `cli`: install taskloom[cli]. --json works without it.",
    )

"""Which directory a command means when it speaks of the project."""

from argparse import Namespace
from pathlib import Path

from taskloom.config import FILE_NAME
from taskloom.errors import Code, RefusedError


def find_project(given: Namespace, *, upward: bool = True) -> Path:
    """Return the project: what was given, else the nearest with a file or a state dir, else here.

    Raises:
        RefusedError: there is no such directory.
    """
    try:
        here = Path.cwd() if given.project is None else Path(given.project)
    except OSError as cause:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no working directory any more: {cause.strerror}. --project DIR names one.",
        ) from cause
    if not here.is_dir():
        raise RefusedError(
            Code.VALIDATION_ERROR, f"There is no directory {here}.", {"path": str(here)}
        )
    if given.project is None and upward:
        for folder in (here, *here.parents):
            if (folder / FILE_NAME).is_file() or (folder / given.state_dir).is_dir():
                return folder
    return here

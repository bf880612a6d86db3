"""Read and write files by resolved paths, without following links.

A path is resolved and checked first, then a person may think for minutes about a question. A link
that appears in the path meanwhile would lead elsewhere; here it is an error.
"""

import errno
import os
from pathlib import Path
from typing import Final

from taskloom.agent.workspace.paths import OutsideWorkspaceError
from taskloom.atomic_write import write_file_at

_DIRECTORY: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)


class PathChangedError(OutsideWorkspaceError):
    """A part of a path became a link after the path was checked; look at the directory again."""


def open_resolved(path: Path) -> int:
    """Open a file for reading and return its descriptor.

    Raises:
        PathChangedError: a part of the path is a link.
        OSError: the file cannot be opened.
    """
    directory = _open_directory(path.parent, create=False)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(path.name, flags, dir_fd=directory)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        os.close(directory)


def read_resolved(path: Path) -> bytes:
    """Return the content of a file; see `open_resolved` for what it raises."""
    with os.fdopen(open_resolved(path), "rb") as file:
        return file.read()


def write_resolved(path: Path, data: bytes) -> None:
    """Create a file, with its missing directories, or replace its content, durably.

    Raises:
        PathChangedError: a part of the path is a link.
        OSError: the file cannot be written.
    """
    directory = _open_directory(path.parent, create=True)
    try:
        if _is_link(directory, path.name):
            raise _explained(OSError(errno.ELOOP, os.strerror(errno.ELOOP)), path)
        write_file_at(directory, path.name, data)
    finally:
        os.close(directory)


def _open_directory(path: Path, *, create: bool) -> int:
    """Open a directory by walking down from the root, one name at a time."""
    here = os.open("/", _DIRECTORY)
    try:
        for name in path.parts[1:]:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=here)
            except FileNotFoundError:
                if not create:
                    raise
                os.mkdir(name, dir_fd=here)
                below = os.open(name, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
    except OSError as error:
        os.close(here)
        raise _explained(error, path) from error
    return here


def _is_link(directory: int, name: str) -> bool:
    try:
        os.readlink(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _explained(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return PathChangedError(
            f"A part of {path} became a link or a file meanwhile; nothing was read or written. "
            "Look at the directory again."
        )
    return error

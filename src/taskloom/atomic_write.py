"""Whole files written to a local disk: after a crash or power cut, the old content or the new.

A new file is written under a temporary name, synced, and renamed or linked to its own name; then
the directory is synced. A reader sees the old content or the new and nothing between.
"""

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

NEW: Final = ".taskloom-new-"
"""The start of the temporary names."""
_ABANDONED_S: Final = 3600.0
"""A temporary file of this age belongs to a process that has died."""

_HAS_FDATASYNC: Final = hasattr(os, "fdatasync")
_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
"""macOS: `fsync` there leaves the data in the cache of the drive."""

_swept: set[Path] = set()


def write_file(path: Path, data: bytes) -> None:
    """Create a file or replace its content; a replaced file keeps its mode."""
    if path.is_dir():
        raise IsADirectoryError(f"`{path.name}` is a directory.")
    make_directory(path.parent)
    _sweep(path.parent)
    directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        write_file_at(directory, path.name, data)
    finally:
        os.close(directory)


def write_file_at(directory: int, name: str, data: bytes) -> None:
    """Create a file in an open directory or replace its content; a link is replaced itself."""
    new = NEW + os.urandom(8).hex()
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(new, flags, 0o666, dir_fd=directory)
        with os.fdopen(fd, "wb") as file:
            with suppress(FileNotFoundError):
                mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
                if stat.S_ISREG(mode):
                    os.fchmod(fd, stat.S_IMODE(mode))
            file.write(data)
            file.flush()
            sync_file(fd)
        os.rename(new, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=directory)
        raise
    # An O_PATH descriptor cannot be synced; the directory is opened by what it is, not by a name.
    readable = os.open(".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY, dir_fd=directory)
    try:
        sync_file(readable)
    finally:
        os.close(readable)


def create_file(path: Path, data: bytes) -> None:
    """Create a file that must not exist yet."""
    new = _write_new(path, data)
    try:
        os.link(new, path)
    except FileExistsError:
        raise FileExistsError(f"`{path.name}` exists already.") from None
    finally:
        new.unlink(missing_ok=True)
    sync_directory(path.parent)


def remove_file(path: Path) -> None:
    """Remove a file, durably."""
    path.unlink()
    sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory and its missing parents, durably; it may exist already."""
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(f"`{path}` is a file, not a directory.") from None
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        sync_file(fd)
    finally:
        os.close(fd)


def sync_file(fd: int) -> None:
    """Make an open file durable, its data and its metadata."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fsync(fd)


def sync_data(fd: int) -> None:
    """Make the data of an open file durable, and of its metadata only the length."""
    if _HAS_FDATASYNC:
        os.fdatasync(fd)
    else:
        sync_file(fd)


def _write_new(path: Path, data: bytes) -> Path:
    """Write and sync a temporary file beside `path`, and return its path."""
    make_directory(path.parent)
    _sweep(path.parent)
    new = path.with_name(NEW + os.urandom(8).hex())
    try:
        with new.open("xb") as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return new


def _sweep(directory: Path) -> None:
    """Remove temporary files of killed processes, once for each process and directory."""
    if directory in _swept:
        return
    _swept.add(directory)
    for left in directory.glob(NEW + "*"):
        try:
            if left.stat().st_mtime < time.time() - _ABANDONED_S:
                left.unlink()
        except OSError:
            continue  # Another process removed it, or this one may not; a write goes on.

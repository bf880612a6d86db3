"""Putting a file in its place on a local disk, so that it is there whole or not at all.

A new file is written under a name of its own, synced, and then renamed or linked into place;
the directory is synced last. Whoever reads sees the old content or the new, and after a power
cut finds one of the two.
"""

import os
import time
from pathlib import Path
from typing import Final

NEW: Final = ".taskloom-new-"
"""How the names of files begin that are still being written."""
_ABANDONED_S: Final = 3600.0
"""After so long, a file that is still being written belongs to a process that has died."""

_swept: set[Path] = set()


def replace(place: Path, data: bytes) -> None:
    """Make a file or replace one."""
    if place.is_dir():
        raise IsADirectoryError(f"`{place.name}` is a directory.")
    fresh = _written(place, data)
    try:
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_directory(place.parent)


def create(place: Path, data: bytes) -> None:
    """Make a file that must not exist yet."""
    fresh = _written(place, data)
    try:
        os.link(fresh, place)
    except FileExistsError:
        raise FileExistsError(f"`{place.name}` exists already.") from None
    finally:
        fresh.unlink(missing_ok=True)
    sync_directory(place.parent)


def remove(place: Path) -> None:
    """Remove a file."""
    place.unlink()
    sync_directory(place.parent)


def make_directory(place: Path) -> None:
    """Make a directory and those above it, so that they survive a power cut."""
    if place.is_dir():
        return
    if place.parent != place:
        make_directory(place.parent)
    try:
        place.mkdir()
    except FileExistsError:
        if not place.is_dir():
            raise NotADirectoryError(f"`{place}` is a file, not a directory.") from None
    sync_directory(place.parent)


def sync_directory(place: Path) -> None:
    """Make names in a directory durable."""
    directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _written(place: Path, data: bytes) -> Path:
    """Write data beside the place it is meant for, and sync it."""
    make_directory(place.parent)
    _sweep(place.parent)
    fresh = place.with_name(NEW + os.urandom(8).hex())
    try:
        with fresh.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def _sweep(directory: Path) -> None:
    """Remove what killed processes left, once a process and directory."""
    if directory in _swept:
        return
    _swept.add(directory)
    for left in directory.glob(NEW + "*"):
        try:
            if left.stat().st_mtime < time.time() - _ABANDONED_S:
                left.unlink()
        except OSError:
            continue  # Somebody else removed it, or it may not be removed; neither stops a write.

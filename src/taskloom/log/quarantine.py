"""Putting the remains of a torn write where they are out of the way and not lost.

The order makes a crash at any point harmless: first the copy is durable, then the log is cut.
A crash in between leaves the torn tail in place, and it is set aside again.
"""

from contextlib import suppress
from itertools import count
from pathlib import Path

from taskloom.log.disk import CREATE, Disk


def quarantine_tail(
    disk: Disk, fd: int, path: Path, torn_dir: Path, at: int, *, durable: bool
) -> str:
    """Copy everything from offset `at` into a file of its own, then cut it off; return the copy."""
    torn = disk.read(fd, disk.size(fd) - at, at)
    copy = _keep(disk, torn, torn_dir, f"{path.name}.at-{at}", durable=durable)
    disk.truncate(fd, at)
    if durable:
        disk.sync(fd)
    return str(copy)


def _keep(disk: Disk, torn: bytes, torn_dir: Path, name: str, *, durable: bool) -> Path:
    disk.make_directory(torn_dir)
    for number in count(1):
        copy = torn_dir / f"{name}.{number}.torn"
        try:
            fd = disk.open(copy, CREATE)
        except FileExistsError:
            continue
        try:
            _fill(disk, fd, torn, durable=durable)
        except OSError:
            with suppress(OSError):
                disk.remove(copy)
            raise
        finally:
            disk.close(fd)
        if durable:
            disk.sync_directory(torn_dir)
        return copy
    raise AssertionError("count never ends")


def _fill(disk: Disk, fd: int, data: bytes, *, durable: bool) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(fd, rest) :]
    if durable:
        disk.sync(fd)

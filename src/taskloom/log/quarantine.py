"""Quarantine of torn writes: a copy in a directory of its own, then the log is cut.

The order makes a crash at any point harmless: the copy is durable before the log is cut. A crash
in between leaves the torn tail in place, and the next handle copies it again.
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
            write_all(disk, fd, torn)
            if durable:
                disk.sync(fd)
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


def write_all(disk: Disk, fd: int, data: bytes | bytearray) -> None:
    """Write every byte; a system may take fewer at a time than it is given."""
    taken = disk.write(fd, data)
    if taken == len(data):
        return
    rest = memoryview(data)[taken:]
    while rest:
        rest = rest[disk.write(fd, rest) :]

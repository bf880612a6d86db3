"""Files in a local directory: atomic, durable, and safe to share between processes."""

import os
import stat
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import anyio.to_thread

from taskloom.atomic_write import NEW, create_file, remove_file, write_file
from taskloom.files.local_lock import LOCK_NAME, lock_directory
from taskloom.files.protocol import FileInfo
from taskloom.files.text import (
    normalize_file_path,
    normalize_path,
    slice_lines,
    to_bytes,
    to_text,
)

_RESERVED: Final = (NEW, LOCK_NAME)
"""Prefixes of this backend's own files: not listed, and refused as paths."""


class LocalFiles:
    """A backend on a directory: paths are relative to it, or absolute and inside it.

    When `write`, `create` or `delete` has returned, the change survives a power cut. No path and
    no symbolic link leads outside the directory.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Set the directory; the first write creates it."""
        self._absolute = Path(os.path.abspath(root))
        self._root = Path(os.path.realpath(root))

    @property
    def root(self) -> Path:
        """The directory, with all symbolic links followed."""
        return self._root

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory."""
        return await anyio.to_thread.run_sync(self._list, path)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines."""
        data = await anyio.to_thread.run_sync(self._read, path)
        return slice_lines(to_text(data, path), offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Create or replace a file, durably."""
        await anyio.to_thread.run_sync(self._put, path, to_bytes(content), write_file)

    async def create(self, path: str, content: str) -> None:
        """Create a file that must not exist, durably."""
        await anyio.to_thread.run_sync(self._put, path, to_bytes(content), create_file)

    async def delete(self, path: str) -> None:
        """Remove a file, durably."""
        await anyio.to_thread.run_sync(self._delete, path)

    async def version(self, path: str) -> str:
        """Return the version of a file or directory."""
        try:
            return _version(self._inside(path).stat())  # One system call is too short for a thread.
        except (FileNotFoundError, NotADirectoryError):
            return ""

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Lock a directory against other tasks, threads and processes."""
        async with lock_directory(self._inside(path)):
            yield

    def _list(self, path: str) -> list[FileInfo]:
        target = self._inside(path)
        name = "" if target == self._root else target.relative_to(self._root).as_posix()
        try:
            with os.scandir(target) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            info = self._info(name, target.lstat)
            return [info] if info else []
        above = f"{name}/" if name else ""
        infos = [
            self._info(above + entry.name, lambda: entry.stat(follow_symlinks=False))  # noqa: B023 - called at once
            for entry in found
            if not entry.name.startswith(_RESERVED)
        ]
        return [info for info in infos if info is not None]

    def _info(self, path: str, look: Callable[[], os.stat_result]) -> FileInfo | None:
        """Return the info of an entry; None if it cannot be read, such as a link to the outside."""
        try:
            found = look()
            if stat.S_ISLNK(found.st_mode):
                found = self._inside(path).stat()
        except OSError:
            return None  # It was removed meanwhile, or is outside.
        if stat.S_ISDIR(found.st_mode):
            return FileInfo(path, is_dir=True, modified_s=found.st_mtime, version=_version(found))
        if not stat.S_ISREG(found.st_mode):
            return None
        return FileInfo(path, False, found.st_size, found.st_mtime, _version(found))

    def _read(self, path: str) -> bytes:
        target = self._inside(path)
        with _convert_missing(path):
            # Reading a pipe could block for ever, and a device never ends.
            if not stat.S_ISREG(target.stat().st_mode):
                raise IsADirectoryError(f"`{path}` is not a file.")
            return target.read_bytes()

    def _put(self, path: str, data: bytes, put: Callable[[Path, bytes], None]) -> None:
        put(self._entry(path), data)

    def _delete(self, path: str) -> None:
        target = self._entry(path)
        if target.is_dir() and not target.is_symlink():
            raise IsADirectoryError(f"`{path}` is a directory.")
        with _convert_missing(path):
            remove_file(target)

    def _inside(self, path: str) -> Path:
        """Return a path with all links resolved.

        Raises:
            PermissionError: it is outside the directory.
        """
        real = Path(os.path.realpath(self._root / self._relative(path)))
        if not real.is_relative_to(self._root):
            raise PermissionError(f"`{path}` leaves the storage through a link.")
        return real

    def _entry(self, path: str) -> Path:
        """Return the path of an entry whose directory is inside.

        The last part is not resolved: a write or a delete replaces the link, not its target.
        """
        name = normalize_file_path(self._relative(path))
        above, _, last = name.rpartition("/")
        return self._inside(above) / last

    def _relative(self, path: str) -> str:
        """Return a path relative to the root.

        Raises:
            PermissionError: it is absolute and outside, or a reserved name.
        """
        name = normalize_path(path)
        if path.startswith("/"):
            absolute = Path("/", name)
            roots = [root for root in (self._root, self._absolute) if absolute.is_relative_to(root)]
            if not roots:
                raise PermissionError(f"`{path}` is outside the storage {self._root}.")
            name = normalize_path(absolute.relative_to(roots[0]).as_posix())
        if name.rpartition("/")[2].startswith(_RESERVED):
            raise PermissionError(f"`{path}` is a reserved name.")
        return name


def _version(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}"


@contextmanager
def _convert_missing(path: str) -> Generator[None]:
    """Report a missing file the same way when its directory is a file."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"There is no file `{path}`.") from None

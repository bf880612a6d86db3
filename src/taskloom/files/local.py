"""Files in a directory of this machine: whole or not at all, durable, and shared by processes."""

import os
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import anyio.to_thread

from taskloom.files.atomic_write import NEW, create, make_directory, remove, replace
from taskloom.files.line_ranges import slice_lines
from taskloom.files.local_lock import LOCK_NAME, hold
from taskloom.files.protocol import FileInfo
from taskloom.files.text import clean_file, clean_path, to_bytes, to_text

_OURS: Final = (NEW, LOCK_NAME)
"""How names begin that this backend makes for itself: not listed, and not to be used by others."""


class LocalFiles:
    """A backend on a directory: paths are relative to it, or absolute and inside it.

    When `write`, `create` or `delete` has returned, the change survives a power cut. Nothing
    outside the directory is touched, whatever a path or a symbolic link says.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Name the directory; it is made when the first file is written."""
        self._named = Path(os.path.abspath(root))
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

    async def read_all(self, paths: Sequence[str]) -> dict[str, str | OSError]:
        """Read many files in one go."""
        return await anyio.to_thread.run_sync(self._read_all, paths)

    async def write(self, path: str, content: str) -> None:
        """Make or replace a file, durably."""
        await anyio.to_thread.run_sync(self._put, path, to_bytes(content), replace)

    async def create(self, path: str, content: str) -> None:
        """Make a file that must not exist yet, durably."""
        await anyio.to_thread.run_sync(self._put, path, to_bytes(content), create)

    async def delete(self, path: str) -> None:
        """Remove a file, durably."""
        await anyio.to_thread.run_sync(self._delete, path)

    async def version(self, path: str) -> str:
        """Return a text that changes with a file, or with the entries of a directory."""
        try:
            return _version(self._inside(path).stat())  # One system call: not worth a thread.
        except (FileNotFoundError, NotADirectoryError):
            return ""

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Hold a directory against tasks, threads and other processes."""
        directory = self._inside(path)
        await anyio.to_thread.run_sync(make_directory, directory)
        async with hold(directory):
            yield

    def _list(self, path: str) -> list[FileInfo]:
        place = self._inside(path)
        name = "" if place == self._root else place.relative_to(self._root).as_posix()
        try:
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            info = self._info(name, place.lstat)
            return [info] if info else []
        above = f"{name}/" if name else ""
        infos = [
            self._info(above + entry.name, lambda: entry.stat(follow_symlinks=False))  # noqa: B023 - called at once
            for entry in found
            if not entry.name.startswith(_OURS)
        ]
        return [info for info in infos if info is not None]

    def _info(self, path: str, look: Callable[[], os.stat_result]) -> FileInfo | None:
        """Describe an entry; None for what cannot be read from here, as a link that leads out."""
        try:
            found = look()
            if stat.S_ISLNK(found.st_mode):
                found = self._inside(path).stat()
        except OSError:
            return None  # Removed meanwhile, or outside.
        if stat.S_ISDIR(found.st_mode):
            return FileInfo(path, is_dir=True, modified_s=found.st_mtime, version=_version(found))
        if not stat.S_ISREG(found.st_mode):
            return None
        return FileInfo(path, False, found.st_size, found.st_mtime, _version(found))

    def _read_all(self, paths: Sequence[str]) -> dict[str, str | OSError]:
        found: dict[str, str | OSError] = {}
        folders: dict[str, Path] = {}  # Following links is what costs most, so once a directory.
        for path in paths:
            try:
                above, _, name = self._relative(path).rpartition("/")
                if above not in folders:
                    folders[above] = self._inside(above)
                place = folders[above] / name
                is_plain = stat.S_ISREG(place.lstat().st_mode)
                found[path] = to_text(place.read_bytes() if is_plain else self._read(path), path)
            except OSError as error:
                found[path] = error
        return found

    def _read(self, path: str) -> bytes:
        place = self._inside(path)
        with _missing(path):
            # A pipe would be waited for and a device never ends, so only files are opened.
            if not stat.S_ISREG(place.stat().st_mode):
                raise IsADirectoryError(f"`{path}` is no file.")
            return place.read_bytes()

    def _put(self, path: str, data: bytes, put: Callable[[Path, bytes], None]) -> None:
        put(self._entry(path), data)

    def _delete(self, path: str) -> None:
        place = self._entry(path)
        if place.is_dir() and not place.is_symlink():
            raise IsADirectoryError(f"`{path}` is a directory.")
        with _missing(path):
            remove(place)

    def _inside(self, path: str) -> Path:
        """Return where a path really is.

        Raises:
            PermissionError: that is outside.
        """
        real = Path(os.path.realpath(self._root / self._relative(path)))
        if not real.is_relative_to(self._root):
            raise PermissionError(f"`{path}` leads out of the storage through a link.")
        return real

    def _entry(self, path: str) -> Path:
        """Return the place of an entry of a directory that is inside.

        A link in that place is not followed: it is the link that is replaced or removed.
        """
        name = clean_file(self._relative(path))
        above, _, last = name.rpartition("/")
        return self._inside(above) / last

    def _relative(self, path: str) -> str:
        """Return a path relative to the root.

        Raises:
            PermissionError: it is absolute and elsewhere, or a name that is not for others.
        """
        name = clean_path(path)
        if path.startswith("/"):
            absolute = Path("/", name)
            roots = [root for root in (self._root, self._named) if absolute.is_relative_to(root)]
            if not roots:
                raise PermissionError(f"`{path}` is outside the storage, which is {self._root}.")
            name = clean_path(absolute.relative_to(roots[0]).as_posix())
        if name.rpartition("/")[2].startswith(_OURS):
            raise PermissionError(f"`{path}` is a name that the storage keeps for itself.")
        return name


def _version(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}"


@contextmanager
def _missing(path: str) -> Generator[None]:
    """Say in one way that a file is missing, also where its directory is a file."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"There is no file `{path}`.") from None

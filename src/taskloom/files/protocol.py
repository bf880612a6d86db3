"""What plan files and saved content ask of a storage: four async methods, and four it may add.

Paths are text with `/` between the parts. Content is text and comes back character for
character, whatever line ends or lone surrogates it holds. A missing file is
`FileNotFoundError`, a path that leads out of the storage `PermissionError`, one that cannot be
a path at all `ValueError`; everything else that goes wrong is an `OSError`, and then nothing
has changed.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from msgspec import Struct


class FileInfo(Struct, frozen=True):
    """One entry of a listing. `path` can be given to `read` and `delete` as it is.

    `version` is another text whenever the content may be another; never compare its order.
    """

    path: str
    is_dir: bool = False
    size: int = 0
    modified_s: float = 0.0
    version: str = ""


class Backend(Protocol):
    """A place for files."""

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List what is directly in a directory; a file lists itself, a missing path nothing."""
        ...

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text: all of it, or `limit` lines from line `offset` (from 0) on.

        Lines end at a newline (LF) alone and keep it, so that slices joined are the whole.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    async def write(self, path: str, content: str) -> None:
        """Make or replace a file, whole or not at all; directories are made as needed."""
        ...

    async def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...


@runtime_checkable
class Locking(Protocol):
    """A backend that can keep others out, other processes too."""

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Hold a directory for oneself inside the block; the lock dies with its process."""
        ...


@runtime_checkable
class Creating(Protocol):
    """A backend that can tell whether a name was still free when it wrote."""

    async def create(self, path: str, content: str) -> None:
        """Make a file that must not exist yet.

        Raises:
            FileExistsError: it does; it is left as it is.
        """
        ...


@runtime_checkable
class Versioning(Protocol):
    """A backend that can tell cheaply whether something may have changed."""

    async def version(self, path: str) -> str:
        """Return a text that is another when what is at the path may be another; "" if nothing is.

        Of a file it is the `version` of its listing. Of a directory it changes when a file
        directly in it is added, replaced whole or removed.
        """
        ...


@runtime_checkable
class Gathering(Protocol):
    """A backend to which reading many small files at once costs less than one by one."""

    async def read_all(self, paths: Sequence[str]) -> dict[str, str | OSError]:
        """Return for each path its whole text, or the error that `read` would raise."""
        ...

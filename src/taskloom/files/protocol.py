"""The storage protocol of plan files and offloaded content: four methods, and three optional ones.

Paths are text with `/` between the parts. Content is text and is returned unchanged, with all
line ends and lone surrogates. A missing file raises `FileNotFoundError`, a path outside the
storage `PermissionError`, a text that cannot be a path `ValueError`. Any other failure is an
`OSError`, and then nothing has changed.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from msgspec import Struct


class FileInfo(Struct, frozen=True):
    """One entry of a listing. `path` can be passed to `read` and `delete`.

    `version` differs whenever the content may differ; versions have no order.
    """

    path: str
    is_dir: bool = False
    size: int = 0
    modified_s: float = 0.0
    version: str = ""


class Backend(Protocol):
    """A storage of text files."""

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List the entries of a directory; a file lists itself, a missing path lists nothing."""
        ...

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text: all of it, or `limit` lines from line `offset` (from 0) on.

        Only LF ends a line, and lines keep it: joined slices are the whole text.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    async def write(self, path: str, content: str) -> None:
        """Create or replace a file atomically; create missing directories."""
        ...

    async def delete(self, path: str) -> None:
        """Delete a file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...


@runtime_checkable
class SupportsLock(Protocol):
    """A backend that can lock a directory."""

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Lock a directory against other tasks, threads and processes.

        The lock of a process that dies is released.
        """
        ...


@runtime_checkable
class SupportsCreate(Protocol):
    """A backend that can create a file only if it does not exist."""

    async def create(self, path: str, content: str) -> None:
        """Create a file that must not exist.

        Raises:
            FileExistsError: it exists, and stays unchanged.
        """
        ...


@runtime_checkable
class SupportsVersions(Protocol):
    """A backend with cheap version checks."""

    async def version(self, path: str) -> str:
        """Return the version of a path; "" if nothing is there.

        The version of a file is the one in its listing. The version of a directory changes when
        a file directly in it is added, replaced or removed.
        """
        ...

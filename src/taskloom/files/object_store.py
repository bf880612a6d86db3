"""Files in an object store: S3, GCS, Azure, or any other that obstore supports.

    from obstore.store import S3Store
    files = ObjectFiles(S3Store("bucket", prefix="agents"))

Needs the extra `objects`. An object store has no locks, so one process at a time may use a plan
in it, through one `ObjectFiles`; `create` still fails for the second of two writers of one name.
Writes are as durable as the store makes them.

Calls run in worker threads instead of obstore's own coroutines: a thread of the library may still
hold Python objects after a coroutine has returned, and a program that exits then is aborted.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from anyio import to_thread

from taskloom.files.protocol import FileInfo
from taskloom.files.text import (
    normalize_file_path,
    normalize_path,
    slice_lines,
    to_bytes,
    to_text,
)

try:
    import obstore
    from obstore.exceptions import (
        AlreadyExistsError,
        PermissionDeniedError,
        UnauthenticatedError,
    )
    from obstore.exceptions import BaseError as StoreError
    from obstore.store import ObjectStore
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Object stores need the extra `objects`: pip install 'taskloom[objects]' ({error}).",
        name=error.name,
    ) from error


class ObjectFiles:
    """A backend over an obstore store; a prefix of the store limits it to a part of a bucket."""

    def __init__(self, store: ObjectStore) -> None:
        """Wrap a store; nothing is requested yet."""
        self._store = store

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory: the objects whose names extend the path by one part."""
        name = normalize_path(path)
        with _convert_errors(path):
            return await to_thread.run_sync(self._list, name)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines, fetching no more than needed."""
        name = normalize_file_path(path)
        lines_max = None if limit is None or min(offset, limit) < 0 else offset + limit
        with _convert_errors(path):
            data = await to_thread.run_sync(self._fetch, name, lines_max)
        return slice_lines(to_text(data, path), offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Create or replace a file."""
        with _convert_errors(path):
            name, data = normalize_file_path(path), to_bytes(content)
            await to_thread.run_sync(self._put, name, data, "overwrite")

    async def create(self, path: str, content: str) -> None:
        """Create a file that must not exist."""
        with _convert_errors(path):
            name, data = normalize_file_path(path), to_bytes(content)
            await to_thread.run_sync(self._put, name, data, "create")

    async def delete(self, path: str) -> None:
        """Remove a file."""
        name = normalize_file_path(path)
        with _convert_errors(path):
            await to_thread.run_sync(self._delete, name)

    def _list(self, name: str) -> list[FileInfo]:
        itself = self._head(name) if name else None
        if itself is not None:
            return [itself]
        found = obstore.list_with_delimiter(self._store, name or None)  # pyright: ignore[reportUnknownMemberType]  # another overload names a type of an extra
        infos = [FileInfo(one, is_dir=True) for one in found["common_prefixes"]]
        infos += [_info(one) for one in found["objects"]]
        return sorted(infos, key=lambda info: info.path)

    def _fetch(self, name: str, lines_max: int | None) -> bytes:
        """Return the first `lines_max` lines of an object; None is all of it."""
        data, lines = bytearray(), 0
        for chunk in obstore.get(self._store, name).stream():
            data += chunk
            lines += bytes(chunk).count(b"\n")
            if lines_max is not None and lines >= lines_max:
                # The chunk may end inside a character, but not inside a requested line.
                del data[data.rfind(b"\n") + 1 :]
                break
        return bytes(data)

    def _put(self, name: str, data: bytes, mode: Literal["create", "overwrite"]) -> None:
        obstore.put(self._store, name, data, mode=mode)

    def _delete(self, name: str) -> None:
        # Most stores do not report that there was nothing to delete.
        obstore.head(self._store, name)
        obstore.delete(self._store, name)

    def _head(self, name: str) -> FileInfo | None:
        try:
            return _info(obstore.head(self._store, name))
        except FileNotFoundError:
            return None


def _info(found: "obstore.ObjectMeta") -> FileInfo:
    modified = found["last_modified"]
    version = found["version"] or found["e_tag"] or f"{modified.isoformat()}-{found['size']}"
    return FileInfo(found["path"], False, found["size"], modified.timestamp(), version)


@contextmanager
def _convert_errors(path: str) -> Generator[None]:
    """Turn the store's errors into those of the `Backend` protocol."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file `{path}`.") from None
    except (FileExistsError, AlreadyExistsError):
        raise FileExistsError(f"`{path}` already exists.") from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(f"The store refuses `{path}`: {_first_line(error)}") from error
    except StoreError as error:
        if "NotADirectory" in str(error):  # A local store reports a path below a file this way.
            raise FileNotFoundError(f"There is no file `{path}`.") from None
        raise OSError(f"The store failed on `{path}`: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

"""Files in an object store: S3, GCS, Azure, or any other that obstore knows.

    from obstore.store import S3Store
    files = ObjectFiles(S3Store("bucket", prefix="agents"))

Needs the extra `objects`. An object store has no locks, so a plan in it belongs to one process at
a time, and there to one `ObjectFiles`; `create` still tells two writers of one name apart. What is
written is as durable as the store makes it.

The store is asked in worker threads and not by obstore's own coroutines: after one of those, a
thread of the library may still hold Python objects, and a program that ends then is aborted.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from anyio import to_thread

from taskloom.files.line_ranges import slice_lines
from taskloom.files.protocol import FileInfo
from taskloom.files.text import clean_file, clean_path, to_bytes, to_text

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
    """A backend over an obstore store; give the store a prefix to keep to a part of a bucket."""

    def __init__(self, store: ObjectStore) -> None:
        """Take the store as it is; nothing is asked of it yet."""
        self._store = store

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory: the objects whose names continue the path by one part."""
        name = clean_path(path)
        with _told(path):
            return await to_thread.run_sync(self._list, name)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines; no more is fetched than that needs."""
        name = clean_file(path)
        wanted = None if limit is None or min(offset, limit) < 0 else offset + limit
        with _told(path):
            data = await to_thread.run_sync(self._fetch, name, wanted)
        return slice_lines(to_text(data, path), offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Make or replace a file."""
        with _told(path):
            name, data = clean_file(path), to_bytes(content)
            await to_thread.run_sync(self._put, name, data, "overwrite")

    async def create(self, path: str, content: str) -> None:
        """Make a file that must not exist yet."""
        with _told(path):
            name, data = clean_file(path), to_bytes(content)
            await to_thread.run_sync(self._put, name, data, "create")

    async def delete(self, path: str) -> None:
        """Remove a file."""
        name = clean_file(path)
        with _told(path):
            await to_thread.run_sync(self._delete, name)

    def _list(self, name: str) -> list[FileInfo]:
        itself = self._head(name) if name else None
        if itself is not None:
            return [itself]
        found = obstore.list_with_delimiter(self._store, name or None)  # pyright: ignore[reportUnknownMemberType]  # another overload names a type of an extra
        infos = [FileInfo(one, is_dir=True) for one in found["common_prefixes"]]
        infos += [_info(one) for one in found["objects"]]
        return sorted(infos, key=lambda info: info.path)

    def _fetch(self, name: str, wanted: int | None) -> bytes:
        """Return the beginning of an object, up to so many lines; None is all of it."""
        data, lines = bytearray(), 0
        for chunk in obstore.get(self._store, name).stream():
            data += chunk
            lines += bytes(chunk).count(b"\n")
            if wanted is not None and lines >= wanted:
                # The chunk may end inside a character, but not inside a line that is asked for.
                del data[data.rfind(b"\n") + 1 :]
                break
        return bytes(data)

    def _put(self, name: str, data: bytes, mode: Literal["create", "overwrite"]) -> None:
        obstore.put(self._store, name, data, mode=mode)

    def _delete(self, name: str) -> None:
        # Most stores do not say whether there was anything to remove.
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
def _told(path: str) -> Generator[None]:
    """Turn the store's errors into those that every backend raises."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file `{path}`.") from None
    except (FileExistsError, AlreadyExistsError):
        raise FileExistsError(f"`{path}` exists already.") from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(f"The store refuses `{path}`: {_first_line(error)}") from error
    except StoreError as error:
        if "NotADirectory" in str(error):  # A local store says so of a path beneath a file.
            raise FileNotFoundError(f"There is no file `{path}`.") from None
        raise OSError(f"The store failed on `{path}`: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

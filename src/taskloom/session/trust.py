"""Which projects may run what their own files name: answered once per content, kept elsewhere.

A cloned project may bring a configuration that names programs, Python code, MCP servers or the
address of a model. None of it is imported, started or sent to until a person trusts it. The
answer is kept outside the project, with a digest of all that it names: a change asks again.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from taskloom.atomic_write import make_directory, write_file
from taskloom.errors import StorageError

FILE_BYTES_MAX: Final = 8 << 20
"""Larger files count by their size and time of change."""

Named: TypeAlias = Iterable[tuple[str, str]]
"""What a project names, in words for a person: the kind (`program`) and the value (`./work.sh`)."""


class _Trusted(Struct):
    version: int = 1
    digests: dict[str, str] = {}
    """By project directory."""


def default_trust_file(environ: Mapping[str, str]) -> Path:
    """Return where the answers of this user are kept."""
    home = environ.get("XDG_STATE_HOME") or str(
        Path(environ.get("HOME", "~")).expanduser() / ".local/state"
    )
    return Path(home) / "taskloom" / "trusted.json"


class TrustStore:
    """The projects that a person trusts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_trusted(self, project: Path, digest: str) -> bool:
        """Return whether a person trusted this project with this very content."""
        return self._read().digests.get(_key(project)) == digest

    def trust(self, project: Path, digest: str) -> None:
        """Keep a person's yes.

        Raises:
            StorageError: it cannot be written.
        """
        trusted = self._read()
        trusted.digests[_key(project)] = digest
        self._write(trusted)

    def revoke(self, project: Path) -> bool:
        """Forget a yes; return whether there was one."""
        trusted = self._read()
        if trusted.digests.pop(_key(project), None) is None:
            return False
        self._write(trusted)
        return True

    def _read(self) -> _Trusted:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Trusted)
        except FileNotFoundError:
            return _Trusted()
        except (OSError, msgspec.DecodeError):
            return _Trusted()  # What cannot be read is no yes; the next answer writes it anew.

    def _write(self, trusted: _Trusted) -> None:
        try:
            make_directory(self._path.parent)
            write_file(self._path, msgspec.json.encode(trusted))
        except OSError as error:
            raise StorageError(
                f"The answer cannot be kept in {self._path}: {error.strerror or error}. Make the "
                "directory writable, or set XDG_STATE_HOME to one that is."
            ) from error


def digest_of(project: Path, named: Named, files: Iterable[Path] = ()) -> str:
    """Return a digest of what a project names, and of the content of the files among it."""
    digest = hashlib.sha256()
    for kind, value in sorted(named):
        digest.update(msgspec.json.encode((kind, value)))
    for path in sorted(set(files)):
        digest.update(msgspec.json.encode((_inside(project, path), _content(path))))
    return digest.hexdigest()


def _content(path: Path) -> str:
    try:
        status = path.stat()
        if status.st_size > FILE_BYTES_MAX:
            return f"{status.st_size} {status.st_mtime_ns}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"


def _inside(project: Path, path: Path) -> str:
    return os.path.relpath(path, project)


def _key(project: Path) -> str:
    return str(project.resolve())

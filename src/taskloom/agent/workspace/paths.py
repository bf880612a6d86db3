"""Which paths a workspace tool may touch: inside the directory, and nothing secret unasked.

Symbolic links are resolved before anything is decided, so a link that leads outside is outside.
What names of secrets look like is one list here. The check happens before the file is opened;
it keeps a model honest and is no wall against another program that swaps files meanwhile.
"""

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SECRET_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc", ".git-credentials", "*.ppk"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".pgpass", ".htpasswd"),
    *("credentials", "credentials.*", ".npmrc", ".pypirc", "*.secret", "secrets.*"),
)
SECRET_FOLDERS: Final = (".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".kube", ".docker")
HARMLESS: Final = (".env.example", ".env.sample", ".env.template", "*.pub")


class OutsideWorkspaceError(Exception):
    """A path that leads out of the workspace."""


def resolve(root: Path, path: str, also: Sequence[Path] = ()) -> Path:
    """Return where a path inside the workspace, or one of its other directories, really is.

    Raises:
        OutsideWorkspaceError: it leads out.
    """
    real_root = root.resolve()
    if "\0" in path:
        raise OutsideWorkspaceError("a path cannot hold a zero byte")
    real = (real_root / path).resolve()
    if not any(real.is_relative_to(one.resolve()) for one in (root, *also)):
        raise OutsideWorkspaceError(
            f"`{path}` is outside the workspace; use paths inside it, such as `src/main.py`"
        )
    return real


def is_secret(root: Path, real: Path) -> bool:
    """Tell whether a resolved path looks like it holds a secret."""
    inside = real.relative_to(root.resolve())
    if any(part.lower() in SECRET_FOLDERS for part in inside.parts):
        return True
    name = inside.name.lower()
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in HARMLESS):
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_NAMES)


def shown(root: Path, real: Path) -> str:
    """Return a resolved path as the model knows it."""
    inside = real.relative_to(root.resolve()).as_posix()
    return inside if inside != "." else "./"

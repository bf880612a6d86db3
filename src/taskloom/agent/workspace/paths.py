"""Which paths a workspace tool may use: inside the directory, and secrets only with permission.

Symbolic links are resolved before the check, so a link that leads outside is outside. The patterns
of secret names are one list here. The check happens before the file is opened: it stops a model,
not another program that swaps files in between.
"""

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from taskloom.agent.errors import ToolError
from taskloom.errors import Code

SECRET_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc", ".git-credentials", "*.ppk"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".pgpass", ".htpasswd"),
    *("credentials", "credentials.*", ".npmrc", ".pypirc", "*.secret", "secrets.*"),
)
SECRET_FOLDERS: Final = (".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".kube", ".docker")
HARMLESS: Final = (".env.example", ".env.sample", ".env.template", "*.pub")


class OutsideWorkspaceError(ToolError):
    """A path leads out of the workspace; use one inside it."""

    CODE = Code.PERMISSION_DENIED


def resolve_path(root: Path, path: str, also: Sequence[Path] = ()) -> Path:
    """Return a path inside the workspace or its other directories, symbolic links resolved.

    Raises:
        OutsideWorkspaceError: it is outside of them.
    """
    real_root = root.resolve()
    if "\0" in path:
        raise OutsideWorkspaceError("A path cannot contain a zero byte.")
    real = (real_root / path).resolve()
    if not any(real.is_relative_to(one.resolve()) for one in (root, *also)):
        raise OutsideWorkspaceError(
            f"`{path}` is outside the workspace; use a path inside it, such as `src/main.py`."
        )
    return real


def is_secret(root: Path, real: Path) -> bool:
    """Return whether a resolved path looks like it holds a secret."""
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

"""What a secret looks like: by its name, by its directory, and by the other names of a file."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SECRET_FOLDERS: Final = frozenset(
    {
        *(".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".kube", ".docker", ".vault", ".secrets"),
        *(".password-store", ".terraform.d"),
    }
)
"""Directories in which everything is a secret."""
_MIXED_FOLDERS: Final = frozenset({"secrets", "credentials", "gcloud", "gh"})
"""Directories in which everything but source code is; `gh` and `gcloud` below `.config` alone."""
_BELOW_CONFIG: Final = frozenset({"gcloud", "gh"})

_EXTENSIONS: Final = "pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|age|secret|tfstate|ovpn"
_NAMES: Final = (
    r"\.?env(rc)?([._-].*)?",  # .env, .env.local, .env-prod, env.production
    r".*\.env",
    r".*(id_(rsa|dsa|ecdsa|ed25519)(_sk)?)([._-].*)?",
    rf".*\.({_EXTENSIONS})",
    r".*(credential|passwd|password|passphrase|htpasswd).*",
    r"\.?(netrc|_netrc|pgpass|my\.cnf|dockercfg|npmrc|pypirc|vault-token|git-credentials|s3cfg)",
    r"(.*[._-])?(secret|token|apikey|api[._-]key)s?([._-].*)?",
    r".*service[._-]?account.*\.json",
    r"(auth|oauth.*|client_secret.*)\.json",
    r"kubeconfig.*",
    r"\.?boto",
    r".*\.(pkcs12|pkcs8)",
)
_SECRET: Final = re.compile("|".join(f"(?:{name})" for name in _NAMES))
_COPY: Final = re.compile(r"(~|\.(bak|backup|old|orig|save|swp|swo|tmp|copy|\d+|gz|zip|txt))+$")
"""What copies and backups of a file add to its name."""
_HARMLESS: Final = re.compile(
    r".*\.(example|sample|template|dist|defaults?|pub)|env|.*\.(py|pyi|ts|tsx|js|jsx|go|rs|rb|java"
    r"|kt|c|cc|cpp|h|hpp|cs|swift|php|md|rst|html|css|scss|svg|png|lock)"
)
"""Examples, public halves and source code, which talks about secrets without being one."""

_WALK_MAX: Final = 20_000
_SKIPPED: Final = frozenset({"node_modules", ".git", "__pycache__"})


def is_secret(root: Path, real: Path) -> bool:
    """Return whether a resolved path looks like it holds a secret."""
    inside = real.relative_to(root.resolve())
    if _is_in_secret_folder(inside):
        return True
    if looks_secret(inside.name):
        return True
    return _is_link_to_secret(root, real)


def looks_secret(name: str) -> bool:
    """Return whether a file of this name is likely to hold a secret."""
    name = name.lower()
    plain = _COPY.sub("", name)
    if _HARMLESS.fullmatch(name) or _HARMLESS.fullmatch(plain):
        return False
    return any(_SECRET.fullmatch(one) for one in {name, plain})


def secret_files(root: Path) -> Iterator[Path]:
    """Yield the files of a project that look like secrets; large projects not to their end."""
    seen = 0
    for folder, folders, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in names:
            seen += 1
            if seen > _WALK_MAX:
                return
            if looks_secret(name) or _is_in_secret_folder(inside / name):
                yield Path(folder, name)


def _is_in_secret_folder(inside: Path) -> bool:
    *folders, name = (part.lower() for part in inside.parts) if inside.parts else ("",)
    if SECRET_FOLDERS & {*folders, name}:
        return True
    if _HARMLESS.fullmatch(name):
        return False
    return any(
        folder in _MIXED_FOLDERS and (folder not in _BELOW_CONFIG or ".config" in folders[:place])
        for place, folder in enumerate(folders)
    )


def _is_link_to_secret(root: Path, real: Path) -> bool:
    """Return whether a file has another name in the project that looks like a secret."""
    try:
        status = real.stat()
    except OSError:
        return False
    if status.st_nlink < 2 or real.is_dir():
        return False
    for path in secret_files(root.resolve()):
        try:
            if os.path.samestat(status, path.lstat()):
                return True
        except OSError:
            continue
    return False

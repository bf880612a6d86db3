"""Which paths a workspace tool may use: inside the directory, and secrets only with permission.

Symbolic links are resolved before the check, so a link that leads outside is outside. The file is
then opened without following links (see `link_safe_files`), so a directory that becomes a link
between check and use leads nowhere.
"""

from collections.abc import Sequence
from pathlib import Path

from taskloom.agent.errors import ToolError
from taskloom.errors import Code


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


def shown(root: Path, real: Path) -> str:
    """Return a resolved path as the model knows it."""
    inside = real.relative_to(root.resolve()).as_posix()
    return inside if inside != "." else "./"

"""What this program is called from here, and how it is called again."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from taskloom.cli.arguments import STATE_DIR


def program_name() -> str:
    """Return how this program can be called from here."""
    if shutil.which("taskloom"):
        return "taskloom"
    return os.path.relpath(sys.argv[0]) if sys.argv[0].endswith("taskloom") else "taskloom"


def go_on(session_id: str, project: Path, state_dir: str) -> str:
    """Return the command that goes on with a session; it names what it would not find by itself."""
    words = [program_name(), "run", "--resume", session_id]
    if not _is_here(project):
        words += ["--project", str(project)]
    if state_dir != STATE_DIR:
        words += ["--state-dir", state_dir]
    return shlex.join(words)


def _is_here(project: Path) -> bool:
    try:
        return project.samefile(".")
    except OSError:  # There is no working directory any more.
        return False

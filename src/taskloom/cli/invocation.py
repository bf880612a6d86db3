"""Commands that messages suggest: how to run this program again from here."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from taskloom.cli.arguments import STATE_DIR


def program_name() -> str:
    """Return the name or path that starts this program from here."""
    if shutil.which("taskloom"):
        return "taskloom"
    return os.path.relpath(sys.argv[0]) if sys.argv[0].endswith("taskloom") else "taskloom"


def resume_command(session_id: str, project: Path, state_dir: str) -> str:
    """Return the command that resumes a session; defaults are left out."""
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

"""What this program is called from here."""

import os
import shutil
import sys


def program_name() -> str:
    """Return how this program can be called from here."""
    if shutil.which("taskloom"):
        return "taskloom"
    return os.path.relpath(sys.argv[0]) if sys.argv[0].endswith("taskloom") else "taskloom"

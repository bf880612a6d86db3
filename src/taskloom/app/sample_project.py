"""The sample project of the demo, with a script for its models."""

import json
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from taskloom.errors import Code, RefusedError

GOAL: Final = "Make the tests of this shop pass, and report the changes."

_SUFFIX: Final = ".txt"
"""The suffix of the sample's files, so that tools do not take them for part of this package."""


def write_sample(project: Path) -> None:
    """Write the project into a directory that is new or empty.

    Raises:
        RefusedError: it is not empty.
    """
    if project.exists() and any(project.iterdir()):
        raise RefusedError(
            Code.PATH_CONFLICT,
            f"{project} is not empty. Nothing was overwritten. Choose another directory.",
            {"path": str(project)},
        )
    with as_file(files("taskloom.app") / "sample") as sample:
        for source in sorted(sample.rglob(f"*{_SUFFIX}")):
            name = source.relative_to(sample).as_posix().removesuffix(_SUFFIX)
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # The running Python certainly exists.
            text = source.read_text("utf-8").replace('"python3"', json.dumps(sys.executable))
            path.write_text(text, "utf-8")

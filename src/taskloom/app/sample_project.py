"""A small project to work on, with a script for its models: what the demo runs."""

import json
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from taskloom.errors import Code, RefusedError

GOAL: Final = "Make the tests of this shop pass, and report the changes."

_SUFFIX: Final = ".txt"
"""The sample's files carry it, so that nobody takes them for a part of this package."""


def write_sample(project: Path) -> None:
    """Write the project into a directory that is new or empty.

    Raises:
        RefusedError: there is something in it.
    """
    if project.exists() and any(project.iterdir()):
        raise RefusedError(
            Code.PATH_CONFLICT,
            f"{project} is not empty. Nothing was overwritten; choose another directory.",
            {"path": str(project)},
        )
    with as_file(files("taskloom.app") / "sample") as sample:
        for source in sorted(sample.rglob(f"*{_SUFFIX}")):
            name = source.relative_to(sample).as_posix().removesuffix(_SUFFIX)
            place = project / name
            place.parent.mkdir(parents=True, exist_ok=True)
            # The Python that runs this is one that is there.
            text = source.read_text("utf-8").replace('"python3"', json.dumps(sys.executable))
            place.write_text(text, "utf-8")

"""Plays one story, given as JSON on stdin, in the current directory; exits 1 where it goes wrong.

Runs as a program of its own, so that no story sees what another left behind.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":  # The program starts in an empty directory, away from the tree.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.docs.blocks import Block, Story
from tests.docs.commands import Command, commands, fits

TIMEOUT_S = 60


def play_python(page: str, block: Block, names: dict[str, object]) -> None:
    # The empty lines make a traceback point at the page's own line.
    code = compile("\n" * (block.line - 1) + block.text, page, "exec")
    exec(code, names)


def play_command(page: str, command: Command) -> str:
    """Runs one command; the answer is a complaint, or nothing."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", command.line],
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    place = f"{page}:{command.number}: $ {command.line}"
    if done.returncode != command.exit_code:
        return f"{place}\nexits {done.returncode}, not {command.exit_code}:\n{done.stdout}"
    if not fits(command.output, done.stdout):
        said = "\n".join(command.output)
        return f"{place}\nthe page says:\n{said}\nit prints:\n{done.stdout}"
    return ""


def play(story: Story) -> str:
    """Plays every block in order up to the first complaint, which is the answer."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in story.blocks:
        if block.language == "python":
            play_python(story.page, block, names)
            continue
        for command in commands(block.text, block.line):
            if command.program == "taskloom" and (complaint := play_command(story.page, command)):
                return complaint
    return ""


if __name__ == "__main__":
    data = json.load(sys.stdin)
    sys.exit(play(Story(data["page"], [Block(**block) for block in data["blocks"]])) or 0)

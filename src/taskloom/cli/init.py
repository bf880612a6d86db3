"""The command that sets up a project: init. It never overwrites a file."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct

from taskloom.agent import Language
from taskloom.cli.arguments import STATE_DIR
from taskloom.cli.exit_codes import FINE
from taskloom.cli.find_project import find_project
from taskloom.cli.output import print_json
from taskloom.config import DEFAULT_WORKER, FILE_NAME, built_in_definitions
from taskloom.view.format import clean

_CONFIG: Final = """\
# How Taskloom works in this project. Every key may be left out; `taskloom doctor` checks the file.

[model]
# The environment variable TASKLOOM_MODEL goes before this one.
# name = "anthropic:claude-…"      # with ANTHROPIC_API_KEY
# name = "openai:gpt-…"            # with OPENAI_API_KEY
# base_url = "http://localhost:8000/v1"
# api_key_env = "MY_KEY"           # the variable with the key; never the key itself
# settings = {{ temperature = 0 }}

[run]
language = "{language}"
# What workers may do without a question. Nothing here opens files that look like secrets.
# allow = {{ write = ["src/**"], run = ["make test"] }}

# Workers that may take the same steps. A step that names no pool belongs to `default`.
[[pools]]
pool_id = "default"

[[pools.workers]]
agent = "worker"                   # agents/worker.md
count = 3

# A worker need not be a model: a program gets the step as a line of JSON.
# [[pools.workers]]
# executor = "tests"
#
# [executors.tests]
# type = "process"
# command = ["make", "test"]

[task]
# step_lease_timeout_ms = 300000

[agents]
# default_child_timeout_ms = 600000
# child_cancel_timeout_ms = 30000

[context]
# task_board_token_budget = 1200
"""

_WORKER: Final = """\
---
id: worker
name: {name}
description: {description}
# model: openai:gpt-…
# tools: [read_file, list_dir, search]
tags: [general]
---
{body}
"""

Deed = Literal["made", "kept", "changed"]


class Done(Struct, frozen=True):
    """What became of one file."""

    path: str
    deed: Deed


def init(given: Namespace) -> int:
    """Write what is missing, leave what is there, and say so."""
    project = find_project(given, upward=False)
    language = cast("Language", given.language)
    done = [
        _make(project / FILE_NAME, _CONFIG.format(language=language)),
        _make(project / "agents" / "worker.md", _worker(language)),
        _ignore(project / ".gitignore"),
    ]
    if given.json:
        print_json({"project": str(project), "files": done})
        return FINE
    for each in done:
        sys.stdout.write(f"{each.deed:8}{clean(each.path)}\n")
    sys.stdout.write(
        "\nNext:\n"
        f"  1. name a model: TASKLOOM_MODEL=provider:model, or [model] in {FILE_NAME}\n"
        "  2. taskloom doctor     says whether everything is set up\n"
        '  3. taskloom run "…"    plans a goal and has it carried out\n'
    )
    return FINE


def _worker(language: Language) -> str:
    definitions = {each.id: each for each in built_in_definitions(language)}
    worker = definitions[DEFAULT_WORKER]
    return _WORKER.format(name=worker.name, description=worker.description, body=worker.body)


def _make(path: Path, text: str) -> Done:
    """Write a file that is not there; half a file is taken away again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        return Done(str(path), "kept")
    try:
        with file:
            file.write(text)
    except OSError:
        path.unlink()
        raise
    return Done(str(path), "made")


def _ignore(path: Path) -> Done:
    """Keep the state out of version control."""
    if not path.exists():
        return _make(path, f"{STATE_DIR}/\n")
    text = path.read_bytes()
    names = {line.strip().strip(b"/") for line in text.splitlines()}
    if STATE_DIR.encode() in names:
        return Done(str(path), "kept")
    with path.open("ab") as file:
        file.write(b"" if not text or text.endswith(b"\n") else b"\n")
        file.write(f"{STATE_DIR}/\n".encode())
    return Done(str(path), "changed")

"""`taskloom init`: sets up a project. It never overwrites a file."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct

from taskloom.agent import Language
from taskloom.cli.arguments import STATE_DIR
from taskloom.cli.exit_codes import OK
from taskloom.cli.locate import find_project
from taskloom.cli.output import print_json
from taskloom.config import DEFAULT_WORKER, FILE_NAME, built_in_definitions
from taskloom.view.format import clean

_CONFIG: Final = """\
# Configuration of Taskloom. Every key is optional; `taskloom doctor` checks this file.

[model]
# The environment variable TASKLOOM_MODEL overrides the name.
# name = "anthropic:claude-…"      # with ANTHROPIC_API_KEY
# name = "openai:gpt-…"            # with OPENAI_API_KEY
# base_url = "http://localhost:8000/v1"
# api_key_env = "MY_KEY"           # the variable that holds the key; never the key itself
# settings = {{ temperature = 0 }}

[run]
language = "{language}"
# What workers may do without asking. Files that look like secrets always need an answer.
# allow = {{ write = ["src/**"], run = [["make", "test"]] }}

# A pool is a group of workers. A step without a pool goes to `default`.
[[pools]]
pool_id = "default"

[[pools.workers]]
agent = "worker"                   # agents/worker.md
count = 3

# A worker can also be a program, which gets the step as a line of JSON.
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

FileAction = Literal["created", "kept", "changed"]


class FileResult(Struct, frozen=True):
    """What `init` did with one file."""

    path: str
    action: FileAction


def init(args: Namespace) -> int:
    """Write the files that are missing, keep the others, and report both."""
    project = find_project(args, upward=False)
    language = cast("Language", args.language)
    results = [
        _create(project / FILE_NAME, _CONFIG.format(language=language)),
        _create(project / "agents" / "worker.md", _worker(language)),
        _ignore(project / ".gitignore"),
    ]
    if args.json:
        print_json({"project": str(project), "files": results})
        return OK
    for each in results:
        sys.stdout.write(f"{each.action:9}{clean(each.path)}\n")
    sys.stdout.write(
        "\nNext:\n"
        f"  1. choose a model: TASKLOOM_MODEL=provider:model, or [model] in {FILE_NAME}\n"
        "  2. taskloom doctor     checks that everything is set up\n"
        '  3. taskloom run "…"    plans a goal and runs it\n'
    )
    return OK


def _worker(language: Language) -> str:
    definitions = {each.id: each for each in built_in_definitions(language)}
    worker = definitions[DEFAULT_WORKER]
    return _WORKER.format(name=worker.name, description=worker.description, body=worker.body)


def _create(path: Path, text: str) -> FileResult:
    """Create a file unless it exists; a file that cannot be written whole is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        return FileResult(str(path), "kept")
    try:
        with file:
            file.write(text)
    except OSError:
        path.unlink()
        raise
    return FileResult(str(path), "created")


def _ignore(path: Path) -> FileResult:
    """Add the state directory to .gitignore."""
    if not path.exists():
        return _create(path, f"{STATE_DIR}/\n")
    text = path.read_bytes()
    names = {line.strip().strip(b"/") for line in text.splitlines()}
    if STATE_DIR.encode() in names:
        return FileResult(str(path), "kept")
    with path.open("ab") as file:
        file.write(b"" if not text or text.endswith(b"\n") else b"\n")
        file.write(f"{STATE_DIR}/\n".encode())
    return FileResult(str(path), "changed")

"""Who says yes: the allow list, the person, and never to what has happened."""

from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.agent import Agent, ScriptedModel, call_tool
from taskloom.agent.workspace import Workspace
from taskloom.app.permissions import Permissions


def write(project: Path, state: str, path: str) -> bool:
    """Have a worker that may do anything write a file; tell whether it could."""
    permissions = Permissions(yes=True, state=project / state)
    tools = Workspace(project, permit=permissions.permit("worker")).tools()
    model = ScriptedModel([call_tool("write_file", path=path, content="changed"), "Done."])
    result = Agent(model, tools).invoke_sync("Write it.")
    (answer,) = [message for message in result.messages if message.role == "tool"]
    return not answer.is_error


def plain(project: Path) -> None:
    (project / ".taskloom").mkdir()
    (project / "link").symlink_to(".taskloom")


def linked(project: Path) -> None:
    (project / "elsewhere").mkdir()
    (project / ".taskloom").symlink_to("elsewhere")


def not_there_yet(_project: Path) -> None: ...


@pytest.mark.parametrize(
    ("prepare", "state", "path"),
    [
        (plain, ".taskloom", ".taskloom/tasks/s/t.wal.jsonl"),
        (plain, ".taskloom", "src/../.taskloom/x"),
        (plain, ".taskloom", "link/x"),
        (linked, ".taskloom", ".taskloom/x"),
        (linked, ".taskloom", "elsewhere/tasks/x"),
        (not_there_yet, ".taskloom", ".taskloom/x"),
        (not_there_yet, "var/state", "var/state/x"),
    ],
)
def test_nobody_writes_to_the_state_dir_by_whatever_name(
    tmp_path: Path, prepare: Callable[[Path], None], state: str, path: str
) -> None:
    prepare(tmp_path)
    assert not write(tmp_path, state, path)
    assert not (tmp_path / path).exists()


def test_what_only_looks_like_the_state_dir_may_be_written(tmp_path: Path) -> None:
    plain(tmp_path)
    assert write(tmp_path, ".taskloom", "src/.taskloom/x")
    assert write(tmp_path, ".taskloom", ".taskloom-notes")

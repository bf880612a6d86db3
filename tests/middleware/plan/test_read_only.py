"""A read-only list: it is shown, and a change reports why it failed."""

import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from taskloom.files import LocalFiles
from taskloom.middleware import PlanTasks
from tests.middleware.plan.plan_calls import add_tasks

_READER = """
import os, sys
import anyio
from taskloom.agent import Agent, ScriptedModel, call_tool
from taskloom.files import LocalFiles
from taskloom.middleware import PlanTasks

change = call_tool("TaskCreate", subject="x", description="y")
model = ScriptedModel([call_tool("TaskList"), change, "done"])
plan = PlanTasks(LocalFiles(sys.argv[1]), "s1")


async def main():
    if os.geteuid() == 0:  # Root may write everything; all modules are imported by now.
        os.setgid(65534)
        os.setuid(65534)
    for message in (await Agent(model, middleware=[plan]).invoke("go")).messages:
        if message.role == "tool":
            print(message.is_error, message.text)


anyio.run(main)
"""


def _make_read_only(root: Path) -> None:
    root.chmod(0o755)
    for file in (root / "s1").iterdir():
        file.chmod(0o444)
    (root / "s1").chmod(0o555)


@pytest.mark.spec("PT-310")
async def test_a_read_only_list_can_be_shown() -> None:
    with tempfile.TemporaryDirectory() as name:  # Other users cannot enter pytest's directory.
        root = Path(name)
        await add_tasks(PlanTasks(LocalFiles(root), "s1"), 1)
        _make_read_only(root)
        command = [sys.executable, "-c", _READER, name]
        with anyio.fail_after(60):
            ran = await anyio.run_process(command, check=False)
        (root / "s1").chmod(0o755)
    assert ran.returncode == 0, ran.stderr.decode()
    shown, refused = ran.stdout.decode().splitlines()
    assert shown == "False #1 [pending] task 1"
    assert refused.startswith("True ")
    assert "Permission denied" in refused

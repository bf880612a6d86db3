"""A run killed with SIGKILL at any model call resumes without lost or duplicate results."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from taskloom.agent import Message
from taskloom.files import LocalFiles
from taskloom.middleware.reduction import from_saved
from tests.conventions.tree import ROOT
from tests.middleware.reduction.reduction_runs import calls_have_results

SAVED = re.compile(r"saved to: (\S+)")


COMMAND = [sys.executable, "-m", "tests.middleware.reduction.killed_run"]


def run(directory: Path, kill_at: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, str(directory), str(kill_at)],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )


def start(directory: Path, name: str) -> subprocess.Popen[bytes]:
    command = [*COMMAND, str(directory), "99", name]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


async def check(files: LocalFiles, results: list[Message], name: str) -> None:
    """Follow every notice to its result."""
    assert len(results) == 10
    for number, message in enumerate(results):
        content = message.text
        while content.startswith("<persisted-output>"):
            path = SAVED.search(content)
            assert path is not None
            content = str(from_saved(await files.read(path[1])))
        assert content == f"{name} {number}\n" * (50 + number * 40)


@pytest.mark.slow
@pytest.mark.spec("TR-201", "TR-206", "TR-304")
async def test_a_run_killed_anywhere_keeps_every_result(tmp_path: Path) -> None:
    for kill_at in (3, 6, 9):
        assert run(tmp_path, kill_at).returncode == -signal.SIGKILL
    done = run(tmp_path, 99)
    assert done.returncode == 0, done.stderr.decode()
    messages = msgspec.json.decode(done.stdout, type=list[Message])
    assert calls_have_results(messages)
    files = LocalFiles(tmp_path)
    results = [message for message in messages if message.role == "tool"]
    await check(files, results, "result")
    cleared = [message for message in results if message.finish_reason == "cleared"]
    assert len(cleared) > 5
    assert len(await files.ls_info(".taskloom/reduction/clear")) == len(cleared)


@pytest.mark.slow
@pytest.mark.spec("TR-206")
async def test_processes_that_share_a_storage_and_their_call_ids_overwrite_nothing(
    tmp_path: Path,
) -> None:
    names = ["ann", "bob", "cy"]
    started = [start(tmp_path, name) for name in names]
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    files = LocalFiles(tmp_path)
    for name, output in zip(names, outputs, strict=True):
        messages = msgspec.json.decode(output, type=list[Message])
        results = [message for message in messages if message.role == "tool"]
        await check(files, results, name)

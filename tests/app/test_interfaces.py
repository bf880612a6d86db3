"""One session, two interfaces, real processes: the terminal and an editor never host it at once.

The project's only worker is a program that waits for `gate` in its first run, so that the host can
be found, refused and killed while a step is claimed.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.session import SessionStore
from tests.acp.wire_client import AgentProcess, WireError, process_of, read_fifo
from tests.cli.run_taskloom import COMMAND, environment, taskloom

pytestmark = pytest.mark.slow

TASK = {
    "task_id": "make",
    "wal_name": "make",
    "title": "Make it",
    "summary": "One step.",
    "steps": [{"step_id": "one", "title": "One"}],
}
DISPATCH = {"tool": "agent.dispatch_worker", "arguments": {"task_id": "make", "instruction": "Go."}}
SCRIPT = [
    {"calls": [{"tool": "agent.task_create", "arguments": TASK}]},
    {"calls": [DISPATCH]},
    {"text": "Again.", "calls": [DISPATCH]},
    {"calls": [{"tool": "agent.task_complete", "arguments": {"task_id": "make"}}]},
    "It is made.",
]  # fmt: skip  # one line a reply
CONFIG = """
[model]
name = "script:script.json"
[[pools]]
pool_id = "default"
[[pools.workers]]
executor = "maker"
worker_id = "maker"
[executors.maker]
type = "process"
command = ["sh", "maker.sh"]
"""
MAKER = """
if [ ! -e may-finish ]; then
    echo began > started
    cat gate > /dev/null
fi
echo made
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "taskloom.toml").write_text(CONFIG)
    (root / "script.json").write_text(json.dumps(SCRIPT))
    (root / "maker.sh").write_text(MAKER)
    for fifo in ("started", "gate"):
        os.mkfifo(root / fifo)
    return root


@asynccontextmanager
async def editor(project: Path) -> AsyncGenerator[AgentProcess]:
    state = str(project.parent / "state")
    async with process_of(*COMMAND, "acp", XDG_STATE_HOME=state) as agent:
        await agent.client.initialize()
        yield agent


@asynccontextmanager
async def terminal(project: Path, *words: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "run", "--json", *words,
        cwd=project, env=environment(), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip  # a call like any other
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    with anyio.fail_after(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def events(project: Path, session_id: str) -> list[str]:
    """The types of the events on the session's board."""
    log = project / ".taskloom" / "tasks" / session_id / "make.wal.jsonl"
    return [json.loads(line)["event_type"] for line in log.read_text().splitlines()]


RELEASED_ONCE = [
    "task_created", "task_step_claimed",
    "task_step_failed", "task_step_reopened", "task_step_ready",
    "task_step_claimed", "task_step_completed", "task_completed",
]  # fmt: skip  # the first host, the release, the second host


def without_details(found: list[str]) -> list[str]:
    """Leave out events that say how a step got from one state to the next."""
    return [one for one in found if one in RELEASED_ONCE and one != "task_step_ready"]


@pytest.mark.spec("TB-116", "AP-302")
async def test_run_is_refused_while_an_editor_hosts_the_session_and_resumes_it_after_a_kill(
    project: Path,
) -> None:
    async with editor(project) as agent:
        client = agent.client
        session_id = await client.new(project)
        await client.request("session/set_mode", sessionId=session_id, modeId="orchestrate")
        client.begin_prompt(session_id, "Make it")
        assert await read_fifo(project / "started") == "began\n"

        async with terminal(project, "--resume", session_id) as refused:
            code, _, err = await ended(refused)
        assert code != 0
        assert f"taskloom acp, in another process (pid {agent.process.pid})" in err
        assert "task_step_failed" not in events(project, session_id)

        os.kill(agent.process.pid, signal.SIGKILL)
        await agent.left()
    (project / "may-finish").touch()
    async with terminal(project, "--resume", session_id, "Continue") as resumed:
        code, out, err = await ended(resumed)
    assert code == 0, out + err
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0]["released_steps"] == ["make/one"]
    assert lines[-1]["text"] == "It is made."
    assert without_details(events(project, session_id)) == [
        one for one in RELEASED_ONCE if one != "task_step_ready"
    ]


@pytest.mark.spec("TB-116", "AP-302")
async def test_an_editor_is_refused_while_run_hosts_the_session_and_resumes_it_after_a_kill(
    project: Path,
) -> None:
    async with terminal(project, "--session", "s1", "Make it") as run, editor(project) as agent:
        assert await read_fifo(project / "started") == "began\n"
        client = agent.client
        where: dict[str, Any] = {"sessionId": "s1", "cwd": str(project), "mcpServers": []}
        with pytest.raises(WireError, match=rf"taskloom run, in another process \(pid {run.pid}\)"):
            await client.request("session/load", **where)
        await client.request("session/resume", sessionId="s1", cwd=str(project))
        with pytest.raises(WireError, match=rf"pid {run.pid}"):
            await client.prompt("s1", "Continue")
        assert "task_step_failed" not in events(project, "s1")

        run.kill()
        await run.wait()
        (project / "may-finish").touch()
        state: Any = await client.request("session/load", **where)
        assert state["modes"]["currentModeId"] == "orchestrate"
        assert client.text("user_message_chunk") == "Make it"
        shown = [one["title"] for one in client.of(kind="tool_call")]
        assert shown == ["Task create: make", "Dispatch worker: make"]
        assert await client.prompt("s1", "Continue") == "end_turn"
        assert client.text().endswith("It is made.")
    assert without_details(events(project, "s1")) == [
        one for one in RELEASED_ONCE if one != "task_step_ready"
    ]
    async with terminal(project, "--resume", "s1") as again:
        code, out, err = await ended(again)
    assert code == 0, out + err
    assert json.loads(out.splitlines()[-1])["type"] == "result"


@pytest.mark.spec("AP-302")
async def test_a_session_that_ended_in_the_terminal_is_shown_and_continued_in_an_editor(
    project: Path,
) -> None:
    (project / "may-finish").touch()
    script = [one for one in SCRIPT if one is not SCRIPT[2]]
    (project / "script.json").write_text(json.dumps([*script, "Nothing is left to do."]))
    async with terminal(project, "--session", "s1", "Make it") as run:
        code, out, err = await ended(run)
    assert code == 0, out + err
    async with editor(project) as agent:
        client = agent.client
        listed = await client.request("session/list", cwd=str(project))
        assert [(one["sessionId"], one["title"]) for one in listed["sessions"]] == [
            ("s1", "Make it")
        ]
        await client.request("session/load", sessionId="s1", cwd=str(project), mcpServers=[])
        assert client.text().endswith("It is made.")
        assert await client.prompt("s1", "And now?") == "end_turn"
        assert client.text().endswith("Nothing is left to do.")


def test_a_session_without_goal_message_or_open_task_has_nothing_to_resume(project: Path) -> None:
    SessionStore(project).create("empty", kind="acp")
    refused = taskloom("run", "--resume", "empty", cwd=project)
    assert refused.code != 0
    assert 'taskloom run --resume empty "…"' in refused.err

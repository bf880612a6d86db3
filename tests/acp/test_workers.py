"""Orchestrate mode: Tasks as plans when the person wants it, and workers in sight."""

from pathlib import Path
from typing import Any

import pytest

from taskloom import NewStep, open_board
from taskloom.agent import Say
from taskloom.board import CompleteTask, CreateTask
from tests.acp.options import choosing
from tests.acp.wire_client import RawClient, client_of
from tests.acp.worker_options import orchestrator, worker_options


def idle(_: Any) -> str:
    """A model with nothing to do."""
    return "nothing to do"


async def orchestrating(client: RawClient, folder: Path, **capabilities: Any) -> str:
    client.on["session/request_permission"] = choosing("allow_once")
    await client.initialize(**capabilities)
    session = await client.new(folder)
    await client.request("session/set_mode", sessionId=session, modeId="orchestrate")
    return session


@pytest.mark.spec("AP-310", "AP-204", "AP-305")
async def test_workers_are_tool_calls_with_progress_and_ask_before_they_write(
    tmp_path: Path,
) -> None:
    async with client_of(worker_options(tmp_path)) as client:
        session = await orchestrating(client, tmp_path)
        assert await client.prompt(session, "make a release") == "end_turn"

    assert client.text() == "Everything is made."
    assert (tmp_path / "one.txt").read_text() == "one"
    assert (tmp_path / "two.txt").read_text() == "two"
    runs = [call for call in client.of(kind="tool_call") if "taskloom" in call.get("_meta", {})]
    assert len(runs) == 2
    assert all(run["title"].endswith(": Release") for run in runs)
    assert {run["status"] for run in runs} == {"in_progress"}
    for run in runs:
        updates = [
            update
            for update in client.of(kind="tool_call_update")
            if update["toolCallId"] == run["toolCallId"]
        ]
        assert updates[-1]["status"] == "completed"
        texts = [update["content"][0]["content"]["text"] for update in updates]
        assert any("Write" in text for text in texts[:-1])
        assert texts[-1].startswith("wrote ")
    titles = [asked["params"]["toolCall"]["title"] for asked in client.asked]
    assert titles == ["Write one.txt", "Write two.txt"]
    assert all(
        asked["params"]["toolCall"]["content"][0]["type"] == "diff" for asked in client.asked
    )
    assert client.of(kind="subagent_update") == []


@pytest.mark.spec("AP-204")
async def test_where_subagents_are_announced_each_run_is_a_session_of_its_own(
    tmp_path: Path,
) -> None:
    async with client_of(worker_options(tmp_path), plans=True) as client:
        session = await orchestrating(client, tmp_path, subagents={})
        assert await client.prompt(session, "make a release") == "end_turn"

    updates = client.of(session, "subagent_update")
    children = list(dict.fromkeys(update["sessionId"] for update in updates))
    assert len(children) == 2
    states = {
        child: [update["state"] for update in updates if update["sessionId"] == child]
        for child in children
    }
    assert set(map(str, states.values())) == {
        str([{"state": "running"}, {"state": "idle", "stopReason": "end_turn"}])
    }
    for child in children:
        first = next(n for n, (where, _) in enumerate(client.updates) if where == child)
        announced = next(
            n for n, (_, update) in enumerate(client.updates) if update.get("sessionId") == child
        )
        assert announced < first
        assert "Write" in str(client.of(child, "tool_call"))
    assert {asked["params"]["sessionId"] for asked in client.asked} == set(children)
    assert not [call for call in client.of(session, "tool_call") if "_meta" in call]


@pytest.mark.spec("AP-202")
async def test_tasks_are_internal_until_the_person_wants_to_see_them(tmp_path: Path) -> None:
    async with client_of(worker_options(tmp_path)) as client:
        session = await orchestrating(client, tmp_path)
        await client.prompt(session, "make a release")

    assert client.of(kind="plan") == []


@pytest.mark.spec("AP-202", "AP-106", "AP-108")
async def test_a_task_is_a_plan_that_is_shown_to_its_end_and_then_removed(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, show_task_board=True)
    async with client_of(setup, plans=True) as client:
        session = await orchestrating(client, tmp_path, plan={})
        await client.prompt(session, "make a release")

    plans = [update["plan"] for update in client.of(kind="plan_update")]
    assert {plan["planId"] for plan in plans} == {"task-release"}
    assert {tuple(entry["content"] for entry in plan["entries"]) for plan in plans} == {
        ("Make one", "Make two")
    }
    assert plans[0]["_meta"] == {"taskloom": {"title": "Release"}}
    assert [entry["status"] for entry in plans[-1]["entries"]] == ["completed", "completed"]
    shown = [kind for kind in client.kinds() if kind.startswith("plan_")]
    assert shown[-1] == "plan_removed"
    assert shown.count("plan_removed") == 1


@pytest.mark.spec("AP-202", "AP-310")
async def test_the_board_command_turns_the_view_on_and_off(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, idle)
    async with client_of(setup) as client:
        session = await orchestrating(client, tmp_path)
        async with open_board(tmp_path, session=session) as board:
            boss = board.orchestrator("boss", run_id="r1")
            steps = (NewStep(step_id="s1", title="First"), NewStep(step_id="s2", title="Second"))
            create = CreateTask(task_id="t1", wal_name="t1", title="Big", steps=steps)
            await board.send(create, boss)
            await client.prompt(session, "/board")
            assert "**Big** (`t1`, running): 2 ready" in client.text()
            assert client.plans() == []
            await client.prompt(session, "/board show")
            assert client.plans()[-1] == [("First", "pending"), ("Second", "pending")]
            await client.prompt(session, "/board t1")
            assert "- First (`s1`, ready)" in client.text()
            await client.prompt(session, "/board nothing")
            await client.prompt(session, "/board hide")
            assert client.plans()[-1] == []
    async with client_of(setup) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert client.plans() == []
        await client.prompt(session, "/board show")
        assert client.plans()[-1] == [("First", "pending"), ("Second", "pending")]


@pytest.mark.spec("AP-110", "AP-202", "AP-109")
async def test_load_shows_active_tasks_and_not_those_that_ended(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, idle, show_task_board=True)
    async with client_of(setup) as client:
        session = await orchestrating(client, tmp_path)
        async with open_board(tmp_path, session=session) as board:
            boss = board.orchestrator("boss", run_id="r1")
            for name in ("old", "new"):
                steps = (NewStep(step_id="s1", title=name, required=False),)
                create = CreateTask(task_id=name, wal_name=name, title=name, steps=steps)
                await board.send(create, boss)
            await board.send(CompleteTask(task_id="old"), boss)
    async with client_of(setup) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        told = client.told_before_answer("session/load")

    plans = [update for update in told if update["sessionUpdate"] == "plan"]
    assert [[entry["content"] for entry in plan["entries"]] for plan in plans] == [["new"]]


def stuck(_: Any) -> Say:
    """A worker that never gets anywhere."""
    return Say(text="still at it", delay_s=600)


@pytest.mark.spec("AP-304", "AP-204")
async def test_cancel_ends_the_workers_too(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, orchestrator(), stuck)
    async with client_of(setup) as client:
        session = await orchestrating(client, tmp_path)
        answer = client.begin_prompt(session, "make a release")
        await client.until(lambda: [one for one in client.of(kind="tool_call") if "_meta" in one])
        client.notify("session/cancel", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}
        assert await client.prompt(session, "/board release") == "end_turn"

    run = next(one for one in client.of(kind="tool_call") if "_meta" in one)
    updates = [one for one in client.of(kind="tool_call_update") if "status" in one]
    assert [one["status"] for one in updates if one["toolCallId"] == run["toolCallId"]] == [
        "failed"
    ]


@pytest.mark.spec("AP-204", "AP-304")
async def test_one_worker_can_be_cancelled_where_it_is_a_session(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, orchestrator(), stuck)
    async with client_of(setup, plans=True) as client:
        session = await orchestrating(client, tmp_path, subagents={})
        answer = client.begin_prompt(session, "make a release")
        for number in (1, 2):
            await client.until(lambda n=number: len(_children(client, session)) == n)
            client.notify("session/cancel", sessionId=_children(client, session)[-1])
        await answer

    states = [update["state"] for update in client.of(session, "subagent_update")]
    assert states.count({"state": "idle", "stopReason": "cancelled"}) == 2


def _children(client: RawClient, session: str) -> list[str]:
    updates = client.of(session, "subagent_update")
    return list(dict.fromkeys(update["sessionId"] for update in updates))


@pytest.mark.spec("AP-204", "AP-109")
async def test_a_turn_stays_open_while_workers_work(tmp_path: Path) -> None:
    setup = worker_options(tmp_path, orchestrator(background=True), show_task_board=True)
    async with client_of(setup) as client:
        session = await orchestrating(client, tmp_path)
        assert await client.prompt(session, "make a release") == "end_turn"
        told = client.told_before_answer("session/prompt")

    assert (tmp_path / "one.txt").read_text() == "one"
    run = next(one for one in told if one["sessionUpdate"] == "tool_call" and "_meta" in one)
    ended = [one for one in told if one.get("toolCallId") == run["toolCallId"]][-1]
    assert ended["status"] == "completed"
    plans = [one["entries"] for one in told if one["sessionUpdate"] == "plan"]
    assert [entry["status"] for entry in plans[-1]] == ["completed", "pending"]

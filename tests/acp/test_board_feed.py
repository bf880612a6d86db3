"""The board's Tasks as live plans: followed, joined, and shown to their very end."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom import NewStep, StepStatus, open_board
from taskloom.acp import PlanPublisher
from taskloom.acp.plans.board_feed import BoardFeed
from taskloom.board import CancelTask, ClaimStep, CreateTask, UpdateStep
from tests.acp.wire_client import LONG_S


class Screen:
    """What a client was sent, and a way to wait for it."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self._news = asyncio.Condition()

    async def send(self, update: dict[str, Any]) -> None:
        async with self._news:
            self.updates.append(update)
            self._news.notify_all()

    async def until(self, kind: str, text: str = "") -> dict[str, Any]:
        """The first update of a kind that holds a text."""
        found: list[dict[str, Any]] = []

        def is_there() -> bool:
            found[:] = [
                one for one in self.updates if one["sessionUpdate"] == kind and text in str(one)
            ]
            return bool(found)

        with anyio.fail_after(LONG_S):
            async with self._news:
                await self._news.wait_for(is_there)
        return found[0]


def task(task_id: str) -> CreateTask:
    steps = (NewStep(step_id="a", title="First"), NewStep(step_id="b", title="Second"))
    return CreateTask(task_id=task_id, wal_name=task_id, title=task_id, steps=steps)


@pytest.mark.spec("AP-202", "AP-104")
async def test_the_last_state_of_a_task_is_shown_before_its_plan_goes(tmp_path: Path) -> None:
    screen = Screen()
    publisher = PlanPublisher(screen.send, {"plan": {}})
    async with open_board(tmp_path, session="s1") as board:
        boss = board.orchestrator("boss", run_id="r1")
        await board.send(task("t1"), boss)
        feed = BoardFeed(board, publisher)
        feed.start()
        await screen.until("plan_update", "First")
        await board.send(CancelTask(task_id="t1", reason="no longer needed"), boss)
        await screen.until("plan_removed")
        await feed.stop()

    *_, last, removed = screen.updates
    assert removed == {"sessionUpdate": "plan_removed", "planId": "task-t1"}
    contents = [entry["content"] for entry in last["plan"]["entries"]]
    assert all("cancelled" in content for content in contents)
    assert contents[0].startswith("First")


@pytest.mark.spec("AP-202", "AP-106")
async def test_tasks_of_this_and_other_processes_come_into_view(tmp_path: Path) -> None:
    screen = Screen()
    publisher = PlanPublisher(screen.send, {"plan": {}})
    async with (
        open_board(tmp_path, session="s1") as board,
        open_board(tmp_path, session="s1") as elsewhere,
    ):
        boss = board.orchestrator("boss", run_id="r1")
        feed = BoardFeed(board, publisher)
        feed.start()
        await elsewhere.send(task("theirs"), elsewhere.orchestrator("them", run_id="r2"))
        await screen.until("plan_update", "task-theirs")
        await board.send(task("ours"), boss)
        feed.wake()
        await screen.until("plan_update", "task-ours")
        ann = elsewhere.worker("ann", run_id="w1", task_id="ours")
        await elsewhere.send(ClaimStep(task_id="ours", step_id="a"), ann)
        shown = await screen.until("plan_update", "in_progress")
        await feed.stop()

    assert shown["plan"]["planId"] == "task-ours"
    assert shown["plan"]["entries"][0]["_meta"]["taskloom"]["worker"] == "ann"


@pytest.mark.spec("AP-109", "AP-202")
async def test_what_happened_unseen_is_true_after_show(tmp_path: Path) -> None:
    screen = Screen()
    publisher = PlanPublisher(screen.send, None)
    publisher.hold()
    async with open_board(tmp_path, session="s1") as board:
        boss = board.orchestrator("boss", run_id="r1")
        feed = BoardFeed(board, publisher)
        for name in ("t1", "t2"):
            await board.send(task(name), boss)
        await feed.publish_all()
        await publisher.flush()
        assert len(screen.updates[-1]["entries"]) == 4
        ann = board.worker("ann", run_id="w1", task_id="t2")
        await board.send(ClaimStep(task_id="t2", step_id="a"), ann)
        await board.send(UpdateStep(task_id="t2", step_id="a", status=StepStatus.RUNNING), ann)
        await board.send(CancelTask(task_id="t1"), boss)
        await feed.publish_all()
        await publisher.flush()
        assert [entry["status"] for entry in screen.updates[-1]["entries"]] == [
            "in_progress",
            "pending",
        ]
        feed.remove_all()
        await publisher.flush()

    assert screen.updates[-1]["entries"] == []

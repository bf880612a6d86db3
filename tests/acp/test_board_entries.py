"""Steps of the board as entries of a plan."""

from pathlib import Path

import pytest

from taskloom import CancelStep, NewStep, StepStatus, open_board
from taskloom.acp import step_entry, task_plan
from taskloom.acp.plans.board_feed import STATE
from taskloom.board import ClaimStep, CreateTask, UpdateBoard, UpdateStep

STEPS = (
    NewStep(step_id="z-first", title="Write"),
    NewStep(step_id="a-second", title="Test", depends_on_step_ids=("z-first",)),
    NewStep(step_id="m-third", title="Polish", required=False),
    NewStep(step_id="b-fourth", title="Announce"),
)
TITLES = ["Write", "Test", "Polish", "Announce"]


@pytest.mark.spec("AP-104", "AP-202")
async def test_steps_are_entries_in_the_order_of_their_creation_whatever_their_state(
    tmp_path: Path,
) -> None:
    async with open_board(tmp_path, session="s1") as board:
        boss = board.orchestrator("boss", run_id="r1")
        ann = board.worker("ann", run_id="w1", task_id="plan")
        create = CreateTask(task_id="plan", wal_name="plan", title="Release", steps=STEPS)
        await board.send(create, boss)
        fresh = task_plan(await board.get("plan", boss))
        await board.send(ClaimStep(task_id="plan", step_id="z-first"), ann)
        claimed = await board.get("plan", boss)
        failed = UpdateStep(
            task_id="plan", step_id="z-first", status=StepStatus.FAILED, reason="no disk"
        )
        await board.send(
            UpdateStep(task_id="plan", step_id="z-first", status=StepStatus.RUNNING), ann
        )
        await board.send(failed, ann)
        cancel = CancelStep(step_id="m-third", reason="not now")
        await board.send(UpdateBoard(task_id="plan", operations=(cancel,)), boss)
        plan = task_plan(await board.get("plan", boss))

    assert (plan.id, plan.title) == ("task-plan", "Release")
    assert [entry.text for entry in fresh.entries] == TITLES
    assert [entry.text for entry in plan.entries] == TITLES
    assert [entry.priority for entry in plan.entries] == ["medium", "medium", "low", "medium"]
    working = step_entry(claimed.step("z-first"))
    assert working.state == "in_progress"
    assert working.details == {"stepId": "z-first", "state": "claimed", "worker": "ann"}
    assert [(entry.state, entry.note) for entry in plan.entries] == [
        ("failed", "no disk"),
        ("pending", ""),
        ("cancelled", "not now"),
        ("pending", ""),
    ]


@pytest.mark.spec("AP-104")
def test_every_status_of_a_step_has_a_state() -> None:
    assert set(STATE) == set(StepStatus)

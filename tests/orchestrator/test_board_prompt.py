"""The board in a prompt: what matters first, within its budget whatever is on the board."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom import StepStatus
from taskloom.agent import Agent, ScriptedModel
from taskloom.board import CancelTask, ClaimStep, UpdateStep
from taskloom.codec import EventHeader
from taskloom.orchestrator import AgentExecutor, Settings, board_text
from taskloom.orchestrator.prompt.render import (
    Reader,
    TaskLines,
    estimate_tokens,
    render_board,
    task_lines,
)
from taskloom.testing import FakeClock
from tests.orchestrator.orchestrators import (
    Doing,
    Json,
    at_once,
    boss,
    dispatched,
    orchestrator,
    plan,
    pool,
    step,
)

LINES = st.lists(st.text(max_size=300), max_size=40)
TASKS = st.lists(
    st.builds(
        TaskLines,
        st.text(max_size=200),
        LINES,
        LINES,
        st.integers(40, 10_000),
        st.integers(40, 10_000),
    ),
    max_size=6,
)
CHANGES = st.lists(
    st.builds(
        EventHeader,
        st.integers(1, 9),
        st.sampled_from(["task_step_ready", "task_created"]),
        st.text(max_size=30),
        st.datetimes(),
        st.none() | st.text(max_size=30),
        st.none() | st.text(max_size=30),
    ),
    max_size=25,
)


def by_words(text: str) -> int:
    return len(text.split()) * 3


def odd(text: str) -> int:
    """Count as no tokenizer does: joining two texts may cost far more than both."""
    return (len(text) // 3) ** 2 // 500 + text.count("\n") * 2


@pytest.mark.spec("TB-802")
@pytest.mark.parametrize("count", [estimate_tokens, by_words, odd])
@given(tasks=TASKS, changes=CHANGES, budget=st.integers(0, 2_000))
def test_it_never_costs_more_than_its_budget(
    count: Json, tasks: list[TaskLines], changes: list[EventHeader], budget: int
) -> None:
    text = render_board(tasks, changes, budget, count)
    assert count(text) <= budget or text == ""


@pytest.mark.spec("TB-802", "TB-803")
async def test_over_budget_blocked_and_own_steps_are_kept_and_the_rest_counted(
    tmp_path: Path,
) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        await plan(it, *(step(f"s{at}") for at in range(1_000)))
        me = it.board.worker("me", run_id="me-1", task_id="plan")
        for at in range(400):
            other = it.board.worker("other", run_id=f"other-{at}", task_id="plan")
            await it.board.send(ClaimStep(task_id="plan", step_id=f"s{at}"), other)
        await it.board.send(ClaimStep(task_id="plan", step_id="s999"), me)
        blocked = UpdateStep(
            task_id="plan", step_id="s7", status=StepStatus.BLOCKED, reason="no key"
        )
        await it.board.send(blocked, it.board.worker("other", run_id="other-7", task_id="plan"))
        settings = Settings(task_board_token_budget=300)
        text = await board_text(it.board, me, settings)
        whole = await board_text(it.board, me, Settings())
    assert estimate_tokens(text) <= 300
    assert "plan/s999 [claimed] Do s999 held by you" in text
    assert "plan/s7 [blocked]" in text
    assert "no key" in text
    shown = sum(line.startswith("- plan/") for line in text.splitlines())
    assert shown < 20
    # All that is held or blocked, its own step too; of the ready ones none could have had room.
    (rest,) = [line for line in text.splitlines() if "more steps" in line]
    assert int(rest.split()[1]) == 401 - shown
    assert estimate_tokens(whole) <= 1_200


@pytest.mark.spec("TB-801", "TB-804")
async def test_the_last_changes_are_shown_within_their_window_and_number(tmp_path: Path) -> None:
    clock = FakeClock()
    async with orchestrator(tmp_path, pool(Doing(at_once)), clock=clock) as it:
        await plan(it, step("a"), step("b"))
        await it.board.send(CancelTask(task_id="plan"), boss(it))
        await plan(it, step("x"), task_id="next")
        text = await board_text(it.board, boss(it), Settings(task_board_token_budget=5_000))
        assert "task_cancelled plan" in text  # What has ended shows among the changes alone.
        assert "Task plan" not in text
        few = await board_text(it.board, boss(it), Settings(task_recent_changes_limit=2))
        assert sum(" by agent" in line for line in few.splitlines()) == 2
        clock.move(timedelta(minutes=31))
        assert "recent changes" not in await board_text(it.board, boss(it), Settings())


@pytest.mark.spec("TB-801", "TB-608")
async def test_a_worker_is_shown_its_task_its_pool_and_its_scope(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        await plan(it, step("a"), step("b"), step("p", worker_pool_id="painters"))
        await plan(it, step("x"), task_id="other")
        worker = it.board.worker(
            "w0", run_id="w-1", task_id="plan", allowed_step_ids=frozenset({"b", "p"})
        )
        text = await board_text(it.board, worker, Settings())
        assert "plan/b [ready]" in text
        assert "plan/a [ready]" not in text
        assert "plan/p [ready]" not in text
        assert "other" not in text
        for_all = await board_text(it.board, boss(it), Settings())
        assert "other/x [ready]" in for_all
        assert "plan/p [ready] Do p pool painters" in for_all


@pytest.mark.spec("TB-801")
async def test_the_models_of_orchestrator_and_worker_are_shown_it_anew_at_every_call(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    worker = ScriptedModel(lambda _: "none for me")
    async with orchestrator(tmp_path, pool(AgentExecutor(worker))) as it:
        model = ScriptedModel(lambda _: "ok")
        await Agent(model, it.tools(), it.middleware()).invoke("go")
        await plan(it, step("a"))
        result = await Agent(model, it.tools(), it.middleware()).invoke("go")
        await dispatched(it)
        said = [message.text for message in result.messages]
    assert "<task_board>" not in model.requests[0].messages[-1].text
    assert "plan/a [ready]" in model.requests[1].messages[-1].text
    assert "plan/a [ready]" in worker.requests[0].messages[-1].text
    assert all("<task_board>" not in text for text in said)  # It is kept nowhere.


@pytest.mark.spec("TB-803")
async def test_a_step_that_this_agent_holds_comes_first_however_many_others_hold_one(
    tmp_path: Path,
) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        await plan(it, *(step(f"s{at}") for at in range(300)))
        for at in range(300):
            worker = it.board.worker(f"w{at}", run_id=f"w{at}-1", task_id="plan")
            await it.board.send(ClaimStep(task_id="plan", step_id=f"s{at}"), worker)
        mine = Reader("w299", run_id="w299-1")
        lines = await it.board.read("plan", lambda task: task_lines(task, mine, 20), boss(it))
    assert "s299" in lines.urgent[0]
    assert (len(lines.urgent), lines.urgent_count) == (21, 300)

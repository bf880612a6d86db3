"""Whole stories on real files: an Orchestrator's model plans, workers carry it out."""

import asyncio
from pathlib import Path

import anyio
import pytest

from taskloom.agent import Agent, Message
from taskloom.orchestrator import AgentExecutor, Emit, Job, Orchestrator, Outcome
from tests.orchestrator.orchestrators import (
    LONG_S,
    QUERY,
    Doing,
    Json,
    agent_worker,
    ask,
    at_once,
    boss,
    calls,
    claims_first,
    diligent_model,
    dispatch,
    everything_in,
    orchestrator,
    pool,
    reports,
    statuses,
    steps,
    turns,
)

DIAMOND = [
    {"step_id": "top", "title": "Top"},
    {"step_id": "left", "title": "Left", "depends_on_step_ids": ["top"]},
    {"step_id": "right", "title": "Right", "depends_on_step_ids": ["top"]},
    {"step_id": "end", "title": "End", "depends_on_step_ids": ["left", "right"]},
]


def create(steps: list[dict[str, Json]], task_id: str = "plan") -> Message:
    given = {"task_id": task_id, "wal_name": task_id, "title": "The plan", "summary": "All of it."}
    return calls(("task_create", {**given, "steps": steps}))


COMPLETE = calls(("task_complete", {"task_id": "plan", "result_summary": "all done"}))


async def play(it: Orchestrator, *replies: Json) -> list[Json]:
    """Let an Orchestrator say these replies; return what its last tools answered."""
    seen: list[Json] = []

    def last(found: list[Json]) -> str:
        seen.extend(found)
        return "The plan is carried out."

    agent = Agent(turns(*replies, last), it.tools(), it.middleware())
    with anyio.fail_after(LONG_S):
        result = await agent.invoke("Carry it out.")
    assert result.text == "The plan is carried out."
    return seen


@pytest.mark.spec("TB-602", "TB-617", "TB-621", "TB-903", "TB-906", "TB-907", "TB-918")
async def test_two_workers_carry_out_a_diamond_side_by_side(tmp_path: Path) -> None:
    both_at_work = asyncio.Barrier(2)
    seen: list[list[Json]] = []

    async def work(job: Job, emit: Emit, _asked: asyncio.Event) -> Outcome:
        assert job.step is not None
        if job.step.step_id in ("left", "right"):
            await both_at_work.wait()  # It goes on only if the other one is at work too.
        return Outcome(text=f"did {job.step.step_id} knowing {sorted(job.inputs.values())}")

    def then(*wanted: Json) -> Json:
        def reply(found: list[Json]) -> Message:
            seen.append(found)
            return calls(*wanted)

        return reply

    async with orchestrator(tmp_path, pool(Doing(work), Doing(work))) as it:
        before = await it.board.list(boss(it))
        end = await play(
            it,
            create(DIAMOND),
            then(dispatch()),
            then(dispatch(), dispatch()),
            then(dispatch()),
            COMPLETE,
        )
        assert before.tasks == ()
        board = await steps(it)
    assert end[0]["status"] == "completed"
    assert [one["claimed_step_id"] for one in seen[2]] in (["left", "right"], ["right", "left"])
    assert {one["worker_agent_id"] for one in seen[2]} == {"w0", "w1"}
    top = seen[1][0]
    assert top["step_status"] == "completed"
    assert top["step_result_summary"] == "did top knowing []"
    assert top["no_step_claimed"] is False
    assert top["selection_reason"] == "first_idle"
    runs = {one["child_run_id"] for answer in seen[1:] for one in answer}
    assert len(runs) == 3  # A new run each time, though the workers stay the same.
    assert board["end"].result_summary == (
        "did end knowing [\"did left knowing ['did top knowing []']\", "
        "\"did right knowing ['did top knowing []']\"]"
    )


@pytest.mark.spec("TB-505", "TB-503", "TB-610", "TB-613", "TB-906")
async def test_a_chat_model_worker_queries_claims_and_reports_by_itself(tmp_path: Path) -> None:
    model = diligent_model()
    async with orchestrator(tmp_path, pool(AgentExecutor(model))) as it:
        end = await play(it, create(DIAMOND[:1]), calls(dispatch()), COMPLETE)
        assert end[0]["status"] == "completed"
        done = (await steps(it))["top"]
    assert done.result_summary == "all well"
    offered = {info.name for info in model.requests[0].tools}
    assert offered == {
        "agent.task_get",
        "agent.task_query_steps",
        "agent.task_claim_step",
        "agent.task_update_step",
    }


@pytest.mark.spec("TB-407", "TB-408", "TB-907")
async def test_a_step_that_failed_is_reopened_and_done(tmp_path: Path) -> None:
    tries = 0

    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("the disk of the worker is full")
        return Outcome(text="now it went well")

    def reopen(found: list[Json]) -> Message:
        assert found[0]["outcome"] == "failed"
        assert found[0]["step_status"] == "failed"
        assert "the disk of the worker is full" in found[0]["error"]["message"]
        operation = {"op": "reopen_step", "step_id": "top", "reason": "the disk was emptied"}
        return calls(("task_update", {"task_id": "plan", "operations": [operation]}))

    async with orchestrator(tmp_path, pool(Doing(work))) as it:
        end = await play(
            it,
            create(DIAMOND[:1]),
            calls(dispatch()),
            reopen,
            calls(dispatch()),
            COMPLETE,
        )
    assert end[0]["status"] == "completed"
    assert tries == 2


@pytest.mark.spec("TB-406", "TB-408", "TB-604")
async def test_a_blocked_step_is_done_after_the_plan_was_changed(tmp_path: Path) -> None:
    def report(found: list[Json]) -> Message:
        claimed = found[0]
        more: dict[str, Json] = {"status": "completed", "result_summary": "done"}
        if claimed["step"]["step_id"] == "top" and "results_of_dependencies" not in claimed:
            more = {"status": "blocked", "reason": "there is no key"}
        given = {"task_id": "plan", "step_id": claimed["step"]["step_id"], **more}
        return calls(("task_update_step", given))

    worker = agent_worker(QUERY, claims_first, report, "That is all.")

    def change(found: list[Json]) -> Message:
        assert (found[0]["step_status"], found[0]["claimed_step_id"]) == ("blocked", "top")
        return calls(
            (
                "task_update",
                {
                    "task_id": "plan",
                    "operations": [
                        {"op": "add_step", "step": {"step_id": "key", "title": "Get a key"}},
                        {
                            "op": "add_dependency",
                            "step_id": "top",
                            "depends_on_step_id": "key",
                        },
                        {"op": "reopen_step", "step_id": "top"},
                    ],
                },
            )
        )

    async with orchestrator(tmp_path, pool(worker)) as it:
        end = await play(
            it,
            create(DIAMOND[:1]),
            calls(dispatch()),
            change,
            calls(dispatch()),
            calls(dispatch()),
            COMPLETE,
        )
        assert await statuses(it) == {"top": "completed", "key": "completed"}
    assert end[0]["status"] == "completed"


@pytest.mark.spec("TB-620", "TB-915")
async def test_a_worker_that_ends_without_reporting_fails_its_step(tmp_path: Path) -> None:
    worker = agent_worker(QUERY, claims_first, "I feel done.")
    async with orchestrator(tmp_path, pool(worker)) as it:
        found = await play(it, create(DIAMOND[:1]), calls(dispatch()))
        failed = (await steps(it))["top"]
    assert (failed.status, failed.reason) == (
        "failed",
        "worker_finished_without_terminal_step_status",
    )
    assert found[0]["claimed_step_id"] == "top"
    assert found[0]["step_status"] == "failed"
    assert found[0]["worker_result"] == {"text": "I feel done."}
    assert found[0]["outcome"] == "completed"  # The run is; the step is what the board says.


@pytest.mark.spec("TB-207", "TB-907")
async def test_the_board_s_word_stands_against_the_worker_s(tmp_path: Path) -> None:
    worker = agent_worker(
        QUERY, claims_first, reports("failed", reason="it broke"), "Completed with great success!"
    )
    async with orchestrator(tmp_path, pool(worker)) as it:
        found = await play(it, create(DIAMOND[:1]), calls(dispatch()))
    assert found[0]["step_status"] == "failed"
    assert found[0]["worker_result"] == {"text": "Completed with great success!"}


@pytest.mark.spec("TB-907", "TB-906", "TB-612")
async def test_a_worker_that_claims_nothing_is_no_failure(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(agent_worker(QUERY, "None of these is for me."))) as it:
        found = await play(it, create(DIAMOND[:1]), calls(dispatch()))
        assert await statuses(it) == {"top": "ready"}
    assert found[0]["no_step_claimed"] is True
    assert found[0]["outcome"] == "completed"
    assert "claimed_step_id" not in found[0]
    assert found[0]["child_run_id"].startswith("run_worker_")


@pytest.mark.spec("TB-907")
async def test_without_a_ready_step_no_run_is_started_and_it_says_why(tmp_path: Path) -> None:
    worker = Doing(at_once)
    async with orchestrator(tmp_path, pool(worker)) as it:
        found = await play(
            it,
            create(DIAMOND),
            calls(dispatch(allowed_step_ids=["end", "left"])),
        )
        assert (await ask(it, "list_workers"))["workers"][0]["status"] == "idle"
    assert found[0]["no_step_claimed"] is True
    assert found[0]["outcome"] == "not_started"
    assert "child_run_id" not in found[0]
    assert "end is pending, waits for left, right" in found[0]["note"]
    assert worker.jobs == []


@pytest.mark.spec("TB-903")
async def test_one_dispatch_that_is_refused_or_fails_leaves_the_others_alone(
    tmp_path: Path,
) -> None:
    async def fails(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        raise ValueError("no")

    plan = [{"step_id": name, "title": name} for name in ("a", "b")]
    async with orchestrator(tmp_path, pool(Doing(fails), Doing(at_once))) as it:
        found = await play(
            it,
            create(plan),
            calls(dispatch(), dispatch(worker_agent_id="nobody"), dispatch(worker_agent_id="w1")),
        )
    assert found[0]["outcome"] == "failed"
    assert found[1]["error"]["code"] == "worker_not_available"
    assert found[2]["step_status"] == "completed"


@pytest.mark.spec("TB-601")
async def test_the_guide_creates_nothing(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        before = everything_in(tmp_path)
        answer = await ask(it, "task_template", goal="Ship it.")
        assert everything_in(tmp_path) == before
        assert (await it.board.list(boss(it))).tasks == ()
    assert "depends_on_step_ids" in answer["content"]
    assert answer["goal"] == "Ship it."

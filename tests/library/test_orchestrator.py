"""The first-level Orchestrator: workers, plans, goals, and all that an interface needs."""

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import anyio
import pytest

from taskloom import NewStep, RefusedError, StepStatus, StepView, step
from taskloom.agent import Message, RunFailedError, ScriptedModel, call_tool, call_tools
from taskloom.orchestrator import (
    ORCHESTRATOR,
    Orchestrator,
    Pool,
    Settings,
    acp_worker,
    agent_worker,
    function_worker,
    program_worker,
)

PROGRAM = Path(__file__).with_name("killed_goal_run.py")
ACP_AGENT = Path(__file__).parent.parent / "orchestrator" / "acp_agent.py"
LONG_S = 30.0

WAITING_PROGRAM = """
import json, sys
step = json.loads(sys.stdin.readline())["step"]["step_id"]
print("waiting", flush=True)
print(json.dumps({"type": "result", "text": json.loads(sys.stdin.readline())["text"]}))
"""


async def greet(step: StepView, inputs: dict[str, str]) -> str:
    """Greets people."""
    return f"{step.title}: done after {sorted(inputs)}"


def hello(pool: str = "default") -> list[NewStep]:
    return [
        step("ann", "Greet Ann", pool=pool),
        step("bob", "Greet Bob", pool=pool),
        step("report", "Report", after=["ann", "bob"], pool=pool),
    ]


def says(*replies: Message | str) -> ScriptedModel:
    """A model that gives the n-th reply in the n-th call, whatever process it is in."""

    def follow(messages: Sequence[Message]) -> Message | str:
        turn = sum(each.role == "assistant" for each in messages)
        return replies[turn] if turn < len(replies) else "I have nothing more to say."

    return ScriptedModel(follow)


@pytest.mark.spec("LB-301", "LB-303", "LB-401")
async def test_functions_carry_out_a_plan_and_the_same_program_runs_twice(tmp_path: Path) -> None:
    for runs in (3, 0):
        workers = [function_worker("greeter", greet, count=2, tags=["kind"])]
        async with Orchestrator(tmp_path, workers, session="s1") as orch:
            task = await orch.board.create_task("hello", "Say hello", hello(), exist_ok=True)
            report = await orch.run_plan(task)
            assert (report.is_done, report.completed, report.runs) == (True, 3, runs)
            assert (await orch.run_plan("hello")).is_done
            names = [worker.name for worker in orch.workers()]
            view = await task.view()
    assert names == ["greeter-1", "greeter-2"]
    assert view.steps[2].result_summary == "Report: done after ['ann', 'bob']"


@pytest.mark.spec("LB-206", "LB-301")
async def test_the_data_of_a_result_is_on_the_board_unless_it_is_too_big(tmp_path: Path) -> None:
    def counts(step: StepView) -> object:
        return {"count": 3} if step.step_id == "small" else ["x" * 1_000] * 1_000

    async with Orchestrator(tmp_path, [function_worker("w", counts)], session="s1") as orch:
        task = await orch.board.create_task("t", "T", [step("small", "A"), step("big", "B")])
        assert (await orch.run_plan(task)).is_done
        data = {each.step_id: each.result_data for each in (await task.view()).steps}
    assert data == {"small": {"count": 3}, "big": None}


@pytest.mark.spec("LB-301")
async def test_each_kind_of_worker_does_the_steps_of_its_pool(tmp_path: Path) -> None:
    python = [sys.executable, "-c", "print('a program did it')"]
    reports = {"task_id": "all", "step_id": "agent", "status": "completed"}
    model = says(
        call_tool("agent.task_claim_step", task_id="all", step_id="agent"),
        call_tools(("agent.task_update_step", {**reports, "result_summary": "an agent did it"})),
        "Done.",
    )
    workers = [
        function_worker("function", greet, pool="functions", description="Greets."),
        program_worker("program", python, pool="programs"),
        agent_worker("agent", model, pool="agents"),
        acp_worker("acp", [sys.executable, str(ACP_AGENT)], cwd=tmp_path, pool="acps"),
    ]
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        pools = ("function", "program", "agent", "acp")
        plan = [step(name, f"Step {name}", pool=f"{name}s") for name in pools]
        task = await orch.board.create_task("all", "Everything", plan)
        with anyio.fail_after(LONG_S):
            assert (await orch.run_plan(task)).is_done
        results = {each.step_id: each.result_summary for each in (await task.view()).steps}
        described = {worker.name: worker.description for worker in orch.workers()}
    assert results["program"] == "a program did it"
    assert results["agent"] == "an agent did it"
    assert results["acp"]
    assert described["function"] == "Greets."
    assert described["program"] == f"Runs {sys.executable}"


def test_pools_of_the_same_id_are_one(tmp_path: Path) -> None:
    one, two = function_worker("one", greet), function_worker("two", greet)
    orch = Orchestrator(tmp_path, [one, Pool(pool_id="default", workers=two.workers)])
    assert [(each.name, each.pool_id) for each in orch.workers()] == [
        ("one", "default"),
        ("two", "default"),
    ]


def killed_run(project: Path, kill_at: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(project), str(kill_at)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def check_completed_once(project: Path) -> None:
    wal = project / ".taskloom" / "tasks" / "s1" / "tea.wal.jsonl"
    log = [json.loads(line) for line in wal.read_text().splitlines()]
    assert log[-1]["event_type"] == "task_completed"
    done = Counter(e["step_id"] for e in log if e["event_type"] == "task_step_completed")
    assert done == {"boil": 1, "warm": 1, "brew": 1}


@pytest.mark.slow
@pytest.mark.spec("LB-302")
def test_killed_at_any_moment_the_same_call_finishes_the_goal_and_no_step_is_done_twice(
    tmp_path: Path,
) -> None:
    ended = killed_run(tmp_path / "whole", 0)
    assert ended.returncode == 0, ended.stderr
    text, syncs = ended.stdout.splitlines()
    assert text == "There is tea."
    check_completed_once(tmp_path / "whole")
    for kill_at in range(1, int(syncs), max(1, int(syncs) // 12)):
        project = tmp_path / f"killed-{kill_at}"
        killed = killed_run(project, kill_at)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        ended = killed_run(project, 0)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("There is tea.")
        check_completed_once(project)


@pytest.mark.spec("LB-302", "LB-401")
async def test_goals_in_order_continue_a_conversation_and_are_answered_once(tmp_path: Path) -> None:
    calls = 0
    for calls_before in (0, 2):
        model = says("The first answer.", "The second answer.")
        async with Orchestrator(tmp_path, [function_worker("w", greet)], session="s1") as orch:
            first = await orch.run("First.", model=model)
            second = await orch.run("Second.", model=model)
        assert (first.text, second.text) == ("The first answer.", "The second answer.")
        calls += len(model.requests)
        assert calls == 2, calls_before
    texts = [each.text for each in second.messages]
    assert texts == ["First.", "The first answer.", "Second.", "The second answer."]


@pytest.mark.spec("LB-302")
async def test_a_failed_run_is_raised_and_a_session_without_a_goal_has_nothing_to_resume(
    tmp_path: Path,
) -> None:
    def breaks(_: object) -> str:
        raise ValueError("no model")

    async with Orchestrator(tmp_path, [function_worker("w", greet)], session="s1") as orch:
        with pytest.raises(RefusedError, match="no goal"):
            await orch.run(model=says())
        with pytest.raises(RunFailedError):
            await orch.run("Go.", model=ScriptedModel(breaks), retry=None)
        assert (await orch.run("Go.", model=says("Gone."))).text == "Gone."


@pytest.mark.spec("LB-304")
async def test_an_interface_sees_events_runs_and_output_and_stops_a_run(tmp_path: Path) -> None:
    def waits(should_stop: Callable[[], bool]) -> Generator[str]:
        yield "working"
        while not should_stop():
            pass
        yield "stopped"

    workers = [function_worker("worker", waits)]
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        task = await orch.board.create_task("t", "T", [step("a", "A"), step("b", "B")])
        events = orch.events()
        plan = asyncio.ensure_future(orch.run_plan(task))
        with anyio.fail_after(LONG_S):
            async for event in events:
                if event.event_type == "task_step_started":
                    break
            orch.pause()
            (run,) = orch.runs(include_ended=False)
            assert (run.name, run.task_id, run.step_id, run.state) == (
                "worker",
                "t",
                "a",
                "running",
            )
            output = orch.output(run.run_id)
            assert await anext(output) == "working"
            assert not await orch.message(run.run_id, "A function reads no messages.")
            assert orch.stop(run.run_id, "enough")
            assert [each async for each in output] == ["stopped"]  # It ends with its run.
            await orch.wait_idle()
            assert [each.state for each in orch.runs()] == ["cancelled"]
            assert not orch.stop(run.run_id)
            assert orch.is_paused
            orch.resume()
            async for event in orch.events():
                if event.event_type == "task_step_started":
                    break
            plan.cancel()
            with pytest.raises(asyncio.CancelledError):
                await plan


@pytest.mark.spec("LB-304")
async def test_agents_read_a_message_before_their_next_model_call(tmp_path: Path) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def thinks(messages: Sequence[Message]) -> str:
        texts = [each.text for each in messages]
        if "Also a cake." in texts:
            return "Tea and a cake."
        asked.set()
        await may_answer.wait()
        return "Tea."

    async with Orchestrator(tmp_path, [function_worker("w", greet)], session="s1") as orch:
        assert not await orch.message(ORCHESTRATOR, "Nothing runs yet.")
        running = asyncio.ensure_future(orch.run("Make tea.", model=ScriptedModel(thinks)))
        with anyio.fail_after(LONG_S):
            await asked.wait()
            message = asyncio.ensure_future(orch.message(ORCHESTRATOR, "Also a cake."))
            await asyncio.sleep(0)
            may_answer.set()
            assert await message
            assert (await running).text == "Tea and a cake."
    journal = next((tmp_path / ".taskloom").rglob("turns/0001.jsonl"))
    assert "Also a cake." in journal.read_text()


@pytest.mark.spec("LB-304")
async def test_a_program_that_listens_gets_a_message_as_a_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITING_PROGRAM]
    workers = [program_worker("program", command, messages=True)]
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        task = await orch.board.create_task("t", "T", [step("a", "A")])
        events = orch.events()
        plan = asyncio.ensure_future(orch.run_plan(task))
        with anyio.fail_after(LONG_S):
            async for event in events:
                if event.event_type == "task_step_started":
                    break
            (run,) = orch.runs()
            assert await anext(orch.output(run.run_id)) == "waiting"
            assert await orch.message(run.run_id, "the secret word")
            assert (await plan).is_done
            assert not await orch.message(run.run_id, "too late")
        (only,) = (await task.view()).steps
    assert only.result_summary == "the secret word"


@pytest.mark.spec("LB-304")
async def test_leaving_the_block_stops_the_workers_and_cancels_those_that_linger(
    tmp_path: Path,
) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def never_stops() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    quick = Settings(child_cancel_timeout_ms=20)
    workers = [function_worker("worker", never_stops)]
    async with Orchestrator(tmp_path, workers, session="s1", settings=quick) as orch:
        task = await orch.board.create_task("t", "T", [step("a", "A")])
        plan = asyncio.ensure_future(orch.run_plan(task))
        with anyio.fail_after(LONG_S):
            await started.wait()
    assert cancelled.is_set()
    assert [run.state for run in orch.runs()] == ["cancelled"]
    with pytest.raises(RefusedError):
        await plan
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        assert (await orch.board.task("t").view()).steps[0].status is StepStatus.FAILED


async def test_a_session_has_one_host_and_the_steps_of_a_dead_one_are_released(
    tmp_path: Path,
) -> None:
    workers = [function_worker("worker", greet)]
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        task = await orch.board.create_task("t", "T", [step("a", "A")])
        await task.claim("a", worker="worker")
        with pytest.raises(RefusedError, match="another process"):
            async with Orchestrator(tmp_path, workers, session="s1"):
                pass
    async with Orchestrator(tmp_path, workers, session="s1") as orch:
        assert orch.released_steps == ["t/a"]
        assert (await orch.run_plan("t")).is_done

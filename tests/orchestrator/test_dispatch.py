"""Dispatch: who is chosen, what is refused, what a run may see and say."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom import StepStatus, open_board
from taskloom.agent import Agent, NoActiveRunError, RunEnded, ScriptedModel, set_value
from taskloom.board import TaskStatus, UpdateBoard
from taskloom.board.operations import UpdateTask
from taskloom.errors import ConfigError
from taskloom.orchestrator import (
    AgentExecutor,
    Emit,
    Executor,
    Job,
    Orchestrator,
    Outcome,
    Pool,
    RunEvent,
    Worker,
    check_pools,
)
from taskloom.orchestrator.errors import InvalidResultError
from taskloom.orchestrator.executors.executor import read_result
from taskloom.testing import FakeClock
from tests.orchestrator.orchestrators import (
    LONG_S,
    QUERY,
    Doing,
    Json,
    agent_worker,
    ask,
    ask_all,
    at_once,
    boss,
    calls,
    claims_first,
    dispatch,
    dispatched,
    kind,
    last_seq,
    names,
    orchestrator,
    plan,
    pool,
    reports,
    statuses,
    step,
    steps,
    turns,
    until_asked,
)


def worker(executor: Executor | None = None, **more: Json) -> Worker:
    return Worker(definition=kind(), executor=executor or Doing(at_once, tools=("look",)), **more)


@pytest.mark.spec("TB-901")
@pytest.mark.parametrize(
    ("pools", "said"),
    [
        ((), "at least one worker"),
        ((Pool(pool_id="p", workers=()),), "at least one worker"),
        ((Pool(pool_id="Big Pool", workers=(worker(),)),), "pool_id"),
        ((Pool(pool_id="p", workers=(worker(),)),) * 2, "two pools"),
        ((Pool(pool_id="p", workers=(worker(worker_id="x"),) * 2),), "unique id"),
        ((Pool(pool_id="p", workers=(worker(worker_id="X Y"),)),), "worker_id"),
        ((Pool(pool_id="p", workers=(worker(allowed_tools=("dig",)),)),), "'dig'"),
    ],
)
async def test_orchestrator_mode_does_not_start_without_pools_that_work(
    tmp_path: Path, pools: tuple[Pool, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as no:
        check_pools(pools)
    assert no.value.code == "config_error"
    if said != "two pools":  # An Orchestrator makes pools with the same id one.
        with pytest.raises(ConfigError):
            async with orchestrator(tmp_path, *pools):
                pass


@pytest.mark.spec("TB-901", "TB-902", "TB-906")
async def test_workers_are_listed_with_ids_that_stay_the_same(tmp_path: Path) -> None:
    free = Pool(pool_id="default", workers=(worker(), worker(Doing(until_asked))))
    other = pool(Doing(at_once), pool_id="other", prefix="o")
    for _ in range(2):
        async with orchestrator(tmp_path, free, other) as it:
            if not (await it.board.list(boss(it))).tasks:
                await plan(it, step("a"))
            listed = (await ask(it, "list_workers"))["workers"]
            assert [each["worker_agent_id"] for each in listed] == [
                "default_kind_0",
                "default_kind_1",
                "o0",
            ]
            assert listed[0] == {
                "worker_agent_id": "default_kind_0",
                "name": "Kind",
                "description": "Does kind.",
                "worker_pool_id": "default",
                "status": "idle",
                "tools": ["look"],
            }
            only = await ask(it, "list_workers", worker_pool_id="other")
            assert [each["worker_agent_id"] for each in only["workers"]] == ["o0"]
            unknown = await ask(it, "list_workers", worker_pool_id="none")
            assert unknown["error"]["code"] == "worker_not_available"


@pytest.mark.spec("TB-902", "TB-904")
async def test_a_busy_worker_shows_its_run_and_step_and_is_not_taken_twice(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def work(_job: Job, _emit: Emit, asked: asyncio.Event) -> Outcome:
        begun.set()
        await asked.wait()
        return Outcome()

    async with orchestrator(tmp_path, pool(Doing(work), Doing(at_once))) as it:
        await plan(it, step("a"), step("b"), step("c"))
        with anyio.fail_after(LONG_S):
            one = await dispatched(it, background=True)
            await begun.wait()
            first, second = (await ask(it, "list_workers"))["workers"]
            assert (first["status"], second["status"]) == ("busy", "idle")
            assert first["current_run_id"] == one["child_run_id"]
            assert first["current_step_id"] == "a"
            busy = await dispatched(it, worker_agent_id="w0")
            assert busy["error"]["code"] == "worker_busy"
            # Without a name the first idle one in configured order is taken.
            assert (await dispatched(it))["worker_agent_id"] == "w1"
            named = await dispatched(it, worker_agent_id="w1")
            assert named["selection_reason"] == "specified_worker"


@pytest.mark.spec("TB-904")
async def test_two_dispatches_for_one_seat_at_once_have_one_winner(tmp_path: Path) -> None:
    worker = Doing(at_once)
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"), step("b"))
        found = await ask_all(it, dispatch(), dispatch(), dispatch(worker_agent_id="w0"))
    codes = [one.get("error", {}).get("code") for one in found]
    assert sorted(codes, key=str) == [None, "worker_busy", "worker_pool_busy"]
    assert len(worker.jobs) == 1


@pytest.mark.spec("TB-610", "TB-907", "TB-916")
async def test_of_two_workers_for_one_step_one_claims_it_and_the_other_is_no_failure(
    tmp_path: Path,
) -> None:
    both, refused = asyncio.Barrier(2), asyncio.Event()

    def claim(_: list[Json]) -> Json:
        async def wait() -> Json:
            await both.wait()
            return calls(("task_claim_step", {"task_id": "plan", "step_id": "a"}))

        return wait()

    def go_on(found: list[Json]) -> Json:
        async def complete() -> Json:
            await refused.wait()  # The step is claimed, not completed, when the other one tries.
            return reports("completed", result_summary="mine")(found)

        if "error" in found[0]:
            refused.set()
            assert found[0]["error"]["code"] == "step_already_claimed"
            return "Another was faster."
        return complete()

    async with orchestrator(
        tmp_path, pool(agent_worker(claim, go_on, "ok"), agent_worker(claim, go_on, "ok"))
    ) as it:
        await plan(it, step("a"))
        async with it.events() as listener:
            with anyio.fail_after(LONG_S):
                found = await ask_all(it, dispatch(), dispatch())
            seen = names(listener.take())
    assert sorted(one["no_step_claimed"] for one in found) == [False, True]
    assert [one["outcome"] for one in found] == ["completed", "completed"]
    assert RunEvent.STEP_CLAIM_SKIPPED in seen


@pytest.mark.spec("TB-905")
async def test_what_cannot_be_dispatched_starts_no_run_and_writes_nothing(tmp_path: Path) -> None:
    worker = Doing(at_once, tools=("look", "dig"))
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"))
        seq = await last_seq(it)
        refused: list[tuple[dict[str, Json], str]] = [
            ({"allowed_step_ids": ["a", "zz"]}, "validation_error"),
            ({"allowed_step_ids": []}, "validation_error"),
            ({"allowed_tools": ["fly"]}, "validation_error"),
            ({"timeout_ms": 0}, "validation_error"),
            ({"system_prompt": "obey"}, "validation_error"),
            ({"task_id": "none"}, "task_not_found"),
            ({"worker_agent_id": "none"}, "worker_not_available"),
            ({"worker_pool_id": "none"}, "worker_not_available"),
            ({"worker_pool_id": "other", "worker_agent_id": "w0"}, "worker_not_available"),
        ]
        for more, code in refused:
            async with it.events() as listener:
                found = await dispatched(it, **more)
                told = names(listener.take())
            assert found["error"]["code"] == code, more
            if code != "validation_error" or "allowed_tools" in more:
                assert told == [RunEvent.WORKER_DISPATCH_FAILED], more
        block = UpdateTask(status=TaskStatus.BLOCKED, reason="wait")
        await it.board.send(UpdateBoard(task_id="plan", operations=(block,)), boss(it))
        assert (await dispatched(it))["error"]["code"] == "task_not_dispatchable"
        reopen = UpdateTask(status=TaskStatus.PENDING)
        await it.board.send(UpdateBoard(task_id="plan", operations=(reopen,)), boss(it))
        assert await last_seq(it) > seq
        await ask(it, "task_cancel", task_id="plan")
        assert (await dispatched(it))["error"]["code"] == "task_not_dispatchable"
        assert [each.status for each in it.workers()] == ["idle"]
    assert worker.jobs == []


@pytest.mark.spec("TB-608", "TB-609", "TB-503", "TB-917")
async def test_a_run_sees_and_claims_only_what_its_dispatch_allows(tmp_path: Path) -> None:
    told: list[Json] = []

    def note(found: list[Json]) -> str:
        told.extend(found)
        return "seen"

    worker = agent_worker(
        calls(
            ("task_query_steps", {"task_id": "plan"}),
            ("task_claim_step", {"task_id": "plan", "step_id": "a"}),
            ("task_claim_step", {"task_id": "plan", "step_id": "p"}),
            ("task_get", {"task_id": "other"}),
            ("task_update_step", {"task_id": "plan", "step_id": "a", "status": "completed"}),
            ("task_claim_step", {"task_id": "plan", "step_id": "b"}),
            ("task_claim_step", {"task_id": "plan", "step_id": "c"}),
        ),
        note,
    )
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"), step("b"), step("c"), step("p", worker_pool_id="painters"))
        await plan(it, step("x"), task_id="other")
        await dispatched(it, allowed_step_ids=["b", "b", "c"])
        assert await statuses(it) == {"a": "ready", "b": "failed", "c": "ready", "p": "ready"}
    assert [each["step_id"] for each in told[0]["steps"]] == ["b", "c"]
    codes = [one.get("error", {}).get("code") for one in told[1:]]
    assert codes == [
        "permission_denied",
        "permission_denied",
        "permission_denied",
        "permission_denied",
        None,
        "step_already_claimed_by_run",
    ]


@pytest.mark.spec("TB-917", "TB-904")
async def test_each_pool_does_its_own_steps(tmp_path: Path) -> None:
    async with orchestrator(
        tmp_path, pool(Doing(at_once)), pool(Doing(at_once), pool_id="painters", prefix="p")
    ) as it:
        await plan(it, step("p", worker_pool_id="painters"), step("d"))
        idle = await dispatched(it, allowed_step_ids=["p"])
        assert idle["no_step_claimed"]
        assert "belongs to pool painters" in idle["note"]
        assert (await dispatched(it))["claimed_step_id"] == "d"
        painted = await dispatched(it, worker_pool_id="painters")
    assert (painted["claimed_step_id"], painted["worker_agent_id"]) == ("p", "p0")


@pytest.mark.spec("TB-504", "TB-908", "TB-501")
async def test_a_worker_has_no_tool_to_plan_dispatch_or_be_somebody_else(tmp_path: Path) -> None:
    told: list[Json] = []

    def note(found: list[Json]) -> Json:
        told.extend(found)
        return QUERY

    worker = agent_worker(
        calls(
            ("task_create", {"task_id": "mine"}),
            ("dispatch_worker", {"task_id": "plan", "instruction": "x"}),
            (
                "task_claim_step",
                {"task_id": "plan", "step_id": "a", "actor_agent_id": "agent_orchestrator_s1"},
            ),
        ),
        note,
        claims_first,
        reports("completed"),
        "ok",
    )
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"))
        found = await dispatched(it)
        assert len((await it.board.list(boss(it))).tasks) == 1
    assert "no tool `agent.task_create`" in told[0]
    assert "no tool `agent.dispatch_worker`" in told[1]
    assert told[2]["error"]["code"] == "validation_error"
    assert found["step_status"] == "completed"


@pytest.mark.spec("TB-504")
async def test_the_actor_in_the_log_is_the_run_that_called(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        given = {"task_id": "plan", "wal_name": "plan", "title": "T", "summary": "S"}
        model = turns(calls(("task_create", {**given, "steps": [{"step_id": "a", "title": "A"}]})))
        result = await Agent(model, it.tools()).invoke("go")
        view = await it.board.get("plan", boss(it))
        found = await dispatched(it)
    assert view.created_by_run_id == result.run_id
    assert view.created_by_agent_id == "agent_orchestrator_s1"
    assert found["worker_agent_id"] == "w0"


@pytest.mark.spec("TB-903", "TB-905")
async def test_a_dispatch_can_only_narrow_the_tools(tmp_path: Path) -> None:
    async def look(what: str) -> str:
        """Look at something."""
        return what

    async def dig(what: str) -> str:
        """Dig for something."""
        return what

    model = ScriptedModel(lambda _: "nothing for me")
    executor = AgentExecutor(model, [look, dig])
    async with orchestrator(tmp_path, Pool(pool_id="default", workers=(worker(executor),))) as it:
        await plan(it, step("a"))
        await dispatched(it, allowed_tools=["look"])
        await dispatched(it)
    offered = [{info.name for info in request.tools} for request in model.requests]
    assert "look" in offered[0]
    assert "dig" not in offered[0]
    assert {"look", "dig"} <= offered[1]


@pytest.mark.spec("TB-903")
async def test_instruction_context_and_constraints_reach_the_worker_but_not_its_system_prompt(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(lambda _: "ok")
    async with orchestrator(tmp_path, pool(AgentExecutor(model))) as it:
        await plan(it, step("a"))
        await dispatched(
            it,
            instruction="Mind the gap.",
            context="It is wide.",
            constraints={"depth_m": 3},
            expected_output_schema={"type": "string"},
            allowed_step_ids=["a"],
        )
    system = " ".join(one.text for one in model.requests[0].messages if one.role == "system")
    said = " ".join(one.text for one in model.requests[0].messages if one.role == "user")
    for part in ("Mind the gap.", "It is wide.", '"depth_m": 3', "allowed_step_ids: a"):
        assert part in said
        assert part not in system


@pytest.mark.spec("TB-910")
@pytest.mark.parametrize(
    ("text", "schema", "fits"),
    [
        ('{"n": 1}', {"type": "object", "properties": {"n": {"type": "integer"}}}, True),
        ('```json\n{"n": 1}\n```', {"type": "object", "required": ["n"]}, True),
        ('{"n": "x"}', {"type": "object", "properties": {"n": {"type": "integer"}}}, False),
        ("just words", {"type": "object"}, False),
        ("just words", {"type": "string"}, True),
    ],
)
async def test_a_result_that_does_not_fit_its_schema_is_told_and_crashes_nobody(
    tmp_path: Path, text: str, schema: Json, fits: bool
) -> None:
    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        return Outcome(text=text)

    async with orchestrator(tmp_path, pool(Doing(work))) as it, it.events() as listener:
        await plan(it, step("a"))
        found = await dispatched(it, expected_output_schema=schema)
        seen = names(listener.take())
    assert ("error" not in found) == fits
    assert (RunEvent.CHILD_SCHEMA_FAILED in seen) != fits
    assert found["worker_result"]["text"] == text
    assert found["step_status"] == "completed"
    if fits and text.endswith("}"):
        assert found["worker_result"]["data"] == {"n": 1}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["object"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "enum", "required", "n"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.spec("TB-910")
@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "enum"]), VALUES), VALUES)
def test_no_schema_that_a_model_makes_up_breaks_the_check(schema: Json, value: Json) -> None:
    with suppress(InvalidResultError):
        read_result("{}", value, schema)


@pytest.mark.spec("TB-911", "TB-508")
async def test_each_run_has_a_stream_of_its_own_and_the_orchestrator_hears_the_end_alone(
    tmp_path: Path,
) -> None:
    async def talks(job: Job, emit: Emit, _asked: asyncio.Event) -> Outcome:
        assert job.step is not None
        await emit(f"working on {job.step.step_id}")
        return Outcome(text="the end")

    async with orchestrator(tmp_path, pool(Doing(talks), Doing(talks))) as it:
        await plan(it, step("a"), step("b"))
        agent = Agent(turns(calls(dispatch(), dispatch()), "done"), it.tools())
        events = [event async for event in agent.run("go")]
        last = events[-1]
        assert isinstance(last, RunEnded)
        told = [message.text for message in last.result.messages if message.role == "tool"]
        runs = [run.run_id for run in it.runs()]
        with anyio.fail_after(LONG_S):
            streams = [[said async for said in it.output(run_id)] for run_id in runs]
            assert [said async for said in it.output("run_never")] == []
    assert sorted(map(str, streams)) == ["['working on a']", "['working on b']"]
    assert all("working on" not in text for text in told)
    assert "working on" not in repr(events)
    assert "task_step_claimed" not in repr(events)


@pytest.mark.spec("TB-916")
async def test_whoever_listens_hears_the_board_and_the_runs(tmp_path: Path) -> None:
    clock = FakeClock()
    async with orchestrator(tmp_path, pool(Doing(at_once)), clock=clock) as it:
        async with it.events() as listener:
            await plan(it, step("a"))
            await dispatched(it)
            await ask(it, "task_complete", task_id="plan")
            seen: list[str] = []
            with anyio.fail_after(LONG_S):
                async for session_event in listener:
                    seen.append(session_event.event_type)
                    if session_event.event_type == "task_completed":
                        break
    board = [name for name in seen if name.startswith("task_")]
    assert board == [
        "task_step_claimed",
        "task_step_started",
        "task_step_completed",
        "task_completed",
    ]
    runs = [name for name in seen if not name.startswith("task_")]
    assert runs == [
        RunEvent.CHILD_CREATED,
        RunEvent.WORKER_DISPATCHED,
        RunEvent.CHILD_COMPLETED,
    ]


@pytest.mark.spec("TB-916", "TB-115")
async def test_a_new_host_tells_which_logs_it_replayed_and_which_are_damaged(
    tmp_path: Path,
) -> None:
    pools = [pool(Doing(at_once))]
    async with orchestrator(tmp_path, *pools) as it:
        await plan(it, step("a"))
        await plan(it, step("a"), task_id="broken")
    path = next(tmp_path.rglob("broken.wal.jsonl"))  # noqa: ASYNC240  # a small test directory
    path.write_bytes(b'{"no": 1}\n' + path.read_bytes())  # as above

    async with open_board(tmp_path, session="s1") as board:
        it = Orchestrator(board, pools)
        async with it.events() as listener, it:
            await dispatched(it)
            with anyio.fail_after(LONG_S):
                seen = [await anext(listener) for _ in range(2)]
                async for session_event in listener:
                    if session_event.event_type == "task_step_completed":
                        break  # A Task that was there before is followed too.
    told = {each.task_id: each.event_type for each in seen}
    assert told["plan"] == RunEvent.WAL_REPLAYED
    assert sorted(told.values()) == [RunEvent.WAL_FAILED, RunEvent.WAL_REPLAYED]


@pytest.mark.spec("TB-918")
async def test_nothing_starts_by_itself(tmp_path: Path) -> None:
    worker = Doing(at_once)
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"), step("b", "a"))
        await dispatched(it)
        assert (await steps(it))["b"].status is StepStatus.READY
        await it.renew_leases()
        assert len(worker.jobs) == 1


@pytest.mark.spec("TB-506")
async def test_task_tools_write_nothing_but_logs(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        given = {"task_id": "plan", "wal_name": "../escape", "title": "T", "summary": "S"}
        bad = await ask(it, "task_create", **given, steps=[{"step_id": "a", "title": "A"}])
        assert bad["error"]["code"] == "validation_error"
        await plan(it, step("a"))
        await dispatched(it)
        await ask(it, "task_complete", task_id="plan")
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]  # noqa: ASYNC240  # as above
    assert files
    assert all(path.parts[:2] == (".taskloom", "tasks") for path in files)


@pytest.mark.spec("TB-911", "TB-504")
async def test_a_worker_s_function_is_not_in_the_orchestrator_s_run(tmp_path: Path) -> None:
    mark: ContextVar[str] = ContextVar("mark")

    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        with pytest.raises(NoActiveRunError):
            set_value("mine", 1)
        return Outcome(text=mark.get("nothing"))

    async with orchestrator(tmp_path, pool(Doing(work))) as it:
        await plan(it, step("a"), step("b"))
        mark.set("of the host")
        assert (await dispatched(it))["step_result_summary"] == "of the host"
        await it.run_plan("plan", instruction="Do it.")
        assert (await steps(it))["b"].result_summary == "of the host"


async def test_a_listener_that_comes_after_the_end_ends_at_once(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        pass
    with anyio.fail_after(LONG_S):
        async with it.events() as listener:
            assert [each async for each in listener] == []

"""Cancellation: at once, at a safe point, at every await, and with nothing left behind."""

import asyncio
import threading
from collections.abc import Sequence

import anyio
import pytest

from taskloom.agent import (
    Agent,
    Message,
    Middleware,
    ModelHandler,
    ModelRequest,
    Run,
    RunSetup,
    ScriptedModel,
    State,
    ToolHandler,
    ToolRequest,
    call_tool,
    call_tools,
)
from tests.agent.samples import add, collect


class Points:
    """Counts the awaits of a run, and cancels it at the one asked for."""

    def __init__(self, cancel_at: int) -> None:
        self.cancel_at = cancel_at
        self.passed = 0
        self.run: Run | None = None
        self.after: list[str] = []

    async def pass_by(self, name: str) -> None:
        self.passed += 1
        if self.passed > self.cancel_at:
            self.after.append(name)
        if self.passed == self.cancel_at:
            assert self.run is not None
            self.run.cancel()
        await asyncio.sleep(0)


class Awaiting(Middleware):
    """Awaits in every hook."""

    def __init__(self, points: Points) -> None:
        self._points = points

    async def before_agent(self, setup: RunSetup) -> None:
        await self._points.pass_by("before_agent")

    async def before_model(self, state: State) -> State | None:
        await self._points.pass_by("before_model")
        return None

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        await self._points.pass_by("wrap_model")
        return await call(request)

    async def after_model(self, state: State) -> State | None:
        await self._points.pass_by("after_model")
        return None

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        await self._points.pass_by("wrap_tool")
        return await call(request)


def awaiting_run(points: Points) -> Run:
    async def work(n: int) -> str:
        await points.pass_by(f"tool {n}")
        return str(n)

    def reply(messages: Sequence[Message]) -> Message | str:
        return "done" if len(messages) > 3 else call_tools(("work", {"n": 1}), ("work", {"n": 2}))

    run = Agent(ScriptedModel(reply), [work], [Awaiting(points)]).run("go")
    points.run = run
    return run


@pytest.mark.spec("AG-110")
@pytest.mark.parametrize("read_events", [True, False])
async def test_cancelled_at_any_await_nothing_runs_on_and_no_task_is_left(
    read_events: bool,
) -> None:
    whole = Points(cancel_at=0)
    await awaiting_run(whole).wait()
    assert whole.passed == 11
    for at in range(1, whole.passed + 1):
        before = asyncio.all_tasks()
        points = Points(cancel_at=at)
        run = awaiting_run(points)
        with anyio.fail_after(5):
            await (collect(run) if read_events else run.wait())
        assert run.result.stop_reason == "cancelled", at
        assert points.after == [], at
        assert asyncio.all_tasks() == before, at


@pytest.mark.spec("AG-110")
@pytest.mark.parametrize("parallel", [True, False])
async def test_after_a_cancel_no_further_tool_begins_even_without_an_await(parallel: bool) -> None:
    ran: list[int] = []

    async def work(n: int) -> str:
        ran.append(n)
        run.cancel()
        return str(n)

    calls = call_tools(*(("work", {"n": n}) for n in range(3)))
    run = Agent(ScriptedModel([calls]), [work], parallel_tools=parallel).run("go")
    assert (await run.wait()).stop_reason == "cancelled"
    assert ran == [0]


@pytest.mark.spec("AG-110")
async def test_cancelled_before_it_began_a_run_does_nothing() -> None:
    model = ScriptedModel(["hi"])
    run = Agent(model).run("go")
    run.cancel()
    assert (await run.wait()).stop_reason == "cancelled"
    assert model.requests == []


@pytest.mark.spec("AG-110")
async def test_a_tool_that_swallows_cancellation_once_does_not_stop_it() -> None:
    started = anyio.Event()

    async def stubborn() -> str:
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(3600)
        return ""

    run = Agent(ScriptedModel([call_tool("stubborn")]), [stubborn]).run("go")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run.wait)
            await started.wait()
            run.cancel()
    assert run.result.stop_reason == "cancelled"


@pytest.mark.spec("AG-110")
async def test_a_sync_tool_does_not_hold_cancellation_up() -> None:
    release, started = threading.Event(), threading.Event()

    def block() -> str:
        started.set()
        release.wait(30)
        return ""

    run = Agent(ScriptedModel([call_tool("block")]), [block]).run("go")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run.wait)
            await anyio.to_thread.run_sync(started.wait)
            run.cancel()
    release.set()
    assert run.result.stop_reason == "cancelled"


@pytest.mark.spec("AG-110")
async def test_after_the_model_means_that_its_tools_do_not_run() -> None:
    ran: list[int] = []

    async def work() -> str:
        ran.append(1)
        return ""

    class Model:
        name = "m"

        async def generate(self, request: ModelRequest) -> Message:
            run.cancel("after_model")
            return call_tool("work")

    run = Agent(Model(), [work]).run("go")
    result = await run.wait()
    assert (result.stop_reason, ran) == ("cancelled", [])
    # The messages can start another run: every call has a result.
    assert [m.role for m in result.messages] == ["user", "assistant", "tool"]
    assert result.messages[-1].is_error


@pytest.mark.spec("AG-110")
async def test_after_the_tools_means_that_they_finish_and_the_model_is_not_asked_again() -> None:
    async def work() -> str:
        run.cancel("after_tools")
        await asyncio.sleep(0)
        return "worked"

    model = ScriptedModel([call_tool("work"), "never"])
    run = Agent(model, [work]).run("go")
    result = await run.wait()
    assert result.stop_reason == "cancelled"
    assert result.messages[-1].text == "worked"
    assert len(model.requests) == 1


@pytest.mark.spec("AG-110")
async def test_a_final_answer_at_a_safe_point_simply_completes() -> None:
    class Model:
        name = "m"

        async def generate(self, request: ModelRequest) -> Message:
            run.cancel("safe_point")
            return Message.assistant("hi")

    run = Agent(Model()).run("go")
    assert (await run.wait()).stop_reason == "completed"


@pytest.mark.spec("AG-110")
async def test_a_safe_point_that_takes_too_long_is_not_waited_for() -> None:
    async def forever() -> str:
        run.cancel("safe_point", timeout_s=0.01)
        await asyncio.Event().wait()
        return ""

    run = Agent(ScriptedModel([call_tool("forever")]), [forever]).run("go")
    with anyio.fail_after(5):
        assert (await run.wait()).stop_reason == "cancelled"


async def finish(run: Run, *, read_events: bool) -> None:
    await (collect(run) if read_events else run.wait())


@pytest.mark.spec("AG-110")
async def test_the_callers_own_cancellation_goes_through() -> None:
    before = asyncio.all_tasks()
    started = anyio.Event()

    async def forever() -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent(ScriptedModel(lambda _: call_tools(("forever", {}), ("forever", {}))), [forever])
    for read_events in (True, False):
        run = agent.run("go")
        with anyio.fail_after(5):
            task = asyncio.create_task(finish(run, read_events=read_events))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert asyncio.all_tasks() == before
        started = anyio.Event()


@pytest.mark.spec("AG-111", "AG-110")
async def test_a_cancelled_round_keeps_the_results_of_finished_calls() -> None:
    finished = anyio.Event()

    async def quick() -> str:
        finished.set()
        return "quick"

    async def forever() -> str:
        await finished.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.Event().wait()
        return ""

    run = Agent(ScriptedModel([call_tools(("forever", {}), ("quick", {}))]), [quick, forever]).run(
        "go"
    )
    with anyio.fail_after(5):
        result = await run.wait()
    assert [m.text for m in result.messages if m.role == "tool"][1] == "quick"
    agent = Agent(ScriptedModel(["fine"]), [add])
    again = await agent.invoke([*result.messages, Message.user("go on")])
    assert again.text == "fine"

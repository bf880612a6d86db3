"""Runs that stop for a person and resume with the answer, also in another process."""

import os
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from taskloom.agent import (
    Agent,
    AgentError,
    CheckpointError,
    CheckpointStore,
    DirectoryCheckpoints,
    MemoryCheckpoints,
    Message,
    Middleware,
    ModelHandler,
    ModelRequest,
    RunSetup,
    ScriptedModel,
    State,
    ToolCall,
    ToolLike,
    ToolStarted,
    as_tool,
    before_model,
    call_tool,
    get_value,
    interrupt,
    set_value,
)
from tests.agent.samples import add, collect

CALLS = (
    ToolCall("c1", "add", '{"a":1,"b":1}'),
    ToolCall("c2", "ask", '{"what":"name"}'),
    ToolCall("c3", "ask", '{"what":"age"}'),
)


class AskingAgent:
    """An agent that asks two questions in one reply; each process makes its own."""

    def __init__(self, store: CheckpointStore) -> None:
        self.ran: list[str] = []

        async def ask(what: str) -> str:
            self.ran.append(f"ask {what}")
            set_value("asked", (get_value("asked") or 0) + 1)
            return f"{what} is {interrupt({'question': what})}"

        async def add(a: int, b: int) -> int:
            self.ran.append("add")
            return a + b

        @before_model
        async def hide(state: State) -> None:
            state.tools[:] = [info for info in state.tools if info.name != "hidden"]

        async def hidden() -> str:
            return "seen"

        def reply(messages: Sequence[Message]) -> Message | str:
            return "all known" if len(messages) > 1 else Message.assistant("", *CALLS)

        self.model = ScriptedModel(reply)
        self.agent = Agent(
            self.model, [add, ask, hidden], [hide], checkpoints=store, max_iterations=2
        )


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointStore:
    return MemoryCheckpoints() if request.param == "memory" else DirectoryCheckpoints(tmp_path)


@pytest.mark.spec("AG-501")
async def test_an_interrupt_ends_the_run_with_one_entry_each_and_siblings_finish(
    store: CheckpointStore,
) -> None:
    result = await AskingAgent(store).agent.invoke("go")
    assert result.stop_reason == "interrupted"
    assert [(one.where, one.info) for one in result.interrupts] == [
        ("tool ask", {"question": "name"}),
        ("tool ask", {"question": "age"}),
    ]
    assert len({one.id for one in result.interrupts}) == 2
    assert [m.text for m in result.messages if m.tool_call_id == "c1"] == ["2"]


@pytest.mark.spec("AG-502", "AG-302")
async def test_a_resumed_run_continues_where_it_stopped(store: CheckpointStore) -> None:
    first = AskingAgent(store)
    stopped = await first.agent.invoke("go")
    name, age = stopped.interrupts
    second = AskingAgent(store)

    events = await collect(run := second.agent.resume(stopped.run_id, {name.id: "Ada", age.id: 36}))

    result = run.result
    assert result.stop_reason == "completed"
    assert [m.text for m in result.messages if m.role == "tool"] == [
        "2",
        "name is Ada",
        "age is 36",
    ]
    assert second.ran == ["ask name", "ask age"]
    assert len(second.model.requests) == 1  # One iteration of the two was used before.
    assert result.iterations == 2
    assert [info.name for info in second.model.requests[0].tools] == ["add", "ask"]
    started = [event.call.id for event in events if isinstance(event, ToolStarted)]
    assert started == ["c2", "c3"]
    with pytest.raises(CheckpointError, match="no checkpoint"):
        await second.agent.resume(stopped.run_id).wait()


@pytest.mark.spec("AG-502")
async def test_an_interrupt_without_an_answer_stops_the_run_again(store: CheckpointStore) -> None:
    stopped = await AskingAgent(store).agent.invoke("go")
    name, age = stopped.interrupts
    again = await AskingAgent(store).agent.resume(stopped.run_id, {age.id: 36}).wait()
    assert again.stop_reason == "interrupted"
    assert [one.id for one in again.interrupts] == [name.id]
    house = AskingAgent(store)
    result = await house.agent.resume(stopped.run_id, {name.id: "Ada"}).wait()
    assert [m.text for m in result.messages if m.role == "tool"] == [
        "2",
        "name is Ada",
        "age is 36",
    ]
    assert house.ran == ["ask name"]


@pytest.mark.spec("AG-302")
async def test_values_survive_into_a_new_process(store: CheckpointStore) -> None:
    stopped = await AskingAgent(store).agent.invoke("go")
    seen: list[object] = []

    class Look(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            assert setup.resumed
            seen.append(get_value("asked"))

    agent = Agent(ScriptedModel([]), [], [Look()], checkpoints=store)
    await agent.resume(stopped.run_id).wait()
    assert seen == [2]


@pytest.mark.spec("AG-501", "AG-502", "AG-202")
@pytest.mark.parametrize("hook", ["before_agent", "before_model", "wrap_model", "after_model"])
async def test_a_middleware_can_interrupt_in_any_hook(hook: str) -> None:
    store = MemoryCheckpoints()
    log: list[str] = []

    class Asking(Middleware):
        async def _ask(self, here: str) -> None:
            log.append(here)
            if here == hook:
                log.append(f"{here} {interrupt('ok?')}")

        async def before_agent(self, setup: RunSetup) -> None:
            await self._ask("before_agent")

        async def before_model(self, state: State) -> State | None:
            await self._ask("before_model")
            return None

        async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
            await self._ask("wrap_model")
            return await call(request)

        async def after_model(self, state: State) -> State | None:
            await self._ask("after_model")
            return None

    @before_model
    def first(state: State) -> None:
        state.messages.append(Message.user("once"))

    agent = Agent(ScriptedModel(["hi"]), [], [first, Asking()], checkpoints=store)
    stopped = await agent.invoke("go")
    assert stopped.stop_reason == "interrupted"
    assert stopped.interrupts[0].where == f"Asking.{hook}"
    result = await agent.resume(stopped.run_id, {stopped.interrupts[0].id: "yes"}).wait()
    assert result.text == "hi"
    assert f"{hook} yes" in log
    # Hooks that were done before the interrupt are not done twice.
    assert [m.text for m in result.messages].count("once") == 1
    assert log.count("before_agent") == 2


async def test_asking_twice_in_one_call_asks_one_after_the_other() -> None:
    async def form() -> str:
        return f"{interrupt('first')} {interrupt('second')}"

    store = MemoryCheckpoints()
    agent = Agent(ScriptedModel([call_tool("form"), "ok"]), [form], checkpoints=store)
    result = await agent.invoke("go")
    answers = iter(["one", "two"])
    while result.stop_reason == "interrupted":
        answer = {one.id: next(answers) for one in result.interrupts}
        result = await agent.resume(result.run_id, answer).wait()
    assert result.messages[2].text == "one two"


@pytest.mark.spec("AG-501")
@pytest.mark.parametrize("how", ["thread", "task group", "generator"])
async def test_a_tool_may_ask_from_a_thread_a_task_group_or_a_generator(how: str) -> None:
    answers: list[object] = []

    def thread() -> str:
        return str(interrupt("ok?"))

    async def child() -> None:
        answers.append(interrupt("ok?"))

    async def group() -> str:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(child)
        return str(answers[0])

    async def generator() -> AsyncIterator[str]:
        yield str(interrupt("ok?"))

    tools: dict[str, ToolLike] = {"thread": thread, "task group": group, "generator": generator}
    chosen = as_tool(tools[how])
    store = MemoryCheckpoints()
    agent = Agent(ScriptedModel([call_tool(chosen.name), "ok"]), [chosen], checkpoints=store)
    stopped = await agent.invoke("go")
    (question,) = stopped.interrupts
    result = await agent.resume(stopped.run_id, {question.id: "yes"}).wait()
    assert result.messages[2].text == "yes"


@pytest.mark.spec("AG-106")
async def test_a_tools_task_group_that_fails_is_an_error_like_any_other() -> None:
    async def child() -> None:
        raise ValueError("in a child")

    async def group() -> str:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(child)
        return ""

    result = await Agent(ScriptedModel([call_tool("group"), "ok"]), [group]).invoke("go")
    assert result.messages[2].is_error
    assert "ValueError: in a child" in result.messages[2].text


async def test_a_tool_cannot_swallow_an_interrupt_by_accident() -> None:
    async def careful() -> str:
        try:
            return str(interrupt("?"))
        except Exception:  # noqa: BLE001 - what careless tools do
            return "swallowed"

    result = await Agent(ScriptedModel([call_tool("careful")]), [careful]).invoke("go")
    assert result.stop_reason == "interrupted"


@pytest.mark.spec("AG-502", "AG-110")
async def test_a_cancelled_run_can_be_resumed() -> None:
    store = MemoryCheckpoints()

    async def stop() -> str:
        run.cancel("after_tools")
        return "stopped"

    agent = Agent(ScriptedModel([call_tool("stop"), "went on"]), [stop], checkpoints=store)
    run = agent.run("go")
    cancelled = await run.wait()
    assert cancelled.stop_reason == "cancelled"
    assert (await agent.resume(cancelled.run_id).wait()).text == "went on"


@pytest.mark.spec("AG-503")
async def test_a_damaged_or_unknown_checkpoint_is_a_clear_error(tmp_path: Path) -> None:
    store = DirectoryCheckpoints(tmp_path)
    stopped = await AskingAgent(store).agent.invoke("go")
    file = tmp_path / f"{stopped.run_id}.checkpoint.json"
    good = file.read_text()
    assert good.startswith('{"format":"taskloom-checkpoint","version":1,')

    async def resume_with(text: str) -> str:
        file.write_text(text)
        with pytest.raises(CheckpointError) as failed:
            await AskingAgent(store).agent.resume(stopped.run_id).wait()
        assert file.read_text() == text
        return str(failed.value)

    assert "version 2" in await resume_with(good.replace('"version":1', '"version":2'))
    assert "checksum" in await resume_with(good.replace('"question":"name"', '"question":"nami"'))
    assert "cannot be used" in await resume_with(good[: len(good) // 2])
    assert "cannot be used" in await resume_with("[]")
    file.write_text(good)
    assert (
        await AskingAgent(store).agent.resume(stopped.run_id).wait()
    ).stop_reason == "interrupted"


async def test_without_a_store_resume_says_what_is_missing() -> None:
    with pytest.raises(AgentError, match="checkpoints="):
        Agent(ScriptedModel([]), [add]).resume("run_1")


async def test_a_run_id_cannot_leave_the_directory(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([]), checkpoints=DirectoryCheckpoints(tmp_path))
    with pytest.raises(CheckpointError, match="not a run id"):
        await agent.resume("../secret").wait()


@pytest.mark.spec("AG-503")
async def test_a_checkpoint_is_written_whole_before_it_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    fsync = os.fsync

    def recording(fd: int) -> None:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode):
            sizes.append(status.st_size)
        fsync(fd)

    monkeypatch.setattr("os.fsync", recording)
    monkeypatch.setattr("taskloom.atomic_write._FULL_SYNC", None)  # macOS has its own sync.
    await DirectoryCheckpoints(tmp_path).save("run_1", b"x" * 1000)
    assert sizes == [1000]
    assert await DirectoryCheckpoints(tmp_path).load("run_1") == b"x" * 1000

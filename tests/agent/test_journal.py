"""The journal: what it holds, how it grows, and a run continued from every beginning of it."""

import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import get_args

import msgspec
import pytest

from taskloom.agent import (
    Agent,
    AgentError,
    JournalError,
    JournalMismatchError,
    Message,
    Middleware,
    ModelRequest,
    Result,
    RunSetup,
    ScriptedModel,
    State,
    Tool,
    after_agent,
    after_model,
    before_model,
    call_tool,
    call_tools,
    get_value,
    interrupt,
    set_value,
    tool,
)
from taskloom.agent.journal import open_journal
from taskloom.agent.loop.journal_entries import CallsStarted, Entry
from taskloom.agent.loop.run_state import APPLY
from taskloom.errors import StorageError
from taskloom.log import OsDisk
from taskloom.log.sync_policy import QUICK_S, SLOW_SYNCS
from tests.agent.samples import add


class Counted:
    """An agent of three turns, two calls each, that counts what it does."""

    def __init__(self, middleware: Sequence[Middleware] = (), *, idempotent: bool = False) -> None:
        self.acted: list[str] = []
        self.asked = 0
        self.agent = Agent(self, [self.tool(idempotent=idempotent)], middleware)

    name = "counted"

    def tool(self, *, idempotent: bool) -> Tool:
        @tool(idempotent=idempotent)
        async def act(what: str) -> str:
            self.acted.append(what)
            set_value("last", what)
            return f"did {what}"

        return act

    async def generate(self, request: ModelRequest) -> Message:
        self.asked += 1
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn == 3:
            return Message.assistant("done")
        return call_tools(("act", {"what": f"{turn}a"}), ("act", {"what": f"{turn}b"}))


def kinds(path: Path) -> list[str]:
    return [msgspec.json.decode(line)["entry"]["e"] for line in path.read_bytes().splitlines()]


@pytest.mark.spec("AG-701")
async def test_every_message_and_every_start_and_end_of_a_call_is_there_in_order(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    model = ScriptedModel([call_tools(("add", {"a": 1, "b": 1}), ("nope", {})), "2"])
    result = await Agent(model, [add]).invoke("go", journal=path)
    assert kinds(path) == ["begun", "reply", "end", "start", "end", "reply", "ended"]
    journal, entries = open_journal(path)
    journal.close()
    messages = [m for entry in entries if (m := getattr(entry, "message", None)) is not None]
    emitted = sorted([m.id for m in messages])
    assert emitted == sorted([m.id for m in result.messages if m.role != "user"])
    first = msgspec.json.decode(path.read_bytes().splitlines()[0])
    assert list(first) == ["wal_seq", "entry", "tx", "crc"]  # The frame of the board's log.


@pytest.mark.spec("AG-702")
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("hooked", [False, True])
async def test_from_every_prefix_of_the_journal_the_run_resumes(
    tmp_path: Path, idempotent: bool, hooked: bool
) -> None:
    @before_model
    def remind(state: State) -> None:
        if state.messages[-1].text != "remember":
            state.messages.append(Message.user("remember"))

    @after_model
    def sign(state: State) -> None:
        state.messages[-1] = state.messages[-1].replace(content=state.messages[-1].text + ".")

    middleware = [remind, sign] if hooked else []
    whole = tmp_path / "whole.jsonl"
    model = Counted(middleware)
    result = await model.agent.invoke("go", journal=whole)
    assert (model.asked, len(model.acted)) == (4, 6)
    data = whole.read_bytes()
    ends = [n + 1 for n, byte in enumerate(data) if byte == ord("\n")]
    for number, cut in enumerate(sorted({*ends, *(end - 20 for end in ends), 0, 1})):
        path = tmp_path / f"cut{number}.jsonl"
        path.write_bytes(data[:cut])
        kept = data[:cut]
        again = Counted(middleware, idempotent=idempotent)
        resumed = await again.agent.invoke("go", journal=path)
        texts = [m.text for m in resumed.messages]
        expected = [m.text for m in result.messages]
        unknown = sum("unknown" in text for text in texts)
        assert all(
            here == there or "unknown" in here for here, there in zip(texts, expected, strict=True)
        )
        if idempotent:
            assert unknown == 0
        # What the journal holds whole was not done again.
        replies = kept[: kept.rfind(b"\n") + 1].count(b'"e":"reply"')
        finished = kept[: kept.rfind(b"\n") + 1].count(b'"e":"end"')
        assert again.asked in (4 - replies, 5 - replies)  # Half a decision counts as none.
        assert len(again.acted) + unknown in range(6 - finished, 6 - finished + 3)
        assert len(again.acted) == len(set(again.acted))


@pytest.mark.spec("AG-702")
async def test_values_hidden_tools_and_edits_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[object] = []

    class Keeper(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            seen.append((setup.resumed, get_value("note")))

        async def before_model(self, state: State) -> State | None:
            if seen[-1] != (True, {"n": 1}):
                set_value("note", {"n": 1})
                state.tools[:] = [info for info in state.tools if info.name == "stop"]
                state.messages[0] = Message.user("changed")
            return None

    class StopError(Exception):
        pass

    async def stop() -> str:
        raise StopError

    def agent(model: ScriptedModel) -> Agent:
        return Agent(model, [add, stop], [Keeper()], on_tool_error="raise")

    failed = await agent(ScriptedModel([call_tool("stop")])).run("go", journal=path).wait()
    assert failed.stop_reason == "failed"
    model = ScriptedModel(["done"])
    result = await agent(model).invoke(journal=path)
    assert seen == [(False, None), (True, {"n": 1})]
    assert [info.name for info in model.requests[0].tools] == ["stop"]
    assert result.messages[0].text == "changed"
    assert result.stop_reason == "completed"


@pytest.mark.spec("AG-702", "AG-502")
async def test_a_journalled_run_can_be_answered_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    ran: list[str] = []

    async def ask() -> str:
        ran.append("ask")
        return str(interrupt("name?"))

    def agent(*script: Message | str) -> Agent:
        return Agent(ScriptedModel(script), [ask, add])

    calls = call_tools(("ask", {}), ("add", {"a": 1, "b": 1}))
    stopped = await agent(calls).invoke("go", journal=path)
    (question,) = stopped.interrupts
    again = await agent().invoke(journal=path)
    assert again.interrupts == (question,)
    result = await agent("fine").invoke(journal=path, answers={question.id: "Ada"})
    assert [m.text for m in result.messages] == ["go", "", "Ada", "2", "fine"]
    assert ran == ["ask"] * 3


@pytest.mark.spec("AG-701")
async def test_the_journal_grows_with_what_is_new(tmp_path: Path) -> None:
    async def look() -> str:
        return "x" * 200

    async def size(turns: int, middleware: Sequence[Middleware] = ()) -> int:
        path = tmp_path / f"{turns}-{len(middleware)}.jsonl"
        model = ScriptedModel([*(call_tool("look") for _ in range(turns)), "done"])
        agent = Agent(model, [look], middleware, max_iterations=turns + 1)
        await agent.invoke("go", journal=path)
        return path.stat().st_size

    @before_model
    def clear_one(state: State) -> None:
        # What context reduction does: one old result at a time becomes short.
        if len(state.messages) > 5:
            index = len(state.messages) - 4
            state.messages[index] = state.messages[index].replace(content="[cleared]")

    short, long = await size(50), await size(100)
    assert long < 2.1 * short
    assert long / 100 < 750  # So 200 calls stay below 150 kB.
    reduced, reduced_long = await size(50, [clear_one]), await size(100, [clear_one])
    assert reduced_long < 2.1 * reduced


@pytest.mark.spec("AG-701")
@pytest.mark.parametrize("calls", [1, 2])
async def test_a_disk_that_fails_ends_the_run_before_anything_unsafe_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    acted: list[int] = []

    async def act(n: int) -> str:
        acted.append(n)
        return str(n)

    syncs = 0

    def fail_from_the_third_on(fd: int) -> None:
        nonlocal syncs
        syncs += 1
        if syncs >= 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fdatasync", fail_from_the_third_on)
    reply = call_tools(*(("act", {"n": n}) for n in range(calls)))
    agent = Agent(ScriptedModel([reply, "never"]), [act])
    result = await agent.run("go", journal=tmp_path / "run.jsonl").wait()
    assert result.stop_reason == "failed"
    assert isinstance(result.error, StorageError)
    assert "No space left" in str(result.error)
    assert len(acted) == calls


@pytest.mark.spec("AG-702")
async def test_a_run_killed_before_its_first_reply_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    class Killed(BaseException):
        pass

    class Model:
        name = "m"

        async def generate(self, request: ModelRequest) -> Message:
            raise Killed

    with pytest.raises(Killed):
        await Agent(Model()).invoke("go", journal=path)
    result = await Agent(ScriptedModel(["hi"])).invoke(journal=path)
    assert [m.text for m in result.messages] == ["go", "hi"]


@pytest.mark.spec("AG-702")
async def test_the_final_reply_is_safe_before_after_agent_runs(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    class Killed(BaseException):
        pass

    @after_agent
    def die(result: Result) -> None:
        raise Killed

    with pytest.raises(Killed):
        await Agent(ScriptedModel(["hi"]), [], [die]).invoke("go", journal=path)
    model = ScriptedModel([])
    assert (await Agent(model).invoke(journal=path)).text == "hi"
    assert model.requests == []


async def test_a_journal_belongs_to_one_run(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.jsonl"
    with pytest.raises(AgentError, match="start from"):
        await Agent(ScriptedModel([])).invoke(journal=path)
    await Agent(ScriptedModel(["hi"])).invoke("go", journal=path)
    with pytest.raises(JournalMismatchError, match="another prompt"):
        await Agent(ScriptedModel(["hi"])).invoke("other", journal=path)


async def test_a_journal_in_use_or_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal, _ = open_journal(path)
    with pytest.raises(JournalError, match="Another process"):
        await Agent(ScriptedModel(["hi"])).invoke("go", journal=path)
    journal.close()
    await Agent(ScriptedModel(["hi"])).invoke("go", journal=path)
    path.write_bytes(path.read_bytes().replace(b'"hi"', b'"ho"'))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is damaged at line 2"):
        await Agent(ScriptedModel(["hi"])).invoke("go", journal=path)
    assert path.read_bytes() == before


async def test_a_torn_end_is_set_aside_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await Agent(ScriptedModel(["hi"])).invoke("go", journal=path)
    with path.open("ab") as file:
        file.write(b'{"wal_seq":4,"entr')
    journal, entries = open_journal(path)
    journal.close()
    assert len(entries) == 3
    assert [torn.read_bytes() for torn in (tmp_path / "torn").iterdir()] == [b'{"wal_seq":4,"entr']


def test_every_kind_of_entry_can_be_applied() -> None:
    assert set(get_args(Entry)) == set(APPLY)


async def test_calls_that_end_in_one_round_share_a_sync(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    calls = [("add", {"a": n, "b": n}) for n in range(5)]
    await Agent(ScriptedModel([call_tools(*calls), "done"]), [add]).invoke("go", journal=path)
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [line["tx"][:2] for line in lines if line["entry"]["e"] == "end"] == [
        [number, 5] for number in range(1, 6)
    ]


class SyncThreads(OsDisk):
    """Notes the thread of each sync; a slow one takes longer than an event loop should wait."""

    def __init__(self) -> None:
        self.slow = False
        self.threads: list[bool] = []

    def sync_data(self, fd: int) -> None:
        self.threads.append(threading.current_thread() is threading.main_thread())
        began = perf_counter()
        while self.slow and perf_counter() - began < 2 * QUICK_S:
            pass
        super().sync_data(fd)


async def test_after_a_slow_sync_the_next_ones_leave_the_event_loop_s_thread(
    tmp_path: Path,
) -> None:
    disk = SyncThreads()
    journal, _ = open_journal(tmp_path / "run.jsonl", disk)
    for number in range(2 + SLOW_SYNCS):
        disk.slow = number == 0
        journal.append(CallsStarted((f"c{number}",)))
        await journal.sync()
    journal.close()
    assert disk.threads[: 1 + SLOW_SYNCS] == [True] + [False] * SLOW_SYNCS
    assert disk.threads[-1]

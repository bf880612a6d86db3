"""Middleware: which hook runs when, what it may change, and how long that lasts."""

from collections.abc import AsyncIterator, Sequence
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from taskloom.agent import (
    Agent,
    HookError,
    JsonPart,
    Message,
    Middleware,
    ModelHandler,
    ModelReply,
    ModelRequest,
    Part,
    Result,
    RichStreamingToolHandler,
    RichToolHandler,
    RunFailed,
    RunSetup,
    Say,
    ScriptedModel,
    State,
    StreamingToolHandler,
    TextPart,
    ToolCall,
    ToolHandler,
    ToolRequest,
    after_agent,
    after_model,
    before_agent,
    before_model,
    call_tool,
    tool,
    wrap_model,
    wrap_rich_streaming_tool_call,
    wrap_rich_tool_call,
    wrap_streaming_tool_call,
    wrap_tool_call,
)
from tests.agent.samples import HookRecorder, add, collect, of


async def chunks() -> AsyncIterator[str]:
    yield "a"
    yield "b"


async def picture() -> TextPart:
    return TextPart("p")


async def pictures() -> AsyncIterator[TextPart]:
    yield TextPart("p")


TWO_ITERATIONS = """
A.before_agent B.before_agent
A.before_model B.before_model A.model> B.model> B.model< A.model< A.after_model B.after_model
outer.text>add A.text>add B.text>add B.text< A.text< outer.text<
A.before_model B.before_model A.model> B.model> B.model< A.model< A.after_model B.after_model
A.after_agent B.after_agent
"""


@pytest.mark.spec("AG-201", "AG-205", "AG-109", "AG-212", "AG-211")
@pytest.mark.parametrize("read_events", [True, False])
async def test_the_order_of_all_hooks_over_two_iterations(read_events: bool) -> None:
    log: list[str] = []
    agent = Agent(
        ScriptedModel([call_tool("add", a=1, b=2), "3"]),
        [add],
        [HookRecorder("A", log), HookRecorder("B", log)],
        tool_middleware=[HookRecorder("outer", log)],
    )
    run = agent.run("go")
    await (collect(run) if read_events else run.wait())
    assert log == TWO_ITERATIONS.split()


@pytest.mark.spec("AG-201", "AG-207")
@pytest.mark.parametrize(
    ("tool", "kind"),
    [(add, "text"), (chunks, "stream"), (picture, "rich"), (pictures, "rich_stream")],
)
async def test_a_tool_wrapper_is_asked_only_for_the_kind_the_tool_is(
    tool: object, kind: str
) -> None:
    assert callable(tool)
    name = getattr(tool, "__name__", "")
    log: list[str] = []
    arguments = {"a": 1, "b": 2} if name == "add" else {}
    model = ScriptedModel([call_tool(name, **arguments), "ok"])
    await collect(Agent(model, [tool], tool_middleware=[HookRecorder("A", log)]).run("go"))
    assert log == [f"A.{kind}>{name}" if kind == "text" else f"A.{kind}>", f"A.{kind}<"]


@pytest.mark.spec("AG-202")
async def test_before_agent_changes_this_run_and_no_other() -> None:
    async def extra() -> str:
        return "extra"

    together = anyio.Event()
    waiting: list[str] = []

    @before_agent
    async def change(setup: RunSetup) -> None:
        if setup.messages[-1].text == "changed":
            setup.instruction += " Changed."
            setup.tools.append(extra)
            setup.return_directly.add("extra")
        waiting.append(setup.run_id)
        if len(waiting) == 2:
            together.set()
        await together.wait()  # Both runs are under way before either asks its model.

    seen: dict[str, ModelRequest] = {}

    class Model:
        name = "m"

        async def generate(self, request: ModelRequest) -> Message:
            seen[request.messages[0].text] = request
            return Message.assistant("ok")

    agent = Agent(Model(), [add], [change], "Be brief.")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(agent.invoke, "changed")
            group.start_soon(agent.invoke, "plain")
    assert seen["changed"].instruction == "Be brief. Changed."
    assert [info.name for info in seen["changed"].tools] == ["add", "extra"]
    assert seen["plain"].instruction == "Be brief."
    assert [info.name for info in seen["plain"].tools] == ["add"]


@pytest.mark.spec("AG-202")
async def test_before_agent_can_take_all_tools_away() -> None:
    @before_agent
    def bare(setup: RunSetup) -> None:
        setup.tools.clear()

    model = ScriptedModel([call_tool("add", a=1, b=2), "ok"])
    result = await Agent(model, [add], [bare]).invoke("go")
    assert list(model.requests[0].tools) == []
    assert result.messages[2].is_error


@pytest.mark.spec("AG-203")
async def test_what_the_model_hooks_leave_in_the_state_stays() -> None:
    @before_model
    async def note(state: State) -> State:
        return State([*state.messages, Message.user(f"note {len(state.messages)}")], state.tools)

    @after_model
    def shout(state: State) -> None:
        state.messages[-1] = state.messages[-1].replace(content=state.messages[-1].text.upper())

    model = ScriptedModel([Message.assistant("one", ToolCall("c", "add", '{"a":1,"b":1}')), "two"])
    result = await Agent(model, [add], [note, shout]).invoke("go")
    assert [m.text for m in result.messages] == ["go", "note 1", "ONE", "2", "note 4", "TWO"]
    assert [m.text for m in model.requests[1].messages] == ["go", "note 1", "ONE", "2", "note 4"]


@pytest.mark.spec("AG-203")
async def test_tools_hidden_once_stay_hidden() -> None:
    @before_model
    async def hide_once(state: State) -> None:
        if len(state.messages) == 1:
            state.tools.clear()

    model = ScriptedModel([call_tool("add", a=1, b=1), "ok"])
    await Agent(model, [add], [hide_once]).invoke("go")
    assert [list(request.tools) for request in model.requests] == [[], []]


@pytest.mark.spec("AG-204")
async def test_removing_the_calls_of_a_reply_ends_the_run() -> None:
    @after_model
    def veto(state: State) -> None:
        state.messages[-1] = state.messages[-1].replace(tool_calls=(), content="vetoed")

    model = ScriptedModel([call_tool("add", a=1, b=1)])
    result = await Agent(model, [add], [veto]).invoke("go")
    assert (result.stop_reason, result.text) == ("completed", "vetoed")


@pytest.mark.spec("AG-204")
async def test_calls_added_to_a_reply_are_executed() -> None:
    @after_model
    def insist(state: State) -> None:
        if len(state.messages) == 2:
            call = ToolCall("mine", "add", '{"a":20,"b":1}')
            state.messages[-1] = state.messages[-1].replace(tool_calls=(call,))

    result = await Agent(ScriptedModel(["first", "second"]), [add], [insist]).invoke("go")
    assert [m.text for m in result.messages] == ["go", "first", "21", "second"]


async def test_a_hook_that_appends_a_user_message_gets_another_reply() -> None:
    @after_model
    def push_back(state: State) -> None:
        if state.messages[-1].text == "bad":
            state.messages.append(Message.user("try again"))

    result = await Agent(ScriptedModel(["bad", "good"]), [], [push_back]).invoke("go")
    assert [m.text for m in result.messages] == ["go", "bad", "try again", "good"]


@pytest.mark.spec("AG-206")
async def test_wrap_model_changes_one_call_and_nothing_of_it_stays() -> None:
    @wrap_model
    async def salt(request: ModelRequest, call: ModelHandler) -> Message:
        changed = request.replace(
            messages=[*request.messages, Message.user("salt")], settings={"temperature": 0.5}
        )
        return await call(changed)

    model = ScriptedModel([call_tool("add", a=1, b=1), "ok"])
    result = await Agent(model, [add], [salt]).invoke("go")
    assert [request.messages[-1].text for request in model.requests] == ["salt", "salt"]
    assert model.requests[0].settings == {"temperature": 0.5}
    assert "salt" not in [m.text for m in result.messages]


@pytest.mark.spec("AG-206", "AG-211")
async def test_an_event_carries_what_leaves_the_outermost_wrapper() -> None:
    @wrap_model
    async def bold(request: ModelRequest, call: ModelHandler) -> Message:
        reply = await call(request)
        return reply.replace(content=f"**{reply.text}**")

    @after_model
    def later(state: State) -> None:
        state.messages[-1] = state.messages[-1].replace(content="later")

    run = Agent(ScriptedModel(["hi"]), [], [later, bold]).run("go")
    emitted = of(ModelReply, await collect(run))
    assert [event.message.text for event in emitted if isinstance(event, ModelReply)] == ["**hi**"]
    assert run.result.text == "later"


@pytest.mark.spec("AG-207")
async def test_a_tool_wrapper_changes_arguments_result_and_error_of_one_call() -> None:
    @wrap_tool_call
    async def meddle(request: ToolRequest, call: ToolHandler) -> str:
        assert request.call_id.startswith("c")
        if request.arguments["a"] == 0:
            return "not called"
        if request.arguments["a"] == 1:
            return "<" + await call(request.replace(arguments={"a": 40, "b": 2})) + ">"
        raise RuntimeError("wrapper says no")

    calls = [ToolCall(f"c{n}", "add", f'{{"a":{n},"b":1}}') for n in range(3)]
    model = ScriptedModel([Message.assistant("", *calls), "ok"])
    result = await Agent(model, [add], [meddle]).invoke("go")
    tools = [m for m in result.messages if m.role == "tool"]
    assert [m.text for m in tools[:2]] == ["not called", "<42>"]
    assert tools[2].is_error
    assert "wrapper says no" in tools[2].text


@pytest.mark.spec("AG-108", "AG-207")
async def test_arguments_that_a_wrapper_changed_are_checked_too() -> None:
    @wrap_tool_call
    async def spoil(request: ToolRequest, call: ToolHandler) -> str:
        request.arguments["a"] = "x"
        return await call(request)

    result = await Agent(ScriptedModel([call_tool("add", a=1, b=1), "ok"]), [add], [spoil]).invoke(
        "go"
    )
    assert "`a`" in result.messages[2].text


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


@pytest.mark.spec("AG-208")
async def test_context_values_reach_as_far_as_they_should() -> None:
    seen: dict[str, str] = {}

    class Setter(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            WHO.set("run")

        async def before_model(self, state: State) -> State | None:
            seen[f"before {len(state.messages)}"] = WHO.get()
            WHO.set(f"call {len(state.messages)}")
            return None

        async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
            seen[f"model {len(request.messages)}"] = WHO.get()
            return await call(request)

        async def after_model(self, state: State) -> State | None:
            seen[f"after {len(state.messages)}"] = WHO.get()
            return None

        async def after_agent(self, result: Result) -> None:
            seen["after_agent"] = WHO.get()

    async def tool() -> str:
        seen["tool"] = WHO.get()
        WHO.set("tool")
        return ""

    await Agent(ScriptedModel([call_tool("tool"), "ok"]), [tool], [Setter()]).invoke("go")
    assert seen == {
        "before 1": "run",
        "model 1": "call 1",
        "after 2": "call 1",
        "tool": "run",
        "before 3": "run",
        "model 3": "call 3",
        "after 4": "call 3",
        "after_agent": "run",
    }
    assert WHO.get() == "nobody"


class Failing(Middleware):
    """Raises in one hook."""

    def __init__(self, hook: str) -> None:
        async def fail(*_: object) -> None:
            raise KeyError("broken")

        setattr(self, hook, fail)


@pytest.mark.spec("AG-209")
@pytest.mark.parametrize(
    "hook", ["before_agent", "before_model", "wrap_model", "after_model", "after_agent"]
)
async def test_a_hook_that_raises_ends_the_run_and_is_named(hook: str) -> None:
    log: list[str] = []
    agent = Agent(ScriptedModel(["hi"]), [], [Failing(hook), HookRecorder("later", log)])
    run = agent.run("go")
    failed = [event for event in await collect(run) if isinstance(event, RunFailed)]
    assert [(event.middleware, event.hook) for event in failed] == [("Failing", hook)]
    assert run.result.stop_reason == "failed"
    error = run.result.error
    assert isinstance(error, HookError)
    assert isinstance(error.__cause__, KeyError)
    assert f"later.{hook}" not in log
    assert "later.after_agent" not in log


@pytest.mark.spec("AG-210")
async def test_after_agent_runs_on_success_only() -> None:
    ended: list[str] = []

    @after_agent
    def note(result: Result) -> None:
        ended.append(result.stop_reason)

    def agent(model: ScriptedModel, **options: object) -> Agent:
        return Agent(model, [add], [note], **options)  # type: ignore[arg-type]  # test options

    await agent(ScriptedModel(["hi"])).invoke("go")
    await agent(ScriptedModel([call_tool("add", a=1, b=1)]), return_directly=["add"]).invoke("go")
    assert ended == ["completed", "returned_directly"]
    await agent(ScriptedModel([call_tool("add", a=1, b=1)]), max_iterations=1).invoke("go")
    await agent(ScriptedModel([OSError()])).run("go").wait()
    cancelled = agent(ScriptedModel(["hi"])).run("go")
    cancelled.cancel()
    await cancelled.wait()
    assert ended == ["completed", "returned_directly"]


@pytest.mark.spec("AG-213")
async def test_plain_functions_serve_as_middleware() -> None:
    log: list[str] = []

    @before_agent
    def one(setup: RunSetup) -> None:
        log.append(setup.instruction)

    @wrap_tool_call
    async def two(request: ToolRequest, call: ToolHandler) -> str:
        log.append(request.name)
        return await call(request)

    assert (one.name, two.name) == ("one", "two")
    model = ScriptedModel([call_tool("add", a=1, b=1), Say(text="ok")])
    await Agent(model, [add], [one, two], "Be kind.").invoke("go")
    assert log == ["Be kind.", "add"]


async def test_a_wrapper_may_see_and_change_the_chunks() -> None:
    @wrap_model
    async def upper(request: ModelRequest, call: ModelHandler) -> Message:
        outside = request.on_delta
        assert outside is not None

        async def louder(delta: object) -> None:
            from_model = delta
            assert hasattr(from_model, "text")
            chunks.append(getattr(from_model, "text", ""))

        return await call(request.replace(on_delta=louder))

    chunks: list[str] = []
    await collect(Agent(ScriptedModel(["hello there"], chunk_chars=6), [], [upper]).run("go"))
    assert chunks == ["hello ", "there"]


@pytest.mark.spec("AG-201", "AG-213")
async def test_each_kind_of_tool_wrapper_can_be_a_function() -> None:
    async def words() -> AsyncIterator[str]:
        yield "a"

    async def part() -> TextPart:
        return TextPart("a")

    async def parts() -> AsyncIterator[TextPart]:
        yield TextPart("a")

    @wrap_streaming_tool_call
    async def stream(request: ToolRequest, call: StreamingToolHandler) -> AsyncIterator[str]:
        async for chunk in call(request):
            yield chunk + "1"

    @wrap_rich_tool_call
    async def rich(request: ToolRequest, call: RichToolHandler) -> Sequence[Part]:
        return [*await call(request), TextPart("2")]

    @wrap_rich_streaming_tool_call
    async def rich_stream(
        request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        async for one in call(request):
            yield one
        yield TextPart("3")

    script = [call_tool("words"), call_tool("part"), call_tool("parts"), "ok"]
    agent = Agent(ScriptedModel(script), [words, part, parts], [stream, rich, rich_stream])
    result = await agent.invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["a1", "a2", "a3"]


@pytest.mark.spec("AG-201")
async def test_the_hooks_of_the_base_class_can_be_called() -> None:
    class Polite(Middleware):
        async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
            return await super().wrap_model(request, call)

        async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
            return await super().wrap_tool_call(request, call)

        def wrap_streaming_tool_call(
            self, request: ToolRequest, call: StreamingToolHandler
        ) -> AsyncIterator[str]:
            return super().wrap_streaming_tool_call(request, call)

        async def wrap_rich_tool_call(
            self, request: ToolRequest, call: RichToolHandler
        ) -> Sequence[Part]:
            return await super().wrap_rich_tool_call(request, call)

        def wrap_rich_streaming_tool_call(
            self, request: ToolRequest, call: RichStreamingToolHandler
        ) -> AsyncIterator[Part]:
            return super().wrap_rich_streaming_tool_call(request, call)

    async def words() -> AsyncIterator[str]:
        yield "a"

    @tool(rich=True)
    async def part() -> str:
        return "b"

    @tool(rich=True)
    async def parts() -> AsyncIterator[object]:
        yield {"c": 1}

    script = [
        *(call_tool("add", a=1, b=1), call_tool("words"), call_tool("part"), call_tool("parts")),
        "ok",
    ]
    agent = Agent(ScriptedModel(script), [add, words, part, parts], [Polite()])
    contents: list[Any] = [
        m.content for m in (await agent.invoke("go")).messages if m.role == "tool"
    ]
    assert contents == ["2", "a", (TextPart("b"),), (JsonPart({"c": 1}),)]

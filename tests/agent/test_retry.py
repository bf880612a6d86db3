"""Failed model calls: retry, failover, and the events of superseded attempts."""

import asyncio

import anyio
import pytest

from taskloom.agent import (
    Agent,
    Attempt,
    ChatModel,
    HookError,
    Message,
    ModelDelta,
    ModelHandler,
    ModelReply,
    ModelRequest,
    ModelSuperseded,
    RetriesExhaustedError,
    Retry,
    RunFailedError,
    Say,
    ScriptedModel,
    call_tool,
    interrupt,
    wrap_model,
)
from taskloom.agent.retry import BACKOFF_MAX_S, doubling
from tests.agent.samples import add, collect


def at_once(_: int) -> float:
    return 0.0


@pytest.mark.spec("AG-401", "AG-104")
async def test_a_failed_call_is_made_again_and_does_not_count() -> None:
    model = ScriptedModel([OSError("a"), OSError("b"), "fine"])
    agent = Agent(model, retry=Retry(max_retries=2, backoff=at_once), max_iterations=1)
    result = await agent.invoke("go")
    assert (result.text, result.iterations) == ("fine", 1)


@pytest.mark.spec("AG-401")
async def test_exhaustion_holds_the_last_cause() -> None:
    model = ScriptedModel([OSError("first"), OSError("last")])
    with pytest.raises(RunFailedError, match="last") as raised:
        await Agent(model, retry=Retry(max_retries=1, backoff=at_once)).invoke("go")
    error = raised.value.result.error
    assert isinstance(error, RetriesExhaustedError)
    assert (error.attempts, str(error.last)) == (2, "last")
    assert error.__cause__ is error.last


@pytest.mark.spec("AG-401")
async def test_the_predicate_judges_errors_and_replies() -> None:
    seen: list[tuple[int, str]] = []

    def judge(attempt: Attempt) -> bool:
        seen.append((attempt.number, str(attempt.error or (attempt.reply and attempt.reply.text))))
        return attempt.error is not None or (attempt.reply is not None and not attempt.reply.text)

    model = ScriptedModel([OSError("x"), "", "good"])
    run = Agent(model, retry=Retry(should_retry=judge, backoff=at_once)).run("go")
    events = await collect(run)
    assert seen == [(1, "x"), (2, ""), (3, "good")]
    assert run.result.text == "good"
    replies = [event for event in events if isinstance(event, ModelReply)]
    assert [event.message.text for event in replies] == ["good"]

    picky = Retry(max_retries=5, should_retry=lambda attempt: False, backoff=at_once)
    with pytest.raises(RunFailedError, match="no retry"):
        await Agent(ScriptedModel([OSError("no retry"), "x"]), retry=picky).invoke("go")


@pytest.mark.spec("AG-401")
def test_the_default_backoff_doubles_from_100_ms_with_jitter_up_to_10_s() -> None:
    for attempt in range(1, 8):
        waits = [doubling(attempt) for _ in range(50)]
        floor = min(0.1 * 2 ** (attempt - 1), BACKOFF_MAX_S)
        assert all(floor <= wait <= min(floor * 1.5, BACKOFF_MAX_S) for wait in waits)
        assert len(set(waits)) > 1
    assert doubling(10_000) == BACKOFF_MAX_S


@pytest.mark.spec("AG-401", "AG-110")
async def test_cancellation_ends_the_wait_at_once() -> None:
    waiting = anyio.Event()

    def an_hour(_: int) -> float:
        waiting.set()
        return 3600.0

    run = Agent(ScriptedModel([OSError()]), retry=Retry(backoff=an_hour)).run("go")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run.wait)
            await waiting.wait()
            await asyncio.sleep(0)
            run.cancel()
    assert run.result.stop_reason == "cancelled"


@pytest.mark.spec("AG-401")
async def test_interrupts_are_never_retried() -> None:
    asked = 0

    @wrap_model
    async def ask(request: ModelRequest, call: ModelHandler) -> Message:
        nonlocal asked
        asked += 1
        interrupt("may I?")
        return await call(request)

    result = await Agent(
        ScriptedModel(["hi"]), [], [ask], retry=Retry(backoff=at_once), failover=[ScriptedModel([])]
    ).invoke("go")
    assert (result.stop_reason, asked) == ("interrupted", 1)


@pytest.mark.spec("AG-206", "AG-401")
async def test_wrappers_are_asked_again_on_each_retry_and_state_hooks_are_not() -> None:
    calls: list[int] = []

    @wrap_model
    async def count(request: ModelRequest, call: ModelHandler) -> Message:
        calls.append(len(request.messages))
        return await call(request)

    model = ScriptedModel([OSError(), "ok"])
    await Agent(model, [], [count], retry=Retry(backoff=at_once)).invoke("go")
    assert calls == [1, 1]


@pytest.mark.spec("AG-402")
async def test_after_retry_further_models_are_tried_and_the_one_that_worked_stays() -> None:
    first = ScriptedModel([OSError("1"), OSError("2")])
    second = ScriptedModel([OSError("3"), OSError("4")])
    third = ScriptedModel([call_tool("add", a=1, b=1), "done"])
    agent = Agent(
        first, [add], retry=Retry(max_retries=1, backoff=at_once), failover=[second, third]
    )
    result = await agent.invoke("go")
    assert result.text == "done"
    assert [len(model.requests) for model in (first, second, third)] == [2, 2, 2]


@pytest.mark.spec("AG-402")
async def test_failover_may_be_a_function_and_ends_with_the_last_error() -> None:
    seen: list[tuple[int, str]] = []

    def choose(attempt: Attempt) -> ChatModel | None:
        seen.append((attempt.number, str(attempt.error)))
        return ScriptedModel([OSError("second")]) if attempt.number == 1 else None

    with pytest.raises(RunFailedError, match="second"):
        await Agent(ScriptedModel([OSError("first")]), failover=choose).invoke("go")
    assert seen == [(1, "first"), (2, "second")]


@pytest.mark.spec("AG-402", "AG-209")
async def test_a_hook_that_raises_is_neither_retried_nor_handed_to_another_model() -> None:
    @wrap_model
    async def broken(request: ModelRequest, call: ModelHandler) -> Message:
        raise KeyError("bug")

    first, second = ScriptedModel(["first"]), ScriptedModel(["second"])
    agent = Agent(first, [], [broken], retry=Retry(backoff=at_once), failover=[second])
    result = await agent.run("go").wait()
    assert isinstance(result.error, HookError)
    assert first.requests == second.requests == []

    spare = ScriptedModel(["spare"])

    @wrap_model
    async def late(request: ModelRequest, call: ModelHandler) -> Message:
        await call(request)
        raise KeyError("bug")

    await Agent(ScriptedModel(["x"]), [], [late], failover=[spare]).run("go").wait()
    assert spare.requests == []


@pytest.mark.spec("AG-402")
async def test_the_next_run_begins_with_the_first_model_again() -> None:
    first, second = ScriptedModel([OSError(), "first"]), ScriptedModel(["second"])
    agent = Agent(first, failover=[second])
    assert [(await agent.invoke("go")).text for _ in range(2)] == ["second", "first"]


@pytest.mark.spec("AG-403")
@pytest.mark.parametrize("by", ["retry", "failover"])
async def test_a_broken_stream_is_marked_before_the_next_attempts_chunks(by: str) -> None:
    broken = Say(chunks=("half ", "way", "…"), breaks_with=ConnectionError("cut off"))
    if by == "retry":
        agent = Agent(ScriptedModel([broken, "whole"]), retry=Retry(backoff=at_once))
    else:
        agent = Agent(ScriptedModel([broken]), failover=[ScriptedModel(["whole"])])
    run = agent.run("go")
    events = await collect(run)
    kinds = (ModelDelta, ModelSuperseded, ModelReply)
    emitted = [event for event in events if isinstance(event, kinds)]
    assert [type(event).__name__ for event in emitted] == [
        *("ModelDelta", "ModelDelta", "ModelSuperseded", "ModelDelta", "ModelReply"),
    ]
    mark = emitted[2]
    assert isinstance(mark, ModelSuperseded)
    first, second = emitted[0], emitted[3]
    assert isinstance(first, ModelDelta)
    assert isinstance(second, ModelDelta)
    assert mark.message_id == first.message_id != second.message_id
    assert "cut off" in mark.error
    assert [m.text for m in run.result.messages] == ["go", "whole"]

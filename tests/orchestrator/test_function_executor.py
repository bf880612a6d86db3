"""Functions as workers: what they are given, what they may give back, and how they stop."""

import threading
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

from taskloom.board import StepView
from taskloom.errors import ConfigError
from taskloom.orchestrator import Executor, FunctionExecutor, FunctionWorkerError, Job, Outcome
from tests.orchestrator.jobs import Heard, a_job


async def run(function: Callable[..., object]) -> tuple[Outcome, list[Any]]:
    heard = Heard()
    executor: Executor = FunctionExecutor(function)
    assert (executor.claims, list(executor.tools)) == (False, [])
    with anyio.fail_after(10):
        return await executor.begin(a_job(), heard).result(), heard.lines


@pytest.mark.spec("TB-914")
async def test_a_function_is_given_what_it_asks_for() -> None:
    seen: list[object] = []

    def plain(step: StepView, inputs: dict[str, str]) -> str:
        seen.append(threading.current_thread() is threading.main_thread())
        return f"{step.title} after {inputs['s0']}"

    async def whole(job: Job, emit: Callable[[str], Any]) -> dict[str, int]:
        await emit(job.instruction)
        return {"n": 1}

    assert await run(plain) == (Outcome(text="First after what came before"), [])
    assert seen == [False]
    assert await run(whole) == (Outcome(text='{"n":1}', data={"n": 1}), ["Do it."])
    assert await run(lambda: None) == (Outcome(), [])
    given = Outcome(text="x", artifact_ids=("a",))

    def every(**given: object) -> list[str]:
        return sorted(given)

    def defaults(job: Job, more: int = 1) -> Outcome:
        return given

    assert (await run(every))[0].data == ["emit", "inputs", "job", "should_stop", "step"]
    assert (await run(defaults))[0] is given


async def test_what_a_generator_yields_is_output() -> None:
    def sync() -> Generator[str, None, str]:
        yield "one"
        yield "two"
        return "three"

    def silent() -> Generator[str, None, None]:
        yield "one"

    async def asynchronous() -> AsyncIterator[str | Outcome]:
        yield "one"
        yield Outcome(text="end")

    assert await run(sync) == (Outcome(text="three"), ["one", "two"])
    assert await run(silent) == (Outcome(text="one"), ["one"])
    assert await run(asynchronous) == (Outcome(text="end"), ["one"])


async def test_an_object_with_a_call_and_a_function_that_gives_a_coroutine_work() -> None:
    class Worker:
        async def __call__(self, step: StepView) -> str:
            return step.step_id

    assert (await run(Worker()))[0].text == "s1"

    def hands_on(step: StepView) -> object:
        return Worker()(step)

    assert (await run(hands_on))[0].text == "s1"


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), SystemExit(3)])
async def test_what_it_raises_fails_the_step_and_nothing_more(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises((ValueError, FunctionWorkerError)):
        await run(fail)


async def test_what_nobody_can_use_is_told() -> None:
    with pytest.raises(FunctionWorkerError, match="returned a object"):
        await run(lambda: object())


def asks_for_more(steps: object) -> None: ...


def by_position(job: object, /) -> None: ...


def by_any_position(*job: object) -> None: ...


def test_a_function_that_asks_for_something_else_is_refused() -> None:
    with pytest.raises(ConfigError, match="the parameter `steps`"):
        FunctionExecutor(asks_for_more)
    for function in (by_position, by_any_position):
        with pytest.raises(ConfigError, match="by position"):
            FunctionExecutor(function)
    with pytest.raises(ConfigError, match="not a function"):
        FunctionExecutor(cast("Callable[..., object]", 7))


async def test_a_function_sees_that_it_shall_stop() -> None:
    begun = threading.Event()

    def wait(should_stop: Callable[[], bool]) -> str:
        begun.set()
        while not should_stop():
            pass
        return "stopped"

    work = FunctionExecutor(wait).begin(a_job(), Heard())
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await anyio.to_thread.run_sync(begun.wait)
                work.stop()

            group.start_soon(stop)
            assert (await work.result()).text == "stopped"


async def test_a_thread_that_was_given_up_learns_it_from_emit() -> None:
    begun, go, learned = threading.Event(), threading.Event(), threading.Event()

    def stubborn(emit: Callable[[str], None]) -> None:
        begun.set()
        go.wait()
        try:
            emit("late")
        except Exception:
            learned.set()
            raise

    heard = Heard()
    work = FunctionExecutor(stubborn).begin(a_job(), heard)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(work.result)
            await anyio.to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()
        go.set()
        await anyio.to_thread.run_sync(learned.wait)
    assert heard.lines == []

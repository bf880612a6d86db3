"""Mistakes in hooks, tools and settings, and the messages for them."""

import subprocess
import sys
from typing import cast

import pytest

from taskloom.agent import (
    Agent,
    InvalidToolError,
    Message,
    ModelError,
    ModelHandler,
    ModelRequest,
    RunFailedError,
    ScriptedModel,
    State,
    ToolCall,
    after_model,
    wrap_model,
)
from tests.agent.samples import add


async def error_of(agent: Agent) -> str:
    with pytest.raises(RunFailedError) as raised:
        await agent.invoke("go")
    return str(raised.value.result.error)


@pytest.mark.spec("AG-206")
async def test_a_wrapper_that_returns_nothing_gets_an_error_that_says_so() -> None:
    @wrap_model
    async def forgetful(request: ModelRequest, call: ModelHandler) -> Message:
        await call(request)
        return cast("Message", None)

    agent = Agent(ScriptedModel(["hi"]), [], [forgetful])
    assert "must return" in await error_of(agent)


@pytest.mark.spec("AG-204")
async def test_after_model_must_leave_a_message() -> None:
    @after_model
    def empty(state: State) -> None:
        state.messages.clear()

    assert "left no message" in await error_of(Agent(ScriptedModel(["hi"]), [], [empty]))


@pytest.mark.spec("AG-204")
async def test_calls_that_a_hook_added_without_ids_get_some() -> None:
    @after_model
    def insist(state: State) -> None:
        if len(state.messages) == 2:
            calls = tuple(ToolCall("", "add", f'{{"a":{n},"b":0}}') for n in range(2))
            state.messages[-1] = state.messages[-1].replace(tool_calls=calls)

    result = await Agent(ScriptedModel(["x", "y"]), [add], [insist]).invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["0", "1"]


def test_wrong_settings_are_refused_when_the_agent_is_made() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Agent(ScriptedModel([]), max_iterations=0)


@pytest.mark.spec("AG-601")
def test_without_the_extra_a_model_by_name_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from taskloom.agent import Agent, ModelError\n"
        "try: Agent('openai:x')\n"
        "except ModelError as error: print(error.kind, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("missing_extra")
    assert "taskloom[models]" in done.stdout


def test_a_type_that_is_not_known_is_named() -> None:
    async def late(x: str) -> str:
        return x

    late.__annotations__["x"] = "Unknown"
    with pytest.raises(InvalidToolError, match="Unknown"):
        Agent(ScriptedModel([]), [late])


def test_a_failure_of_a_model_says_whether_to_try_again() -> None:
    failed = ModelError("x", kind="rate_limit", retry_after_s=3)
    assert (failed.kind, failed.retryable, failed.retry_after_s) == ("rate_limit", True, 3)
    assert failed.as_dict()["code"] == "model_error"

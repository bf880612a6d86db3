"""Scripts in files: what a model answers is a function of the conversation alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.agent import (
    Agent,
    JsonPart,
    Message,
    ModelDelta,
    ModelError,
    ModelRequest,
    ToolCall,
    open_model,
)
from tests.agent.samples import collect


def write(folder: Path, data: object, name: str = "play.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


async def reply_of(path: Path | str, *messages: Message) -> Message:
    with anyio.fail_after(10):
        return await open_model(f"script:{path}").generate(ModelRequest(messages))


def result(value: object, tool: str = "look") -> Message:
    text = value if isinstance(value, str) else json.dumps(value)
    return Message.tool(ToolCall("t", tool), text)


async def test_the_position_in_the_conversation_selects_the_reply(tmp_path: Path) -> None:
    path = write(tmp_path, ["one", "two", {"text": "three"}])
    start = Message.user("go")
    history = [start]
    for expected in ("one", "two", "three"):
        # Another model each time, as after a crash: nothing is counted in memory.
        reply = await reply_of(path, *history)
        assert reply.text == expected
        history += [reply, Message.user("and?")]
    with pytest.raises(ModelError, match="no reply 4") as ended:
        await reply_of(path, *history)
    assert ended.value.kind == "script_ended"
    assert (await reply_of(path, start)).text == "one"


async def test_an_entry_with_when_answers_what_it_matches_and_uses_up_no_other(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, ["one", {"when": r"fail\w+", "text": "oh"}, "two"])
    history = [Message.user("go")]
    history += [await reply_of(path, *history), Message.user("it failed")]
    history += [await reply_of(path, *history), Message.user("good")]
    history.append(await reply_of(path, *history))
    assert [m.text for m in history if m.role == "assistant"] == ["one", "oh", "two"]


async def test_entries_for_another_goal_do_not_count(tmp_path: Path) -> None:
    script = [{"for": "tests", "text": "testing"}, {"for": "docs", "text": "writing"}, "done"]
    path = write(tmp_path, script)
    for goal, first in (("the docs", "writing"), ("the tests", "testing"), ("else", "done")):
        history = [Message.user(goal)]
        assert (await reply_of(path, *history)).text == first
    history = [Message.user("the docs"), Message.assistant("writing"), Message.user("docs, tests")]
    assert (await reply_of(path, *history)).text == "done"


async def test_placeholders_are_filled_from_the_conversation(tmp_path: Path) -> None:
    arguments = {
        "id": "{{steps[0].step_id}}",
        "all": "{{steps}}",
        "last": "{{steps[-1].n}}",
        "named": "{{other: steps[0].step_id}}",
        "goal": "{{/Task `(\\w+)`/}}",
        "mixed": ["{{steps[1].step_id}} of {{steps[0]}}", 7],
    }
    entry = {"text": "{{steps[0].step_id}}!", "calls": [{"tool": "do", "arguments": arguments}]}
    path = write(tmp_path, [entry])
    steps = [{"step_id": "a", "n": 1}, {"step_id": "b", "n": 2}]
    reply = await reply_of(
        path,
        Message.user("Work on Task `t1`."),
        result({"steps": [{"step_id": "old"}]}, "other"),
        result({"steps": steps}),
        result("prose, and no JSON"),
        result({"nothing": "of the kind"}),
    )
    assert reply.text == "a!"
    assert json.loads(reply.tool_calls[0].arguments) == {
        "id": "a",
        "all": steps,
        "last": 2,
        "named": "old",
        "goal": "t1",
        "mixed": ['b of {"step_id":"a","n":1}', 7],
    }
    parts = Message.tool(ToolCall("t", "look"), (JsonPart({"steps": [{"step_id": "p"}]}),))
    text = write(tmp_path, ["{{steps[0].step_id}}"], "text.json")
    assert (await reply_of(text, parts)).text == "p"


@pytest.mark.parametrize(
    "placeholder", ["{{steps[0].id}}", "{{steps[9]}}", "{{x: steps}}", "{{/(q)/}}"]
)
async def test_a_placeholder_that_nothing_matches_is_an_error(
    tmp_path: Path, placeholder: str
) -> None:
    path = write(tmp_path, [{"text": placeholder}])
    with pytest.raises(ModelError, match="Nothing in the conversation matches") as failed:
        await reply_of(path, result({"steps": [{"step_id": "a"}]}))
    assert not failed.value.retryable


async def test_errors_garbage_and_streams_are_played(tmp_path: Path) -> None:
    script: list[object] = [
        {"error": {"message": "busy", "kind": "rate_limit", "retryable": True}},
        {"error": "no"},
        {"calls": [{"tool": "f", "arguments": "{not json"}]},
    ]
    path = write(tmp_path, script)
    history = [Message.user("go")]
    with pytest.raises(ModelError, match="busy") as failed:
        await reply_of(path, *history)
    assert (failed.value.kind, failed.value.retryable) == ("rate_limit", True)
    history += [Message.assistant("x"), Message.assistant("y")]
    assert (await reply_of(path, *history)).tool_calls[0].arguments == "{not json"
    path = write(tmp_path, [{"text": "a longer answer, in pieces", "thinking": "hm"}])
    run = Agent(f"script:{path}").run("go")
    deltas = [event.delta for event in await collect(run) if isinstance(event, ModelDelta)]
    assert "".join(delta.text for delta in deltas) == run.result.text
    assert len(deltas) > 2


async def test_one_file_holds_several_scripts(tmp_path: Path) -> None:
    path = write(tmp_path, {"boss": ["plan"], "hand": ["work"]})
    assert (await reply_of(f"{path}#hand", Message.user("x"))).text == "work"
    with pytest.raises(ModelError, match="boss, hand"):
        open_model(f"script:{path}")
    with pytest.raises(ModelError, match="no script 'head'"):
        open_model(f"script:{path}#head")
    lines = '"plan"\n\n{"script":"hand","text":"work"}\n"more"\n'
    path = write(tmp_path, lines, "play.jsonl")
    assert (await reply_of(f"{path}#hand", Message.user("x"))).text == "work"
    history = [Message.user("x"), Message.assistant("plan")]
    assert (await reply_of(path, *history)).text == "more"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("{", "truncated"),
        ("7", "got `int`"),
        ([{"txt": "x"}], "txt"),
        ([{"text": 7}], "text"),
        ([{"calls": [{"name": "x"}]}], "name"),
        ([{"delay_s": -1}], "delay_s"),
        ([{"when": "("}], r"main\[0\]: `when` is not a regular expression"),
        (["fine", {"text": "{{/(/}}"}], r"main\[1\]: .* not a regular expression"),
        ([{"text": "{{/x/}}"}], "needs a group"),
        ([{"text": "x", "error": "y"}], "not both"),
        ({"a": [{"txt": "x"}]}, "txt"),
    ],
)
def test_a_script_that_is_written_wrongly_says_where(
    tmp_path: Path, data: object, word: str
) -> None:
    path = write(tmp_path, data)
    with pytest.raises(ModelError, match=word) as failed:
        open_model(f"script:{path}")
    assert failed.value.kind == "configuration"
    assert path.name in str(failed.value)


def test_a_missing_script_is_an_error_that_names_it() -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        open_model("script:nowhere.json")


WORKER: list[dict[str, Any]] = [
    {"calls": [{"tool": "query", "arguments": {"task_id": "{{/Task (\\w+)/}}"}}]},
    {"calls": [{"tool": "claim", "arguments": {"step_id": "{{query: steps[0].step_id}}"}}]},
    {"calls": [{"tool": "work", "arguments": {"what": "{{claim: step.title}}"}}]},
    {"calls": [{"tool": "work", "arguments": {"what": "again"}}]},
    {"calls": [{"tool": "finish", "arguments": {"step_id": "{{step.step_id}}"}}]},
    {"text": "Finished {{step.step_id}}."},
]


async def test_a_scripted_worker_claims_what_it_was_shown_works_and_finishes(
    tmp_path: Path,
) -> None:
    """The Task tools of a worker, played by four functions over a list of steps."""
    board = {"a": "completed", "b": "ready", "c": "ready"}
    worked: list[str] = []

    async def query(task_id: str) -> str:
        """Query."""
        assert task_id == "t1"
        ready = [{"step_id": step} for step, status in board.items() if status == "ready"]
        return json.dumps({"steps": ready})

    async def claim(step_id: str) -> str:
        """Claim."""
        board[step_id] = "claimed"
        return json.dumps({"step": {"step_id": step_id, "title": f"Do {step_id}"}})

    async def work(what: str) -> str:
        """Work."""
        worked.append(what)
        return "fine"

    async def finish(step_id: str) -> str:
        """Finish."""
        board[step_id] = "completed"
        return "{}"

    path = write(tmp_path, {"worker": WORKER})
    agent = Agent(f"script:{path}#worker", [query, claim, work, finish])
    with anyio.fail_after(20):
        assert (await agent.invoke("Work on Task t1.")).text == "Finished b."
        assert (await agent.invoke("Work on Task t1.")).text == "Finished c."
    assert board == {"a": "completed", "b": "completed", "c": "completed"}
    assert worked == ["Do b", "again", "Do c", "again"]


def test_it_needs_no_model_library(tmp_path: Path) -> None:
    path = write(tmp_path, ["hello"])
    code = (
        "import sys\nsys.modules['pydantic_ai'] = None\nfrom taskloom.agent import Agent\n"
        "print(Agent(sys.argv[1]).invoke_sync('hi').text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"script:{path}"],
        capture_output=True, timeout=60, check=False, text=True,
    )  # fmt: skip  # one option per line says no more
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr

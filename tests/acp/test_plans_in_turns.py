"""Plans as a client sees them while an agent works: from its tools to the plan view."""

from pathlib import Path
from typing import Any

import pytest

from taskloom.agent import Message, ModelError, Say, call_tool, call_tools
from tests.acp.options import options_of
from tests.acp.wire_client import RawClient, WireError, client_of

WORK = [
    call_tools(
        ("TaskCreate", {"subject": "Write it", "description": "d", "activeForm": "Writing it"}),
        ("TaskCreate", {"subject": "Test it", "description": "d"}),
    ),
    call_tool("TaskUpdate", taskId="1", status="in_progress"),
]


def last_plan(client: RawClient) -> list[tuple[str, str]]:
    return client.plans()[-1]


@pytest.mark.spec("AP-201", "AP-109")
async def test_the_task_list_is_a_plan_with_its_active_form(tmp_path: Path) -> None:
    async with client_of(options_of([*WORK, "on it"], tmp_path)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert last_plan(client) == [("Writing it", "in_progress"), ("Test it", "pending")]
    (entry, _) = client.of(kind="plan")[-1]["entries"]
    assert entry["_meta"]["taskloom"]["taskId"] == "1"


@pytest.mark.spec("AP-201", "AP-105")
async def test_for_a_client_with_plans_it_is_one_items_plan(tmp_path: Path) -> None:
    async with client_of(options_of([*WORK, "on it"], tmp_path), plans=True) as client:
        await client.initialize(plan={})
        await client.prompt(await client.new(tmp_path), "go")

    assert client.of(kind="plan") == []
    last = client.of(kind="plan_update")[-1]["plan"]
    assert (last["type"], last["planId"]) == ("items", "tasks")
    assert [entry["content"] for entry in last["entries"]] == ["Writing it", "Test it"]


@pytest.mark.spec("AP-105")
async def test_a_client_of_the_proposal_gets_its_form(tmp_path: Path) -> None:
    async with client_of(options_of([*WORK, "on it"], tmp_path)) as client:
        await client.initialize(planCapabilities={})
        await client.prompt(await client.new(tmp_path), "go")
        client.check.wrong.clear()  # Today's schemas do not know that form; its own SDK does.

    last = client.of(kind="plan_update")[-1]["plan"]
    assert last["id"] == "tasks"
    assert "planId" not in last


@pytest.mark.spec("AP-109")
@pytest.mark.parametrize("end", ["cancel", "error"])
async def test_after_cancel_and_error_the_plan_is_the_true_one(tmp_path: Path, end: str) -> None:
    last: Any = (
        Say(text="x", delay_s=600) if end == "cancel" else ModelError("broken", retryable=False)
    )
    async with client_of(options_of([*WORK, last], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        if end == "cancel":
            await client.until(lambda: len(client.of(kind="tool_call_update")) >= 6)
            client.notify("session/cancel", sessionId=session)
            assert await answer == {"stopReason": "cancelled"}
        else:
            with pytest.raises(WireError, match="broken"):
                await answer
        told = client.told_before_answer("session/prompt")

    plans = [update for update in told if update["sessionUpdate"] == "plan"]
    assert [entry["content"] for entry in plans[-1]["entries"]] == ["Writing it", "Test it"]


@pytest.mark.spec("AP-109")
async def test_a_list_that_somebody_else_changed_is_shown_true_at_the_end(tmp_path: Path) -> None:
    def script(messages: Any) -> Any:
        asked = sum(message.role == "assistant" for message in messages)
        if asked < len(WORK):
            return WORK[asked]
        (path,) = tmp_path.glob(".taskloom/sessions/*/tasks/2.json")
        path.write_text(path.read_text().replace("Test it", "Prove it"))
        return "done"

    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert [text for text, _ in last_plan(client)] == ["Writing it", "Prove it"]


@pytest.mark.spec("AP-201")
async def test_a_finished_list_stays_in_sight_for_its_turn_and_goes_with_the_next(
    tmp_path: Path,
) -> None:
    script = [
        call_tool("TaskCreate", subject="Only one", description="d"),
        call_tool("TaskUpdate", taskId="1", status="completed"),
        "done",
        "and on",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
        assert last_plan(client) == [("Only one", "completed")]
        await client.prompt(session, "more")

    assert last_plan(client) == []


PUBLISH = call_tool("publish_plan", id="design", kind="markdown", content="# Design\n\nSmall.")


@pytest.mark.spec("AP-203", "AP-106")
async def test_the_agent_publishes_a_document_and_a_file_and_dismisses_them(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# The plan")
    script = [
        PUBLISH,
        call_tool("publish_plan", id="big", kind="file", path="plan.md"),
        "published",
        call_tool("dismiss_plan", id="design"),
        call_tool("dismiss_plan", id="never"),
        "dismissed",
    ]
    async with client_of(options_of(script, tmp_path), plans=True) as client:
        await client.initialize(plan={})
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
        plans = [update["plan"] for update in client.of(kind="plan_update")]
        assert plans == [
            {"type": "markdown", "planId": "doc-design", "content": "# Design\n\nSmall."},
            {
                "type": "file",
                "planId": "doc-big",
                "uri": (tmp_path / "plan.md").as_uri(),
                "_meta": {"taskloom": {"title": "plan.md"}},
            },
        ]
        await client.prompt(session, "away with it")

    assert [update["planId"] for update in client.of(kind="plan_removed")] == ["doc-design"]


@pytest.mark.spec("AP-203")
@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"id": "x", "kind": "markdown"}, "needs `content`"),
        ({"id": "x", "kind": "file"}, "needs `path`"),
        ({"id": "x", "kind": "file", "path": "gone.md"}, "write it first"),
        ({"id": "x", "kind": "file", "path": "/etc/passwd"}, "outside"),
        ({"id": "no such/id", "kind": "markdown", "content": "x"}, "id"),
        ({"id": "x", "kind": "items"}, "kind"),
    ],
)
async def test_a_plan_that_cannot_be_published_tells_the_model_why(
    tmp_path: Path, arguments: dict[str, Any], wrong: str
) -> None:
    script = [call_tool("publish_plan", **arguments), "hm"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path), "go") == "end_turn"

    result = client.of(kind="tool_call_update")[-1]
    assert result["status"] == "failed"
    assert wrong in result["rawOutput"]["text"]


@pytest.mark.spec("AP-106", "AP-203")
async def test_an_id_of_another_type_is_refused_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("x")
    script = [
        PUBLISH,
        call_tool("publish_plan", id="design", kind="file", path="plan.md"),
        "hm",
    ]
    async with client_of(options_of(script, tmp_path), plans=True) as client:
        await client.initialize(plan={})
        await client.prompt(await client.new(tmp_path), "go")

    assert "id of its own" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]
    assert len(client.of(kind="plan_update")) == 1


@pytest.mark.spec("AP-110", "AP-203", "AP-201")
async def test_load_shows_every_plan_before_its_answer_and_resume_none(tmp_path: Path) -> None:
    async with client_of(options_of([*WORK, PUBLISH, "ok"], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
    async with client_of(options_of(["fine"], tmp_path), plans=True) as client:
        await client.initialize(plan={})
        await client.request("session/resume", sessionId=session, cwd=str(tmp_path))
        assert client.told_before_answer("session/resume") == []
    async with client_of(options_of(["fine"], tmp_path), plans=True) as client:
        await client.initialize(plan={})
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        told = client.told_before_answer("session/load")

    shown = [update["plan"] for update in told if update["sessionUpdate"] == "plan_update"]
    assert {plan["planId"] for plan in shown} == {"tasks", "doc-design"}
    tasks = next(plan for plan in shown if plan["planId"] == "tasks")
    assert [entry["content"] for entry in tasks["entries"]] == ["Writing it", "Test it"]
    assert told[-1]["sessionUpdate"] == "plan_update"  # After all that was said.


async def test_a_shelf_that_cannot_be_read_hides_only_itself(tmp_path: Path) -> None:
    async with client_of(options_of([PUBLISH, "ok"], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
    (tmp_path / ".taskloom/sessions" / session / "plans.json").write_text("{broken")
    async with client_of(options_of(["fine"], tmp_path)) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert await client.prompt(session, "on") == "end_turn"


@pytest.mark.spec("AP-108")
async def test_text_and_order_of_entries_stay_while_work_goes_on(tmp_path: Path) -> None:
    creates = [("TaskCreate", {"subject": f"Step {n}", "description": "d"}) for n in range(5)]
    moves = [
        call_tool("TaskUpdate", taskId=str(n), status=status)
        for n in (3, 1, 5)
        for status in ("in_progress", "completed")
    ]
    async with client_of(options_of([call_tools(*creates), *moves, "ok"], tmp_path)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    full = [plan for plan in client.plans() if len(plan) == 5]
    assert {tuple(text for text, _ in plan) for plan in full} == {
        tuple(f"Step {n}" for n in range(5))
    }
    assert [status for _, status in full[-1]] == [
        "completed", "pending", "completed", "pending", "completed",
    ]  # fmt: skip  # one list, one line


async def test_a_message_of_the_assistant_is_no_plan(tmp_path: Path) -> None:
    async with client_of(options_of([Message.assistant("plain")], tmp_path)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert client.of(kind="plan") == []

"""Plans in the three formats: what is sent, and that nothing unannounced is sent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.acp import (
    FilePlan,
    ItemsPlan,
    MarkdownPlan,
    Plan,
    PlanEntry,
    PlanFormat,
    PlanPublisher,
    plan_format_of,
)
from taskloom.acp.plans.client_state import ClientPlanState
from taskloom.errors import RefusedError
from tests.acp.manual_timer import Wire
from tests.acp.schema_check import session_update_errors, stable, unstable

STEPS = ItemsPlan("steps", (PlanEntry("Build", "in_progress", "high"), PlanEntry("Test")))
MORE = ItemsPlan("more", (PlanEntry("Ship", priority="low"),))
SPEC = MarkdownPlan("spec", "## Steps\n- [ ] a")
FILE = FilePlan("design", "file:///p/plan.md")

CURRENT: dict[str, Any] = {"plan": {}}
PROPOSAL: dict[str, Any] = {"planCapabilities": {}}

BUILD = {"content": "Build", "priority": "high", "status": "in_progress"}
TEST = {"content": "Test", "priority": "medium", "status": "pending"}


async def sent(capabilities: dict[str, Any] | None, *plans: Plan) -> list[dict[str, Any]]:
    wire = Wire()
    publisher = PlanPublisher(wire.send, capabilities)
    for plan in plans:
        publisher.publish(plan)
    await publisher.flush()
    return wire.take()


@pytest.mark.spec("AP-105")
@pytest.mark.parametrize(
    ("capabilities", "dialect"),
    [
        ({"plan": {}}, PlanFormat.CURRENT),
        ({"plan": {"_meta": {}}}, PlanFormat.CURRENT),
        ({"planCapabilities": {}}, PlanFormat.PROPOSAL),
        ({"plan": {}, "planCapabilities": {}}, PlanFormat.CURRENT),
        ({"plan": None, "planCapabilities": {}}, PlanFormat.PROPOSAL),
        ({"plan": None}, PlanFormat.ENTRIES_ONLY),
        ({"plan": False}, PlanFormat.ENTRIES_ONLY),
        ({"plan": "yes", "planCapabilities": 1}, PlanFormat.ENTRIES_ONLY),
        ({}, PlanFormat.ENTRIES_ONLY),
        (None, PlanFormat.ENTRIES_ONLY),
    ],
)
def test_the_dialect_follows_what_the_client_announced(
    capabilities: dict[str, Any] | None, dialect: PlanFormat
) -> None:
    assert plan_format_of(capabilities) is dialect


@pytest.mark.spec("AP-101", "AP-105")
async def test_todays_schema_has_plan_id_in_each_variant() -> None:
    updates = await sent(CURRENT, STEPS, SPEC, FILE)

    assert updates == [
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "items", "planId": "steps", "entries": [BUILD, TEST]},
        },
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "markdown", "planId": "spec", "content": "## Steps\n- [ ] a"},
        },
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "file", "planId": "design", "uri": "file:///p/plan.md"},
        },
    ]
    assert session_update_errors(updates, unstable()) == []


@pytest.mark.spec("AP-101", "AP-105")
async def test_the_proposals_form_has_id_in_each_variant() -> None:
    updates = await sent(PROPOSAL, STEPS, SPEC, FILE)

    plans = [update["plan"] for update in updates]
    assert plans == [
        {"type": "items", "id": "steps", "entries": [BUILD, TEST]},
        {"type": "markdown", "id": "spec", "content": "## Steps\n- [ ] a"},
        {"type": "file", "id": "design", "uri": "file:///p/plan.md"},
    ]
    assert {update["sessionUpdate"] for update in updates} == {"plan_update"}


@pytest.mark.spec("AP-101")
async def test_a_plans_title_travels_in_its_meta() -> None:
    (update,) = await sent(CURRENT, MarkdownPlan("spec", "x", title="Release"))

    assert update["plan"]["_meta"] == {"taskloom": {"title": "Release"}}
    assert session_update_errors([update], unstable()) == []


@pytest.mark.spec("AP-102", "AP-105")
@pytest.mark.parametrize(
    ("capabilities", "removed"),
    [
        (CURRENT, {"sessionUpdate": "plan_removed", "planId": "steps"}),
        (PROPOSAL, {"sessionUpdate": "plan_removed", "id": "steps"}),
    ],
)
async def test_a_removed_plan_is_named_by_its_id_alone(
    capabilities: dict[str, Any], removed: dict[str, Any]
) -> None:
    wire = Wire()
    publisher = PlanPublisher(wire.send, capabilities)
    publisher.publish(STEPS)
    await publisher.flush()
    publisher.remove("steps")
    await publisher.flush()
    publisher.remove("steps")
    publisher.remove("never-there")
    await publisher.flush()

    assert wire.take()[1:] == [removed]


@pytest.mark.spec("AP-103", "AP-105", "AP-107")
async def test_a_client_that_announced_nothing_gets_the_old_update_alone() -> None:
    updates = await sent(None, STEPS)

    assert [update["sessionUpdate"] for update in updates] == ["plan"]
    entries = [{**entry, "_meta": {"taskloom": {"planId": "steps"}}} for entry in (BUILD, TEST)]
    assert updates == [{"sessionUpdate": "plan", "entries": entries}]
    assert session_update_errors(updates, stable()) == []


@pytest.mark.spec("AP-107")
async def test_several_plans_become_one_flat_list_in_the_order_they_came() -> None:
    wire = Wire()
    publisher = PlanPublisher(wire.send, None)

    async def contents() -> list[list[str]]:
        await publisher.flush()
        return [[entry["content"] for entry in update["entries"]] for update in wire.take()]

    publisher.publish(STEPS)
    publisher.publish(MORE)
    assert await contents() == [["Build", "Test", "Ship"]]
    publisher.publish(ItemsPlan("steps", (PlanEntry("Build", "completed"), PlanEntry("Test"))))
    assert await contents() == [["Build", "Test", "Ship"]]
    publisher.remove("steps")
    assert await contents() == [["Ship"]]
    publisher.remove("more")
    assert await contents() == [[]]
    await publisher.flush()
    assert wire.take() == []


@pytest.mark.spec("AP-107")
async def test_documents_and_files_come_as_text_and_link_where_only_entries_are_known() -> None:
    updates = await sent(None, SPEC, FilePlan("design", "file:///p/plan.md", title="Design"))

    assert [update["sessionUpdate"] for update in updates] == ["agent_message_chunk"] * 2
    assert [update["content"] for update in updates] == [
        {"type": "text", "text": "## Steps\n- [ ] a"},
        {"type": "resource_link", "name": "Design", "uri": "file:///p/plan.md"},
    ]
    assert updates[0]["messageId"] != updates[1]["messageId"]
    assert session_update_errors(updates, stable()) == []


@pytest.mark.spec("AP-107")
async def test_a_document_that_was_said_cannot_be_unsaid_and_sends_nothing() -> None:
    wire = Wire()
    publisher = PlanPublisher(wire.send, None)
    publisher.publish(SPEC)
    await publisher.flush()
    wire.take()
    publisher.remove("spec")
    await publisher.flush()

    assert wire.take() == []


@pytest.mark.spec("AP-104")
@pytest.mark.parametrize(
    ("entry", "content", "status", "state"),
    [
        (PlanEntry("Build", "failed"), "Build (failed)", "completed", "failed"),
        (
            PlanEntry("Build", "failed", note="no\n disk"),
            "Build (failed: no disk)",
            "completed",
            "failed",
        ),
        (PlanEntry("Build", "cancelled"), "Build (cancelled)", "completed", "cancelled"),
        (PlanEntry("Build", "blocked", note="key"), "Build (blocked: key)", "pending", "blocked"),
        (PlanEntry("Build", "completed", note="unread"), "Build", "completed", None),
    ],
)
async def test_a_state_without_a_word_in_the_protocol_is_told_in_text_and_meta(
    entry: PlanEntry, content: str, status: str, state: str | None
) -> None:
    (update,) = await sent(CURRENT, ItemsPlan("p", (PlanEntry("First"), entry)))

    first, said = update["plan"]["entries"]
    assert first == {"content": "First", "priority": "medium", "status": "pending"}
    assert (said["content"], said["status"]) == (content, status)
    assert said.get("_meta", {}).get("taskloom", {}).get("state") == state
    assert session_update_errors([update], unstable()) == []


async def test_a_long_reason_is_cut_since_an_entry_is_one_line() -> None:
    entry = PlanEntry("Build", "failed", note="x" * 5_000)
    (update,) = await sent(CURRENT, ItemsPlan("p", (entry,)))

    assert len(update["plan"]["entries"][0]["content"]) < 250


@pytest.mark.spec("AP-106")
async def test_an_update_replaces_its_own_plan_and_no_other() -> None:
    wire = Wire()
    publisher = PlanPublisher(wire.send, CURRENT)
    for plan in (STEPS, MORE, SPEC):
        publisher.publish(plan)
    await publisher.flush()
    wire.take()
    publisher.publish(ItemsPlan("more", ()))
    await publisher.flush()

    assert [update["plan"]["planId"] for update in wire.take()] == ["more"]
    assert [plan.id for plan in publisher.plans] == ["steps", "more", "spec"]


@pytest.mark.spec("AP-106")
@pytest.mark.parametrize("gone", [False, True])
async def test_an_id_never_changes_its_type_not_even_after_its_plan_is_gone(gone: bool) -> None:
    publisher = PlanPublisher(Wire().send, CURRENT)
    publisher.publish(STEPS)
    if gone:
        publisher.remove("steps")

    with pytest.raises(RefusedError, match="id of its own"):
        publisher.publish(MarkdownPlan("steps", "text"))
    await publisher.aclose()


async def test_a_plan_without_an_id_is_refused() -> None:
    with pytest.raises(RefusedError, match="needs an id"):
        PlanPublisher(Wire().send, CURRENT).publish(ItemsPlan("", ()))


async def test_an_entry_of_an_unknown_state_is_refused_where_it_is_published() -> None:
    publisher = PlanPublisher(Wire().send, CURRENT)
    state: Any = "done"
    with pytest.raises(RefusedError, match=r"'done'\. Use one of pending, in_progress, completed"):
        publisher.publish(ItemsPlan("steps", (PlanEntry("Build", state),)))
    assert publisher.plans == ()


@pytest.mark.spec("AP-107", "AP-108")
async def test_what_the_flat_list_does_not_show_sends_no_list_again() -> None:
    wire = Wire()
    publisher = PlanPublisher(wire.send, None)
    publisher.publish(MORE)
    publisher.publish(ItemsPlan("empty", ()))
    await publisher.flush()
    assert len(wire.take()) == 1

    publisher.publish(ItemsPlan("more", MORE.entries, title="Another title"))
    publisher.remove("empty")
    await publisher.flush()
    assert wire.take() == []
    await publisher.aclose()


IDS = st.sampled_from(["a", "b", "c"])
STATES = st.sampled_from(["pending", "in_progress", "completed", "blocked", "failed", "cancelled"])
ENTRIES = st.lists(st.builds(PlanEntry, st.text(max_size=5), STATES), max_size=3).map(tuple)
MOVES = st.one_of(
    st.builds(ItemsPlan, IDS, ENTRIES), st.builds(MarkdownPlan, st.just("d"), st.text()), IDS
)


@pytest.mark.spec("AP-104", "AP-107", "AP-108")
@given(st.lists(st.tuples(MOVES, st.booleans()), max_size=30), st.sampled_from(list(PlanFormat)))
def test_a_client_that_follows_the_updates_sees_the_true_plans(
    moves: list[tuple[Plan | str, bool]], dialect: PlanFormat
) -> None:
    """Whatever is put, removed and joined: after settling, the client equals the truth."""
    ledger = ClientPlanState(dialect)
    shown: dict[str, Any] = {}
    flat: list[dict[str, Any]] = []
    for move, settles in [*moves, ("none", True)]:
        if isinstance(move, str):
            ledger.remove(move)
        else:
            ledger.put(move)
        for line in ledger.stale if settles else ():
            for update in ledger.take_updates(line):
                match update["sessionUpdate"]:
                    case "plan_update":
                        shown[update["plan"][dialect.value]] = update["plan"]
                    case "plan_removed":
                        del shown[update[dialect.value]]
                    case "plan":
                        flat = update["entries"]
                    case _:
                        assert dialect is PlanFormat.ENTRIES_ONLY
    items = [plan for plan in ledger.plans if isinstance(plan, ItemsPlan)]
    wanted = [entry.text for plan in items for entry in plan.entries]
    if dialect is PlanFormat.ENTRIES_ONLY:
        assert [entry["content"].partition(" (")[0] for entry in flat] == [
            text.partition(" (")[0] for text in wanted
        ]
        assert shown == {}
    else:
        assert set(shown) == {plan.id for plan in ledger.plans}
        assert sum(len(plan.get("entries", ())) for plan in shown.values()) == len(wanted)

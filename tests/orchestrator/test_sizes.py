"""No answer is longer than its budget, whatever the board or a worker holds."""

import asyncio
import json
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.agent import Language
from taskloom.orchestrator import (
    Emit,
    Job,
    Orchestrator,
    Outcome,
    RunEvent,
    SessionEvent,
    Settings,
)
from taskloom.orchestrator.event_bus import EventBus
from taskloom.orchestrator.prompt.texts import agent_texts, guide
from taskloom.orchestrator.tools.results import fit_json
from taskloom.orchestrator.tools.schemas import SCHEMAS
from taskloom.orchestrator.tools.tool_texts import tool_texts
from taskloom.testing import FakeClock
from tests.orchestrator.orchestrators import (
    LONG_S,
    Doing,
    Json,
    ask,
    at_once,
    dispatch,
    dispatched,
    orchestrator,
    plan,
    pool,
    step,
)

MOST = Settings().result_bytes_max


@pytest.mark.slow
@pytest.mark.spec("TB-618", "TB-208")
async def test_every_tool_s_answer_is_bounded_on_a_task_of_ten_thousand_steps(
    tmp_path: Path,
) -> None:
    async def talks(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        return Outcome(text="words " * 50_000, data={"rows": ["row" * 100] * 5_000})

    many = [Doing(talks) for _ in range(120)]
    async with orchestrator(tmp_path, pool(*many)) as it:
        steps = [
            {"step_id": f"s{at}", "title": f"Step {at} of them", "summary": "what to do " * 20}
            for at in range(10_000)
        ]
        given = {"task_id": "plan", "wal_name": "plan", "title": "T", "summary": "S" * 90_000}
        wanted: list[tuple[str, dict[str, Json]]] = [
            ("task_template", {"goal": "g" * 8_000}),
            ("task_get", {"task_id": "plan"}),
            ("task_list", {}),
            ("task_query_steps", {"task_id": "plan", "limit": 10_000}),
            ("task_claim_step", {"task_id": "plan", "step_id": "s1"}),
            (
                "task_update_step",
                {"task_id": "plan", "step_id": "s1", "result_summary": "r" * 90_000},
            ),
            (
                "task_update",
                {
                    "task_id": "plan",
                    "operations": [
                        {"op": "cancel_step", "step_id": f"s{at}"} for at in range(9_000, 9_900)
                    ],
                },
            ),
            ("task_complete", {"task_id": "plan"}),
            ("list_workers", {}),
            *[dispatch(background=True) for _ in range(20)],
            dispatch(),
            dispatch(allowed_step_ids=[f"no{at}" for at in range(9_000)]),
            dispatch(allowed_step_ids=[f"s{at}" for at in range(9_000, 9_900)]),
        ]
        sizes = {"task_create": size(await ask(it, "task_create", **given, steps=steps))}
        for name, arguments in wanted:
            answer = await ask(it, name, **arguments)
            sizes[name] = max(sizes.get(name, 0), size(answer))
        with anyio.fail_after(LONG_S):
            results = await collected(it)
        sizes["wait_workers"] = max(map(size, results))
        sizes["task_fail"] = size(await ask(it, "task_fail", task_id="plan", reason="x" * 90_000))
    assert {name: found for name, found in sizes.items() if found > MOST} == {}
    # What had no room in one answer came with the next: nothing was lost.
    assert sum(answer["count"] for answer in results) == 20


async def collected(it: Orchestrator) -> list[Json]:
    found = [await ask(it, "wait_workers")]
    while found[-1]["count"]:
        found.append(await ask(it, "wait_workers"))
    return found


def size(answer: Json) -> int:
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode())


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.integers(1, 3_000).map("é".__mul__),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.spec("TB-618")
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.integers(200, 2_000))
def test_any_answer_fits_and_is_json(value: Json, most: int) -> None:
    text = fit_json(value, most)
    json.loads(text)
    assert len(text.encode()) <= max(most, 400)


class Odd:
    """What no JSON can hold, and whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


LOOP: list[Json] = []
LOOP.append(LOOP)


@pytest.mark.spec("TB-910", "TB-619")
@pytest.mark.parametrize(
    "data", [{"odd": Odd()}, {"s": "\ud800"}, {1: {2: (3, 4)}}, 1 << 80, LOOP, b"\xff", {1, 2}]
)
async def test_whatever_a_worker_gives_back_its_orchestrator_can_read_it(
    tmp_path: Path, data: Json
) -> None:
    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        return Outcome(text="\ud800 is half a character", data=data)

    async with orchestrator(tmp_path, pool(Doing(work))) as it:
        await plan(it, step("a"))
        found = await dispatched(it)
    assert found["step_status"] == "completed"
    assert "data" in found["worker_result"]


@pytest.mark.spec("TB-620", "TB-619")
@pytest.mark.parametrize("raised", [ValueError("\ud800"), SystemExit(3), RecursionError()])
async def test_whatever_a_worker_raises_fails_its_step_and_nothing_else(
    tmp_path: Path, raised: BaseException
) -> None:
    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        raise raised

    async with orchestrator(tmp_path, pool(Doing(work))) as it:
        await plan(it, step("a"), step("b"))
        first, second = [await dispatched(it) for _ in range(2)]
    assert (first["outcome"], first["step_status"]) == ("failed", "failed")
    assert second["claimed_step_id"] == "b"


@pytest.mark.spec("TB-601", "TB-605")
def test_every_text_is_there_in_chinese_too() -> None:
    english, chinese = tool_texts("en"), tool_texts("zh")
    assert set(english) == set(chinese)
    for name, text in chinese.items():
        tool, _, argument = name.partition(".")
        assert tool in SCHEMAS
        assert not argument or argument in SCHEMAS[tool]["properties"]
        assert any("\u4e00" <= letter <= "\u9fff" for letter in text), name
    assert set(SCHEMAS) <= set(english)
    for name in ("task_dag", "worker", "orchestrator"):
        assert guide(name, "zh") != guide(name, "en")
    assert agent_texts("zh") != agent_texts("en")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_tools_have_canonical_names_and_closed_schemas(
    tmp_path: Path, language: Language
) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once)), language=language) as it:
        tools = it.tools()
    assert len(tools) == 15
    for tool in tools:
        assert tool.name.startswith("agent.")
        assert tool.info.description
        assert tool.info.parameters["additionalProperties"] is False
        assert tool.idempotent
        described = {
            name
            for name, shape in tool.info.parameters["properties"].items()
            if "description" in shape
        }
        name = tool.name.removeprefix("agent.")
        assert described == {
            one.partition(".")[2] for one in tool_texts("en") if one.startswith(f"{name}.")
        }


@pytest.mark.spec("TB-916")
async def test_a_slow_listener_is_told_how_much_it_missed_and_holds_nobody_up() -> None:
    event_bus, now = EventBus(), FakeClock().now()
    async with event_bus.listen() as slow, event_bus.listen() as quick:
        for at in range(25_000):
            event_bus.publish(SessionEvent(event_type=str(at), session_id="s1", at=now))
            assert quick.take()[0].event_type == str(at)
        first = await anext(slow)
        assert first.event_type == RunEvent.EVENTS_MISSED
        rest = slow.take()
        assert (first.payload["count"], len(rest)) == (15_000, 10_000)
        assert rest[0].event_type == "15000"
        event_bus.publish(SessionEvent(event_type="more", session_id="s1", at=now))
        assert [each.event_type for each in slow.take()] == ["more"]
    assert not event_bus.has_listeners

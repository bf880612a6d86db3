"""Bursts joined, snapshots not repeated, and the last state always sent."""

import pytest

from taskloom.acp import ItemsPlan, PlanEntry, PlanPublisher
from tests.acp.manual_timer import ManualTimer, Wire, settle


def steps(done: int, plan_id: str = "steps") -> ItemsPlan:
    """A plan of ten, so many of them done."""
    entries = (PlanEntry(f"step {n}", "completed" if n < done else "pending") for n in range(10))
    return ItemsPlan(plan_id, tuple(entries))


def done(update: dict[str, object]) -> int:
    """How many of a plan's entries an update shows as done."""
    plan = update["plan"]
    assert isinstance(plan, dict)
    return sum(entry["status"] == "completed" for entry in plan["entries"])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON


@pytest.fixture
def timer() -> ManualTimer:
    return ManualTimer()


@pytest.fixture
def wire(timer: ManualTimer) -> Wire:
    return Wire(timer)


@pytest.fixture
def publisher(timer: ManualTimer, wire: Wire) -> PlanPublisher:
    return PlanPublisher(wire.send, {"plan": {}}, timer=timer)


@pytest.mark.spec("AP-108")
async def test_the_first_update_goes_out_at_once_and_a_burst_becomes_one_more(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(0))
    await timer.advance(0)
    assert [done(update) for update in wire.take()] == [0]
    for number in range(1, 8):
        publisher.publish(steps(number))
        await timer.advance(0.01)
    assert wire.take() == []
    await timer.advance(0.15)
    assert [done(update) for update in wire.take()] == [7]
    assert wire.at[1] - wire.at[0] == pytest.approx(0.15)


@pytest.mark.spec("AP-108")
async def test_a_long_stream_of_changes_sends_one_update_each_150_ms_and_the_last_state(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    for number in range(100):
        publisher.publish(steps(number % 10))
        await timer.advance(0.02)
    publisher.publish(steps(10))
    await timer.advance(1)

    gaps = [later - sooner for sooner, later in zip(wire.at, wire.at[1:], strict=False)]
    assert min(gaps) >= 0.15 - 1e-9
    assert 12 <= len(wire.at) <= 15
    assert done(wire.updates[-1]) == 10


@pytest.mark.spec("AP-108")
async def test_each_plan_has_its_own_measure_of_time(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(0, "a"))
    await timer.advance(0.1)
    publisher.publish(steps(0, "b"))
    await timer.advance(0)

    assert wire.at == pytest.approx([100.0, 100.1])


@pytest.mark.spec("AP-108")
@pytest.mark.parametrize("capabilities", [None, {"plan": {}}, {"planCapabilities": {}}])
async def test_an_identical_snapshot_is_not_sent_twice(
    capabilities: dict[str, object] | None, wire: Wire, timer: ManualTimer
) -> None:
    publisher = PlanPublisher(wire.send, capabilities, timer=timer)
    publisher.publish(steps(3))
    await timer.advance(1)
    publisher.publish(steps(3))
    await timer.advance(1)
    publisher.publish(steps(4))
    publisher.publish(steps(3))
    await timer.advance(1)
    await publisher.flush()

    assert len(wire.take()) == 1


@pytest.mark.spec("AP-108", "AP-109")
async def test_flush_sends_what_waits_and_nothing_comes_after_it(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(0))
    await timer.advance(0)
    publisher.publish(steps(5))
    await publisher.flush()
    assert [done(update) for update in wire.take()] == [0, 5]
    await timer.advance(10)

    assert wire.take() == []


async def test_a_plan_that_is_held_waits_for_its_release(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(0))
    publisher.hold()
    publisher.publish(steps(1))
    await timer.advance(10)
    assert wire.take() == []
    publisher.release()
    await timer.advance(0)

    assert [done(update) for update in wire.take()] == [1]


@pytest.mark.spec("AP-202")
async def test_a_concluded_plan_shows_its_last_state_before_it_goes(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(9))
    await timer.advance(0)
    await publisher.conclude(steps(10))
    await publisher.flush()

    first, last, removed = wire.take()
    assert (done(first), done(last)) == (9, 10)
    assert removed == {"sessionUpdate": "plan_removed", "planId": "steps"}


@pytest.mark.spec("AP-110")
async def test_replay_shows_every_live_plan_whole(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(1, "a"))
    publisher.publish(steps(2, "b"))
    publisher.publish(steps(3, "c"))
    publisher.remove("b")
    await publisher.flush()
    wire.take()
    await publisher.replay()

    assert [update["plan"]["planId"] for update in wire.take()] == ["a", "c"]


@pytest.mark.parametrize("capabilities", [None, {"plan": {}}])
async def test_what_did_not_reach_the_client_is_sent_again(
    capabilities: dict[str, object] | None, timer: ManualTimer, wire: Wire
) -> None:
    publisher = PlanPublisher(wire.send, capabilities, timer=timer)
    publisher.publish(steps(1))
    await timer.advance(0)
    wire.take()
    wire.broken = True
    publisher.remove("steps")
    await timer.advance(1)
    with pytest.raises(ConnectionError):
        await publisher.flush()
    wire.broken = False
    await publisher.flush()

    gone = {"sessionUpdate": "plan_removed", "planId": "steps"}
    assert wire.take() == [gone if capabilities else {"sessionUpdate": "plan", "entries": []}]


async def test_closing_ends_what_was_about_to_be_sent(
    publisher: PlanPublisher, wire: Wire, timer: ManualTimer
) -> None:
    publisher.publish(steps(1))
    await publisher.aclose()
    await timer.advance(1)
    await settle()

    assert wire.take() == []

"""Replay of a log in chunks, to a line, and up to damage."""

from datetime import UTC, datetime

import pytest

from taskloom.board import Event, StepSnapshot, StepStatus, TaskCreated
from taskloom.board.events import StepReady, TaskSnapshot
from taskloom.codec import Chain, EventAuthor, Replay, encode
from taskloom.errors import DamagedLogError

AT = datetime(2026, 1, 2, tzinfo=UTC)
COUNT = 6


def log(*, command_id: str | None = None) -> list[bytes]:
    """Return the lines of a Task whose steps become ready one after another."""
    steps = [StepSnapshot(step_id=f"s{n}", title="S") for n in range(COUNT - 1)]
    author = EventAuthor("s1", "t", "ev", "ann", "ann-1", AT, command_id)
    created = Event(TaskCreated(TaskSnapshot(task_id="t", title="T", steps=steps)))
    ready = [Event(StepReady(StepStatus.PENDING, []), step.step_id) for step in steps]
    lines = encode([created, *ready], author, Chain(), after=0, base=0)
    return bytes(lines).splitlines(keepends=True)


def ready_steps(replay: Replay) -> int:
    assert replay.task is not None
    return sum(step.status is StepStatus.READY for step in replay.task.steps.values())


@pytest.mark.parametrize("size", range(1, COUNT + 1))
def test_chunks_of_any_size_come_to_the_same_task(size: int) -> None:
    lines, replay = log(), Replay()
    for at in range(0, COUNT, size):
        replay.add(b"".join(lines[at : at + size]))
    assert (replay.seq, ready_steps(replay)) == (COUNT, COUNT - 1)


@pytest.mark.parametrize("until", range(1, COUNT + 2))
def test_replay_stops_at_the_wanted_line(until: int) -> None:
    replay = Replay()
    replay.add(b"".join(log()), until=until)
    assert replay.seq == min(until, COUNT)
    assert ready_steps(replay) == min(until, COUNT) - 1


@pytest.mark.parametrize("damage", [b"{\n", b'{"wal_seq":4}\n', b"\xff\n"])
def test_a_line_that_does_not_parse_is_named_and_those_before_it_are_applied(damage: bytes) -> None:
    lines, replay = log(), Replay()
    data = b"".join([*lines[:3], damage, *lines[4:]])
    with pytest.raises(DamagedLogError) as caught:
        replay.add(data)
    assert caught.value.line == 4
    assert ready_steps(replay) == 2


def test_damage_behind_the_wanted_line_does_not_matter() -> None:
    replay = Replay()
    replay.add(b"".join([*log()[:4], b"{\n"]), until=4)
    assert (replay.seq, ready_steps(replay)) == (4, 3)


def test_an_event_that_cannot_follow_is_named() -> None:
    lines, replay = log(), Replay()
    with pytest.raises(DamagedLogError, match="line 4: the line is numbered 3"):
        replay.add(b"".join([*lines[:3], lines[2]]))


@pytest.mark.parametrize("until", [None, 4])
def test_commands_are_remembered_as_far_as_the_log_was_applied(until: int | None) -> None:
    replay = Replay()
    replay.add(b"".join(log(command_id="c1")), until=until)
    assert replay.task is not None
    done = replay.task.done["c1"]
    assert (done.first_seq, done.last_seq) == (1, until or COUNT)

"""What must be true of a simulated life when it is over, told by its logs alone."""

from collections import Counter
from hashlib import sha256
from typing import Final

from taskloom.board import TERMINAL_EVENTS, EventType, Task, TaskStatus
from taskloom.codec import Line, Replay
from taskloom.runtime import TaskWriters
from tests.board.exploring.invariants import OF_STATES
from tests.board.task_driver import facts
from tests.crash.acknowledgements import SESSION, check, logs
from tests.runtime.boards import state
from tests.runtime.simulation import World

_ENDS_A_CLAIM: Final = {
    EventType.STEP_COMPLETED,
    EventType.STEP_FAILED,
    EventType.STEP_BLOCKED,
    EventType.STEP_CANCELLED,
    EventType.STEP_LEASE_EXPIRED,
}


def check_simulation(world: World) -> None:
    """Every invariant that holds at the end of a life."""
    check(world.disk, world.account)
    found = logs(world.disk)
    for name, lines in found.items():
        _nothing_follows_the_end(lines)
        _each_claim_ends_once_before_the_next(lines)
        task = _replayed(world, name)
        assert facts(task) == facts(_replayed(world, name))
        for holds in OF_STATES:
            holds(task, world.clock.now())
    _live_boards_say_what_the_logs_say(world)


def digest(world: World) -> str:
    """One number for all bytes of all logs."""
    files = sorted(path for path in world.disk.files() if path.parent == SESSION)
    return sha256(b"".join(world.disk.content(path) for path in files)).hexdigest()


def _replayed(world: World, name: str) -> Task:
    replay = Replay()
    replay.add(world.disk.content(SESSION / name))
    assert replay.task is not None
    return replay.task


def _nothing_follows_the_end(lines: list[Line]) -> None:
    kinds = [line.payload.type for line in lines]
    assert not TERMINAL_EVENTS.intersection(kinds[:-1])


def _each_claim_ends_once_before_the_next(lines: list[Line]) -> None:
    held: dict[str, str] = {}
    runs: Counter[str] = Counter()
    for line in lines:
        step_id = line.step_id or ""
        kind = line.payload.type
        if kind is EventType.STEP_CLAIMED:
            assert step_id not in held, f"line {line.wal_seq}: {held[step_id]} holds {step_id}"
            held[step_id] = line.actor_run_id
            runs[line.actor_run_id] += 1
        elif kind in _ENDS_A_CLAIM:
            held.pop(step_id, None)
        elif kind is EventType.STEP_STARTED:
            assert held[step_id] == line.actor_run_id
    assert set(runs.values()) <= {1}, "a run claims once in its life"


def _live_boards_say_what_the_logs_say(world: World) -> None:
    """A session that is opened now equals each Task's own replay, field by field."""
    session: TaskWriters = world.processes[0].board.writers
    for name in logs(world.disk):
        task = _replayed(world, name)
        if task.status is not TaskStatus.BLOCKED and not task.is_terminal:
            assert session.writer(task.task_id).ask(state) == facts(task)
    session.close()


def simulate(seed: int, events: int) -> tuple[int, str]:
    """One life from its seed; return how many events it wrote, and their digest."""
    world = World(seed)
    try:
        world.live(events)
        check_simulation(world)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    return world.events, digest(world)

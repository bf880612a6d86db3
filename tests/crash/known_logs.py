"""Logs for the crash tests, with everything known about how they were written.

A `KnownLog` decides and encodes as a writer does, and keeps, for each byte of the log, which
decision and which write it belongs to. `SCENARIOS` are five of them: every event type, decisions
of 1, 3 and 64 events, one or several decisions to a write.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, Final, NamedTuple, cast

from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    Event,
    ExpireLeases,
    FailTask,
    NewStep,
    Role,
    Scope,
    StepStatus,
    Task,
    TaskCreated,
    UpdateBoard,
    UpdateStep,
    create,
    decide,
    decide_create,
    evolve,
)
from taskloom.codec import Chain, EventAuthor, Replay, encode
from taskloom.testing import FakeClock

TASK: Final = "plan"
BOSS: Final = Actor(agent_id="boss", run_id="boss-1", session_id="s1", role=Role.ORCHESTRATOR)


def worker(run_id: str, task_id: str = TASK) -> Actor:
    """One run of a worker."""
    return Actor(
        agent_id=run_id.partition("-")[0],
        run_id=run_id,
        session_id="s1",
        role=Role.WORKER,
        scope=Scope(task_id=task_id, worker_pool_id="default"),
    )


def new_task(*steps: NewStep, **more: object) -> CreateTask:
    """A Task to create."""
    given: dict[str, Any] = {"task_id": TASK, "wal_name": TASK, "title": "Plan", **more}
    return CreateTask(steps=steps, **given)


def step(step_id: str, *depends_on: str, **more: object) -> NewStep:
    """A step to create."""
    given: dict[str, Any] = {"title": f"Step {step_id}", **more}
    return NewStep(step_id=step_id, depends_on_step_ids=depends_on, **given)


def updating(*operations: Mapping[str, object], task_id: str = TASK) -> UpdateBoard:
    """An update from operations as a model writes them."""
    return UpdateBoard(task_id=task_id, operations=cast(Any, operations))


class End(NamedTuple):
    """Where a decision or a write ends."""

    offset: int
    seq: int
    crc: int


NOTHING: Final = End(0, 0, 0)


@dataclass
class KnownLog:
    """A log in the making."""

    decisions_per_write: int = 1
    data: bytearray = field(default_factory=bytearray)
    decisions: list[End] = field(default_factory=lambda: [NOTHING])
    writes: list[End] = field(default_factory=lambda: [NOTHING])
    sizes: list[int] = field(default_factory=list[int])
    clock: FakeClock = field(default_factory=FakeClock)
    _chain: Chain = field(default_factory=Chain)
    _task: Task | None = None

    @property
    def task(self) -> Task:
        assert self._task is not None
        return self._task

    def begin(self, command: CreateTask) -> None:
        """Create the Task; that is a write of its own."""
        events = decide_create(command, BOSS, self.clock.now(), DEFAULT_RULES)
        first = events[0].payload
        assert isinstance(first, TaskCreated)
        self._task = create(first, self.clock.now(), 1, "s1")
        self._write(events, BOSS, evolved=1)
        self.flush()

    def do(self, command: Command, actor: Actor = BOSS) -> None:
        """Carry out one command."""
        self.clock.move(0.001)
        self._write(decide(self.task, command, actor, self.clock.now()), actor)
        if len(self.decisions) - self.decisions.index(self.writes[-1]) > self.decisions_per_write:
            self.flush()

    def flush(self) -> None:
        """End the write: everything up to here is acknowledged."""
        if self.writes[-1] != self.decisions[-1]:
            self.writes.append(self.decisions[-1])

    def set(self, step_id: str, status: str | None, actor: Actor = BOSS, **more: object) -> None:
        given: dict[str, Any] = more
        wanted = StepStatus(status) if status is not None else None
        self.do(UpdateStep(task_id=TASK, step_id=step_id, status=wanted, **given), actor)

    def claim(self, step_id: str, run_id: str) -> Actor:
        actor = worker(run_id)
        self.do(ClaimStep(task_id=TASK, step_id=step_id), actor)
        return actor

    def _write(self, events: list[Event], actor: Actor, evolved: int = 0) -> None:
        assert events, "every command of a log writes something"
        at = self.clock.now()
        origin = EventAuthor("s1", TASK, "e0", actor.agent_id, actor.run_id, at)
        base, after = self.writes[-1].seq, self.decisions[-1].seq
        lines = encode(events, origin, self._chain, after=after, base=base)
        for seq, event in enumerate(events[evolved:], after + 1 + evolved):
            evolve(self.task, event.payload, event.step_id, at, seq)
        self.data += lines
        self.sizes.append(len(events))
        self.decisions.append(End(len(self.data), after + len(events), self._chain.crc))


@dataclass(frozen=True)
class Scenario:
    """A finished log."""

    name: str
    data: bytes
    decisions: tuple[End, ...]
    writes: tuple[End, ...]
    sizes: tuple[int, ...]

    def whole_until(self, offset: int) -> End:
        """The last decision that is complete in the first `offset` bytes."""
        return self.decisions[bisect_right(self.decisions, offset, key=lambda end: end.offset) - 1]

    def safe_before(self, offset: int) -> End:
        """What was acknowledged before the write that holds this byte."""
        return self.writes[bisect_right(self.writes, offset, key=lambda end: end.offset) - 1]

    def replayed(self, end: End) -> Task:
        """The Task at the end of a decision."""
        replay = Replay()
        replay.add(self.data[: end.offset])
        assert replay.task is not None
        return replay.task


def _story(log: KnownLog, note: str) -> None:
    """Every event type that is not the end of a Task."""
    ann = log.claim("a", "ann-1")
    log.set("a", "running", ann)
    log.set("a", None, ann, result_summary=note, artifact_ids=("one", "two"))
    log.set("a", "completed", ann, result_summary=f"done: {note}")
    bob = log.claim("b", "bob-1")
    log.set("b", "blocked", bob, reason=note)
    log.do(updating({"op": "reopen_step", "step_id": "b", "reason": note}))
    log.claim("b", "cat-1")
    log.clock.move(DEFAULT_RULES.lease + timedelta(seconds=1))
    log.do(ExpireLeases(task_id=TASK))
    dan = log.claim("b", "dan-1")
    log.set("b", "failed", dan, reason=note)
    log.set("b", "pending")
    log.do(updating({"op": "update_task", "status": "blocked", "reason": note}))
    log.do(updating({"op": "add_step", "step": {"step_id": "late", "title": note[:40]}}))
    log.do(updating({"op": "update_task", "status": "pending"}))
    log.do(updating({"op": "add_dependency", "step_id": "late", "depends_on_step_id": "b"}))
    log.do(updating({"op": "cancel_step", "step_id": "spare", "reason": note}))
    log.claim("b", "eve-1")


def _finish(log: KnownLog) -> None:
    log.set("b", "completed", worker("eve-1"))
    for step_id in ("c", "late"):
        log.set(step_id, "completed", log.claim(step_id, f"fay-{step_id}"))


_PLAN: Final = (step("a"), step("b", "a"), step("c", "b"), step("spare", required=False))


@cache
def _scenario(name: str) -> Scenario:
    log = KnownLog({"grouped": 3, "long lines": 5}.get(name, 1))
    build: Mapping[str, Callable[[], None]] = {
        "one by one": lambda: _one_by_one(log),
        "grouped": lambda: _grouped(log),
        "sixty-four": lambda: _sixty_four(log),
        "long lines": lambda: _long_lines(log),
        "still going": lambda: _still_going(log),
    }
    build[name]()
    log.flush()
    return Scenario(
        name,
        bytes(log.data),
        tuple(log.decisions),
        tuple(log.writes),
        tuple(log.sizes),
    )


def _one_by_one(log: KnownLog) -> None:
    log.begin(new_task(*_PLAN))
    _story(log, "plain")
    _finish(log)
    log.do(CompleteTask(task_id=TASK, result_summary="all is well"))


def _grouped(log: KnownLog) -> None:
    log.begin(new_task(*_PLAN, summary="several decisions to a write"))
    _story(log, "grouped")
    log.do(FailTask(task_id=TASK, reason="no more money"))


def _sixty_four(log: KnownLog) -> None:
    """62 ready steps and the two lines of the Task itself; their end is as big again."""
    log.begin(new_task(*_PLAN[:1], *(step(f"s{n}") for n in range(61))))
    log.do(ClaimStep(task_id=TASK, step_id="a"), worker("ann-1"))
    log.do(CancelTask(task_id=TASK, reason="no longer wanted"))


def _long_lines(log: KnownLog) -> None:
    """Lines that span sectors and pages, with text that JSON must escape."""
    log.begin(new_task(*_PLAN, title='quotes " and \\ and \u2028'))
    _story(log, '🜂 "\\\n\t\0 ' * 40)
    _finish(log)
    log.do(CompleteTask(task_id=TASK, result_summary="long, at last " * 30))


def _still_going(log: KnownLog) -> None:
    log.begin(new_task(*_PLAN))
    _story(log, "to be continued")
    _finish(log)


SCENARIO_NAMES: Final = ("one by one", "grouped", "sixty-four", "long lines", "still going")


def scenario(name: str) -> Scenario:
    """One of the five."""
    return _scenario(name)

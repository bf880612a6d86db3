"""A Task driven without a log on disk: actors, a clock moved by hand, and the events so far.

`TaskDriver.do` is decide and evolve, as a writer runs them; `TaskDriver.refusal` is the same for
a refusal, and fails if anything changed. `facts` is a Task field by field, for comparing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

import pytest

from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    ClaimStep,
    Command,
    CreateTask,
    Event,
    ExpireLeases,
    NewStep,
    Payload,
    Role,
    Rules,
    Scope,
    Step,
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
from taskloom.board.state.index import Index
from taskloom.errors import Code, RefusedError

TASK = "plan"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = DEFAULT_RULES.lease
MINUTE = timedelta(minutes=1)

BOSS = Actor(agent_id="boss", run_id="boss-1", session_id="s1", role=Role.ORCHESTRATOR)
PLAIN = Actor(agent_id="zoe", run_id="zoe-1", session_id="s1", role=Role.MAIN)


def worker(
    run_id: str, *, pool: str = "default", only: Sequence[str] | None = None, task: str = TASK
) -> Actor:
    """One run of a worker; its agent is the run's name without the number."""
    allowed = None if only is None else frozenset(only)
    return Actor(
        agent_id=run_id.partition("-")[0],
        run_id=run_id,
        session_id="s1",
        role=Role.WORKER,
        scope=Scope(task_id=task, worker_pool_id=pool, allowed_step_ids=allowed),
    )


ANN, BOB, CAT = worker("ann-1"), worker("bob-1"), worker("cat-1")


class Line(NamedTuple):
    """One line of the log."""

    payload: Payload
    step_id: str | None
    at: datetime
    seq: int


class TaskDriver:
    """One Task, the log it came from, and the time."""

    def __init__(self, command: CreateTask, rules: Rules = DEFAULT_RULES) -> None:
        self.now = START
        self.rules = rules
        self.log: list[Line] = []
        first, *rest = decide_create(command, BOSS, self.now, rules)
        assert isinstance(first.payload, TaskCreated)
        self.task = create(first.payload, self.now, 1, "s1")
        self.log.append(Line(first.payload, None, self.now, 1))
        self.write(rest)

    def write(self, events: Sequence[Event]) -> None:
        for event in events:
            line = Line(event.payload, event.step_id, self.now, self.task.seq + 1)
            evolve(self.task, line.payload, line.step_id, line.at, line.seq)
            self.log.append(line)

    def do(self, command: Command, actor: Actor = BOSS) -> list[Event]:
        """Ask, and write the answer."""
        events = decide(self.task, command, actor, self.now, self.rules)
        self.write(events)
        return events

    def refusal(self, command: object, actor: Actor = BOSS) -> RefusedError:
        """Ask what must be refused; return the refusal after seeing that nothing changed."""
        before = facts(self.task)
        with pytest.raises(RefusedError) as caught:
            decide(self.task, cast(Command, command), actor, self.now, self.rules)
        assert facts(self.task) == before
        assert caught.value.message
        return caught.value

    def refuses(self, command: object, actor: Actor = BOSS) -> Code:
        return self.refusal(command, actor).code

    def later(self, by: timedelta = LEASE) -> "TaskDriver":
        self.now += by
        return self

    # Short for what nearly every story does.

    def claim(self, step_id: str, actor: Actor = ANN) -> list[Event]:
        return self.do(ClaimStep(task_id=TASK, step_id=step_id), actor)

    def expire(self) -> list[Event]:
        return self.do(ExpireLeases(task_id=TASK))

    def set(
        self, step_id: str, status: str | None, actor: Actor = BOSS, **more: object
    ) -> list[Event]:
        return self.do(setting(step_id, status, **more), actor)

    def update(self, *operations: Mapping[str, object]) -> list[Event]:
        return self.do(updating(*operations))

    def complete(self, *step_ids: str) -> "TaskDriver":
        """Complete steps the way workers do, each by a run of its own."""
        for step_id in step_ids:
            run = worker(f"w-{self.task.seq}")
            self.claim(step_id, run)
            self.set(step_id, "completed", run)
        return self

    # Looking.

    def step(self, step_id: str) -> Step:
        return self.task.steps[step_id]

    def statuses(self) -> dict[str, str]:
        return {step.step_id: step.status.value for step in self.task.steps.values()}

    def replayed(self) -> Task:
        return replay(self.log)


def replay(log: Sequence[Line]) -> Task:
    """Build a Task from its log alone."""
    first, *rest = log
    assert isinstance(first.payload, TaskCreated)
    task = create(first.payload, first.at, first.seq, "s1")
    for line in rest:
        evolve(task, line.payload, line.step_id, line.at, line.seq)
    return task


def step(step_id: str, *depends_on: str, **more: object) -> NewStep:
    """A step as it is asked for."""
    given: dict[str, Any] = {"title": step_id.upper(), **more}
    return NewStep(step_id=step_id, depends_on_step_ids=depends_on, **given)


def creating(*steps: object, **more: object) -> CreateTask:
    given: dict[str, Any] = {"task_id": TASK, "wal_name": TASK, "title": "Plan", **more}
    return CreateTask(steps=cast(Any, steps), **given)


def given(*steps: NewStep, rules: Rules = DEFAULT_RULES) -> TaskDriver:
    """A board with these steps, just created."""
    return TaskDriver(creating(*steps), rules)


def updating(*operations: object) -> UpdateBoard:
    """An update from operations as a model writes them."""
    return UpdateBoard(task_id=TASK, operations=cast(Any, operations))


def setting(step_id: str, status: str | None, **more: object) -> UpdateStep:
    """An update of a step's status or result."""
    wanted = StepStatus(status) if status is not None else None
    given: dict[str, Any] = {"task_id": TASK, "step_id": step_id, "status": wanted, **more}
    return UpdateStep(**given)


def names(events: Sequence[Event]) -> list[str]:
    """What happened, one word each: `task_step_ready a`."""
    return [
        event.payload.type.value + (f" {event.step_id}" if event.step_id else "")
        for event in events
    ]


def facts(task: Task) -> dict[str, object]:
    """Everything a Task is made of, the index aside; two Tasks are equal if these are."""
    found: dict[str, object] = {
        item.name: _frozen(getattr(task, item.name))
        for item in fields(task)
        if item.name not in ("steps", "live_index")
    }
    for one in task.steps.values():
        for item in fields(one):
            found[f"{one.step_id}.{item.name}"] = _frozen(getattr(one, item.name))
    found["order"] = list(task.steps)
    return found


def _frozen(value: object) -> object:
    if isinstance(value, set | dict):
        return cast("set[str] | dict[str, str]", value).copy()
    return value


def index_facts(index: Index, steps: Mapping[str, Step], now: datetime) -> dict[str, object]:
    """What an index answers, leases included."""
    return {
        **index.facts(),
        "next lease end": index.next_lease_end(steps),
        "expired": [step.step_id for step in index.expired(steps, now)],
    }

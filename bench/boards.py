"""Boards and logs for measuring on: the same shapes for every figure."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from taskloom import NewStep, StepStatus
from taskloom.board import (
    Actor,
    ClaimStep,
    Command,
    CreateTask,
    Role,
    Scope,
    Task,
    UpdateStep,
)
from taskloom.log import Durability, JsonlLog
from taskloom.runtime import TaskWriter, TaskWriters

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = "build-the-thing"
RESULT = "did the thing and it went well, all tests pass"

ORCHESTRATOR = Actor(
    agent_id="agent_orchestrator_s1",
    run_id="run_20260101_000000_00000000",
    session_id="s1",
    role=Role.ORCHESTRATOR,
)


def worker(number: int) -> Actor:
    """Return one run of a worker."""
    return Actor(
        agent_id=f"agent_worker_{number % 16:016x}",
        run_id=f"run_worker_20260101_000000_{number:08x}",
        session_id="s1",
        role=Role.WORKER,
        scope=Scope(task_id=TASK, worker_pool_id="default"),
    )


def dag(steps: int, seed: int = 1) -> tuple[NewStep, ...]:
    """Return steps that depend on 0 to 3 earlier ones, most of them near."""
    pick = random.Random(seed)
    made: list[NewStep] = []
    for at in range(steps):
        wanted = pick.randrange(4) if at else 0
        near = {pick.randrange(max(0, at - 200), at) for _ in range(wanted)}
        made.append(
            NewStep(
                step_id=f"step-{at}",
                title=f"Step {at} of the plan",
                depends_on_step_ids=tuple(f"step-{on}" for on in sorted(near)),
            )
        )
    return tuple(made)


def session(directory: Path, durability: Durability = Durability.OS) -> TaskWriters:
    """Return a session with its logs in a directory."""
    return TaskWriters(JsonlLog(directory / "tasks" / "s1", durability=durability), "s1")


def create(place: TaskWriters, steps: tuple[NewStep, ...], name: str = TASK) -> TaskWriter:
    """Create a Task and return its writer."""
    place.create(
        CreateTask(task_id=name, wal_name=name, title="Build the thing", steps=steps),
        ORCHESTRATOR,
    )
    return place.writer(name)


def work_through(writer: TaskWriter, *, notes: int = 0) -> None:
    """Claim, start and complete every step, a few hundred changes to a sync."""
    number = 0
    while True:
        ready = writer.ask(_ready, ORCHESTRATOR)
        if not ready:
            return
        for step_id in ready:
            number += 1
            for command in _work(step_id, notes):
                writer.submit(command, worker(number))


def _work(step_id: str, notes: int) -> Iterator[Command]:
    yield ClaimStep(task_id=TASK, step_id=step_id)
    yield UpdateStep(task_id=TASK, step_id=step_id, status=StepStatus.RUNNING)
    for at in range(notes):
        yield UpdateStep(task_id=TASK, step_id=step_id, result_summary=f"part {at} is done")
    yield UpdateStep(
        task_id=TASK, step_id=step_id, status=StepStatus.COMPLETED, result_summary=RESULT
    )


def _ready(task: Task, _wal_path: str) -> list[str]:
    found = task.index.walk(None, (StepStatus.READY,), lambda _: True)
    return list(islice(found, 200))

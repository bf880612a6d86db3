"""Decides the creation of a Task."""

from datetime import datetime
from typing import Final

from taskloom.board import operations as op
from taskloom.board import validation
from taskloom.board.actor import Actor, require_orchestrator
from taskloom.board.commands import CreateTask
from taskloom.board.events import (
    Event,
    StepReady,
    StepSnapshot,
    TaskCreated,
    TaskRunning,
    TaskSnapshot,
)
from taskloom.board.rules import Rules
from taskloom.board.state.topological_order import rank_all
from taskloom.board.status import StepStatus, TaskStatus
from taskloom.errors import Code, RefusedError
from taskloom.ids import ID_CHARS_MAX, is_safe_id, wal_stem

_NAMED_MAX: Final = 50
"""Steps of a cycle that an error names; a model cannot fix more at once."""


def decide_create(command: CreateTask, actor: Actor, _now: datetime, rules: Rules) -> list[Event]:
    """Return the first events of a new log, or refuse.

    The session checks that the names are free.
    """
    require_orchestrator(actor, "create a Task")
    task_id = validation.safe_id(command.task_id, "$.task_id")
    wal_name = check_wal_name(command.wal_name)
    snapshot = TaskSnapshot(
        task_id=task_id,
        wal_name=wal_name,
        title=validation.text(
            command.title, "$.title", most_bytes=rules.title_bytes_max, empty=False
        ),
        summary=validation.text(command.summary, "$.summary", most_bytes=rules.summary_bytes_max),
        created_by_agent_id=actor.agent_id,
        created_by_run_id=actor.run_id,
        steps=_steps(command, rules),
    )
    ready = [
        Event(StepReady(StepStatus.PENDING, []), step.step_id)
        for step in snapshot.steps
        if not step.depends_on_step_ids
    ]
    return [Event(TaskCreated(snapshot)), *ready, Event(TaskRunning(TaskStatus.PENDING))]


def check_wal_name(name: object) -> str:
    """Return the log's name without its extension, or refuse it."""
    if not isinstance(name, str):
        validation.refuse("$.wal_name", f"must be a string, not {validation.kind(name)}.")
    stem = wal_stem(name)
    if not is_safe_id(stem):
        validation.refuse(
            "$.wal_name",
            f"must be 1 to {ID_CHARS_MAX} characters of a-z, 0-9, - and _, without a path; "
            f"got {name[:ID_CHARS_MAX]!r}.",
        )
    return stem


def _steps(command: CreateTask, rules: Rules) -> list[StepSnapshot]:
    given = validation.items(command.steps, "$.steps", least=1, most=rules.steps_max)
    steps: dict[str, StepSnapshot] = {}
    for at, item in enumerate(given):
        path = f"$.steps[{at}]"
        new = op.parse_step(
            op.dump_step(item) if isinstance(item, op.NewStep) else item, path, rules
        )
        if new.step_id in steps:
            validation.refuse(f"{path}.step_id", f"repeats {new.step_id!r}; step ids are unique.")
        steps[new.step_id] = StepSnapshot(
            step_id=new.step_id,
            title=new.title,
            summary=new.summary,
            depends_on_step_ids=list(new.depends_on_step_ids),
            required=new.required,
            worker_pool_id=new.worker_pool_id or rules.default_worker_pool,
            metadata=new.metadata,
        )
    _check_dag(steps)
    return list(steps.values())


def _check_dag(steps: dict[str, StepSnapshot]) -> None:
    for index, step in enumerate(steps.values()):
        for at, on in enumerate(step.depends_on_step_ids):
            if on not in steps:
                path = f"$.steps[{index}].depends_on_step_ids[{at}]"
                raise RefusedError(
                    Code.STEP_NOT_FOUND,
                    f"{path} names {on!r}, which is not a step of this Task. Add that step, "
                    "or remove the dependency.",
                    {"path": path, "step_id": on},
                )
    ranks = rank_all({step.step_id: step.depends_on_step_ids for step in steps.values()})
    if isinstance(ranks, list):
        index = list(steps).index(ranks[0])
        raise cycle_refused(ranks, f"$.steps[{index}].depends_on_step_ids")


def cycle_refused(cycle: list[str], path: str) -> RefusedError:
    """Return the error for a cycle; `path` names one of its dependencies."""
    named = cycle[:_NAMED_MAX]
    if len(cycle) > _NAMED_MAX:
        named.append(f"({len(cycle) - _NAMED_MAX} more)")
    shown = " -> ".join([*named, cycle[0]])
    return RefusedError(
        Code.DEPENDENCY_CYCLE,
        f"These steps would wait for each other: {shown}. Remove one of these dependencies.",
        {"path": path, "cycle": cycle[:_NAMED_MAX], "cycle_length": len(cycle)},
    )

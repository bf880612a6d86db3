"""A plan as users write it, and how it differs from the one that a Task was created with."""

from collections.abc import Iterable, Iterator
from typing import Final

from taskloom.board import NewStep, StepSnapshot, TaskSnapshot
from taskloom.board.validation import JsonData, kind, refuse
from taskloom.ids import PoolId, StepId

_STEP_FIELDS: Final = (
    "title",
    "summary",
    "depends_on_step_ids",
    "required",
    "worker_pool_id",
    "metadata",
)


def step(
    step_id: StepId,
    title: str,
    *,
    after: Iterable[StepId] = (),
    summary: str = "",
    pool: PoolId | None = None,
    required: bool = True,
    metadata: JsonData = None,
) -> NewStep:
    """Return a step of a new plan.

    Args:
        step_id: Its name within the Task: a-z, 0-9, - and _.
        title: What is to be done, in a line.
        after: The steps it waits for; a single name will do, too.
        summary: What its worker needs to know, at length.
        pool: The worker pool it is for; without one, the board's default pool.
        required: Whether the Task can be completed only if this step was.
        metadata: A JSON object for its worker, as `claim.step.metadata`.

    Raises:
        RefusedError: `after` is neither a name nor a list of names. Everything else is checked
            when the plan is sent.
    """
    return NewStep(
        step_id=step_id,
        title=title,
        summary=summary,
        depends_on_step_ids=listed(after, "$.after", "step ids"),
        required=required,
        worker_pool_id=pool,
        metadata=metadata,
    )


def listed(value: Iterable[str], path: str, what: str) -> tuple[str, ...]:
    """Return any iterable of names as a tuple; a single name stands for itself."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
        refuse(path, f"must be a list of {what}, not {kind(value)}.")
    return tuple(value)


def differences(wanted: TaskSnapshot, created: TaskSnapshot) -> Iterator[tuple[str, str]]:
    """Yield what differs between two plans: the path in the wanted one, and a sentence."""
    for name in ("title", "summary"):
        yield from _field("$", name, getattr(wanted, name), getattr(created, name))
    there = {each.step_id: each for each in created.steps}
    for place, new in enumerate(wanted.steps):
        path = f"$.steps[{place}]"
        old = there.pop(new.step_id, None)
        if old is None:
            yield path, f"{path}: step {new.step_id!r} is not in the Task."
        else:
            yield from _step(path, new, old)
    for step_id in there:
        yield "$.steps", f"$.steps: step {step_id!r} is in the Task, but not here."
    orders = [[each.step_id for each in plan.steps] for plan in (wanted, created)]
    if orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]):
        yield "$.steps", "$.steps: the steps are in another order."


def _step(path: str, wanted: StepSnapshot, created: StepSnapshot) -> Iterator[tuple[str, str]]:
    for name in _STEP_FIELDS:
        yield from _field(path, name, getattr(wanted, name), getattr(created, name))


def _field(path: str, name: str, wanted: object, created: object) -> Iterator[tuple[str, str]]:
    if wanted != created:
        where = f"{path}.{name}"
        yield where, f"{where}: the Task has {_shown(created)}, here it is {_shown(wanted)}."


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:99] + "…"

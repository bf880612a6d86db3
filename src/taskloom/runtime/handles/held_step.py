"""A step that a run holds, and the words for how it was lost or failed."""

from typing import Final

from taskloom.board import Actor, StepView
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq, StepId, TaskId
from taskloom.text import clip

_REASON_CHARS_MAX: Final = 2_000


@define(frozen=True)
class StepResult:
    """What a completed step left for those that depend on it."""

    text: str
    data: JsonData = None
    """JSON data; None if it left none."""
    artifacts: tuple[str, ...] = ()


@define(frozen=True)
class HeldStep:
    """A step that a run has claimed."""

    task_id: TaskId
    actor: Actor
    step: StepView
    fence: Seq
    inputs: dict[StepId, StepResult]
    claimed_at_s: float
    """On the monotonic clock, from before the claim was sent."""


def describe(error: BaseException) -> str:
    """Return an exception as the reason of a failed step."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return clip(text.encode("utf-8", "backslashreplace").decode(), _REASON_CHARS_MAX)


def lease_lost(held: HeldStep, cause: str) -> RefusedError:
    """Return the error for a claim that no longer holds its step."""
    step_id = held.step.step_id
    return RefusedError(
        Code.LEASE_LOST,
        f"The lease of step {step_id!r} was lost ({cause}). Another worker may do the step again, "
        "and nothing that this claim writes counts any more: drop its result.",
        {"task_id": held.task_id, "step_id": step_id, "run_id": held.actor.run_id},
    )

"""The switch that shows the exploration can fail: each mutant takes one guard out of the board.

Nothing in the product knows of them. A mutant is put in with pytest's `monkeypatch` for one test,
and the exploration of a tiny space must then break.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeAlias

import pytest

from taskloom.board import (
    Actor,
    ClaimStep,
    Event,
    ExpireLeases,
    Rules,
    Step,
    StepStatus,
    Task,
    TaskStatus,
    UpdateBoard,
)
from taskloom.board import actor as actor_module
from taskloom.board import decide as decide_function
from taskloom.board import evolve as evolve_function
from taskloom.board.decide import readiness
from taskloom.board.decide import step as step_decisions
from taskloom.board.decide import update as update_decisions
from taskloom.board.events import StepClaimed
from taskloom.board.state import apply_operations
from taskloom.board.state.index import Index
from taskloom.board.state.update_draft import Overlay
from taskloom.errors import RefusedError
from tests.board.task_driver import LEASE

Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]

# `taskloom.board` shows the functions of these names, which hide their modules.
_DECIDE: Final[dict[str, Any]] = decide_function.__globals__
_DECIDERS: Final[dict[type, Any]] = _DECIDE["_DECIDERS"]
_EVOLVE: Final[dict[str, Any]] = evolve_function.__globals__


def _no_fence(to: pytest.MonkeyPatch) -> None:
    real = step_decisions.require_holder

    def open_handed(step: Step, task: Task, actor: Actor, fence: int, now: datetime) -> None:
        real(step, task, actor, None, now)

    to.setattr(step_decisions, "require_holder", open_handed)


def _no_holder(to: pytest.MonkeyPatch) -> None:
    to.setattr(step_decisions, "require_holder", _nothing)


def _no_lease_end(to: pytest.MonkeyPatch) -> None:
    def never(step: Step, now: datetime) -> bool:
        return False

    to.setattr(step_decisions, "_has_expired", never)


def _everybody_has_tools(to: pytest.MonkeyPatch) -> None:
    to.setattr(actor_module, "require_task_tools", _nothing)


def _promotes_too_early(to: pytest.MonkeyPatch) -> None:
    def eager(task: Task, step: Step) -> list[Event]:
        return [readiness.ready_event(each, ()) for each in step.dependents]

    to.setattr(step_decisions, "after_completion", eager)


def _promotes_while_blocked(to: pytest.MonkeyPatch) -> None:
    real = readiness.after_completion

    def blind(task: Task, step: Step) -> list[Event]:
        return real(replace(task, status=TaskStatus.RUNNING), step)

    to.setattr(step_decisions, "after_completion", blind)


def _forgets_to_promote(to: pytest.MonkeyPatch) -> None:
    def idle(task: Task, step: Step) -> list[Event]:
        return []

    to.setattr(step_decisions, "after_completion", idle)


def _claims_what_is_not_ready(to: pytest.MonkeyPatch) -> None:
    def grab(task: Task, command: ClaimStep, actor: Actor, now: datetime, _: Rules) -> list[Event]:
        step = task.steps[command.step_id]
        claim = StepClaimed(step.status, actor.agent_id, actor.run_id, now + LEASE)
        return [Event(claim, step.step_id)]

    to.setitem(_DECIDERS, ClaimStep, grab)


def _claims_twice(to: pytest.MonkeyPatch) -> None:
    real = _DECIDERS[ClaimStep]

    def forgetful(task: Task, *rest: object) -> list[Event]:
        return real(replace(task, claims={}), *rest)

    to.setitem(_DECIDERS, ClaimStep, forgetful)


def _claims_in_a_blocked_task(to: pytest.MonkeyPatch) -> None:
    real = _DECIDERS[ClaimStep]

    def blind(task: Task, *rest: object) -> list[Event]:
        return real(replace(task, status=TaskStatus.RUNNING), *rest)

    to.setitem(_DECIDERS, ClaimStep, blind)


def _refused_update_is_half_applied(to: pytest.MonkeyPatch) -> None:
    real = _DECIDERS[UpdateBoard]

    def sloppy(task: Task, *rest: object) -> list[Event]:
        try:
            return real(task, *rest)
        except RefusedError:
            task.title += "!"
            raise

    to.setitem(_DECIDERS, UpdateBoard, sloppy)


def _expires_early(to: pytest.MonkeyPatch) -> None:
    def hasty(self: Index, steps: Mapping[str, Step], now: datetime) -> list[Step]:
        held = (StepStatus.CLAIMED, StepStatus.RUNNING)
        return [step for step in steps.values() if step.status in held]

    to.setattr(Index, "expired", hasty)


def _never_expires(to: pytest.MonkeyPatch) -> None:
    def patient(task: Task, *rest: object) -> list[Event]:
        return []

    to.setitem(_DECIDERS, ExpireLeases, patient)


def _ended_task_goes_on(to: pytest.MonkeyPatch) -> None:
    to.setattr(Task, "is_terminal", property(_no))


def _completes_too_early(to: pytest.MonkeyPatch) -> None:
    to.setattr(Task, "is_completeable", property(_yes))


def _keeps_the_claim(to: pytest.MonkeyPatch) -> None:
    to.setitem(_EVOLVE, "_release", _nothing)


def _index_forgets_a_move(to: pytest.MonkeyPatch) -> None:
    to.setattr(Index, "move", _nothing)


def _index_forgets_a_lease(to: pytest.MonkeyPatch) -> None:
    to.setattr(Index, "lease", _nothing)


def _state_outside_the_log(to: pytest.MonkeyPatch) -> None:
    real = _EVOLVE["_lease"]

    def remembers(task: Task, step: Step, end: datetime) -> None:
        real(task, step, end)
        if task.live_index is not None:  # as in a live Task, never at replay
            step.reason = "kept in memory only"

    to.setitem(_EVOLVE, "_lease", remembers)


def _keeps_old_edges(to: pytest.MonkeyPatch) -> None:
    to.setattr(apply_operations._Patch, "_disconnect", _nothing)  # pyright: ignore[reportPrivateUsage]  # the guard itself


def _no_cycle_check(to: pytest.MonkeyPatch) -> None:
    to.setattr(update_decisions, "insert_edges", _nothing)


def _deletes_what_others_wait_for(to: pytest.MonkeyPatch) -> None:
    def nobody(self: Overlay, step_id: str) -> set[str]:
        return set()

    to.setattr(Overlay, "dependents", nobody)


def _deletes_anything(to: pytest.MonkeyPatch) -> None:
    to.setattr(update_decisions, "_DELETABLE", frozenset(StepStatus))


def _update_never_promotes(to: pytest.MonkeyPatch) -> None:
    def none(self: object) -> list[Event]:
        return []

    to.setattr(update_decisions._Update, "_promotions", none)  # pyright: ignore[reportPrivateUsage]  # the guard itself


def _reopening_the_task_promotes_nothing(to: pytest.MonkeyPatch) -> None:
    def none(self: object) -> list[Event]:
        return []

    to.setattr(update_decisions._Update, "_held_back", none)  # pyright: ignore[reportPrivateUsage]  # the guard itself


def _nothing(*_: object) -> None:
    return None


def _yes(_: Task) -> bool:
    return True


def _no(_: Task) -> bool:
    return False


MUTANTS: Final[tuple[Patch, ...]] = (
    _no_fence,
    _no_holder,
    _no_lease_end,
    _everybody_has_tools,
    _promotes_too_early,
    _promotes_while_blocked,
    _forgets_to_promote,
    _claims_what_is_not_ready,
    _claims_twice,
    _claims_in_a_blocked_task,
    _refused_update_is_half_applied,
    _expires_early,
    _never_expires,
    _ended_task_goes_on,
    _completes_too_early,
    _keeps_the_claim,
    _index_forgets_a_move,
    _index_forgets_a_lease,
    _state_outside_the_log,
    _keeps_old_edges,
    _no_cycle_check,
    _deletes_what_others_wait_for,
    _deletes_anything,
    _update_never_promotes,
    _reopening_the_task_promotes_nothing,
)

"""The actor that sends a command, and which commands an agent of each role may send.

The host of a run makes its actor from the run itself. Nothing that a model sends is part of it.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from taskloom.board.validation import kind, refuse, text
from taskloom.define import define
from taskloom.errors import Code, RefusedError
from taskloom.ids import AgentId, PoolId, RunId, SessionId, StepId, TaskId

_NAME_BYTES_MAX: Final = 500


class Role(StrEnum):
    """The kind of an agent. Only the first two have Task tools."""

    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    MAIN = "main"
    SUB = "sub"
    FORK = "fork"


# Every command asks for these, and a global name is found sooner than a member of an enum.
_ORCHESTRATOR: Final = Role.ORCHESTRATOR
_WORKER: Final = Role.WORKER


@define(frozen=True, kw_only=True)
class Scope:
    """What a dispatched worker run may see: a Task, a pool, perhaps only some steps of it."""

    task_id: TaskId
    worker_pool_id: PoolId
    allowed_step_ids: frozenset[StepId] | None = None
    """None is no limit. An empty set is refused: such a run would have nothing to do."""

    def __post_init__(self) -> None:
        """Refuse an empty set here, and not at the first claim."""
        if self.allowed_step_ids is None:
            return
        if isinstance(self.allowed_step_ids, str):
            refuse("$.allowed_step_ids", "must be a list of step ids, not a string.")
        # Any collection is accepted; repeats are removed.
        if not isinstance(self.allowed_step_ids, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$.allowed_step_ids", "must be a list of step ids.")
        object.__setattr__(self, "allowed_step_ids", frozenset(self.allowed_step_ids))
        if not self.allowed_step_ids:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                "allowed_step_ids is empty: leave it out for no limit, or name the steps.",
                {"path": "$.allowed_step_ids"},
            )

    def allows(self, step_id: StepId) -> bool:
        """Return whether the run may see the step."""
        return self.allowed_step_ids is None or step_id in self.allowed_step_ids


@define(frozen=True, kw_only=True)
class Actor:
    """One run of one agent. `run_id` is new for each run; `agent_id` stays."""

    agent_id: AgentId
    run_id: RunId
    session_id: SessionId
    role: Role
    scope: Scope | None = None
    """For a worker; without one it may neither read nor change a Task."""

    def __post_init__(self) -> None:
        """Refuse names that a log cannot hold."""
        for name in ("agent_id", "run_id", "session_id"):
            text(getattr(self, name), f"$.actor.{name}", most_bytes=_NAME_BYTES_MAX, empty=False)
        if not isinstance(self.role, Role):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$.actor.role", f"must be a Role; got {self.role!r}.")


def require_task_tools(actor: Actor) -> None:
    """Refuse an agent that is neither an Orchestrator nor a worker."""
    if not isinstance(actor, Actor):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
        refuse("$.actor", f"must be an Actor, not {kind(actor)}.")
    role = actor.role
    if role is not _WORKER and role is not _ORCHESTRATOR:
        raise RefusedError(
            Code.TOOL_NOT_AVAILABLE,
            f"An agent of role {role.value} has no Task tools; continue without them.",
            {"role": role.value},
        )


def require_orchestrator(actor: Actor, doing: str) -> None:
    """Refuse every agent but the Orchestrator."""
    require_task_tools(actor)
    if actor.role is not Role.ORCHESTRATOR:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            f"Only the Orchestrator may {doing}. A worker queries steps, claims one, and "
            "updates the status and result of the step its own run claimed.",
            {"role": actor.role.value},
        )


def require_sight(actor: Actor, task_id: TaskId) -> None:
    """Refuse a worker that was dispatched to another Task."""
    require_task_tools(actor)
    scope = actor.scope
    if actor.role is not _WORKER or (scope is not None and scope.task_id == task_id):
        return
    if scope is None:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            "This worker run was not dispatched to any Task, so it can see none.",
            {"task_id": task_id},
        )
    raise RefusedError(
        Code.PERMISSION_DENIED,
        f"This worker run was dispatched to Task {scope.task_id!r} and sees only that.",
        {"task_id": task_id, "allowed_task_id": scope.task_id},
    )

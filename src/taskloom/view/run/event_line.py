"""What happens, told in a line each. What a person need not know is not told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from taskloom.board import EventType
from taskloom.orchestrator import RunEvent, SessionEvent
from taskloom.view.format import one_line, plural

_RESULT_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the story; `look` is the status whose colours it has."""

    text: str
    look: str = ""


def narrate(session_event: SessionEvent) -> Told | None:
    """Tell a happening; None is nothing worth reading."""
    tell = _TOLD.get(session_event.event_type)
    return tell(session_event) if tell is not None else None


def _task_created(seen: SessionEvent) -> Told:
    task = _inner(seen.payload, "task")
    count = plural(_length(task.get("steps")), "step")
    title = one_line(str(task.get("title", "")), _RESULT_CHARS)
    return Told(f"Task {_task(seen)}: {title} ({count})")


def _task_updated(seen: SessionEvent) -> Told:
    count = _length(seen.payload.get("operations"))
    return Told(f"Task {_task(seen)}: plan changed, {plural(count, 'operation')}")


def _task_is(word: str, look: str) -> Callable[[SessionEvent], Told]:
    def tell(seen: SessionEvent) -> Told:
        return Told(f"Task {_task(seen)} {word}{_why(seen.payload)}", look)

    return tell


def _step_is(word: str, look: str, *, by: bool = False) -> Callable[[SessionEvent], Told]:
    def tell(seen: SessionEvent) -> Told:
        who = f" by {one_line(seen.agent_id or '?')}" if by else ""
        return Told(f"{_step(seen)} {word}{who}{_why(seen.payload)}", look)

    return tell


def _worker(word: str, look: str = "") -> Callable[[SessionEvent], Told]:
    def tell(seen: SessionEvent) -> Told:
        at = f", {_step(seen)}" if seen.step_id else ""
        who = one_line(seen.agent_id or "a worker")
        return Told(f"{who} {word}{at}{_why(seen.payload)}", look)

    return tell


def _child_failed(seen: SessionEvent) -> Told:
    word = "ran out of time" if seen.payload.get("outcome") == "timeout" else "failed"
    return _worker(word, "failed")(seen)


def _dispatch_failed(seen: SessionEvent) -> Told:
    return Told(f"no worker was started for Task {_task(seen)}{_why(seen.payload)}", "failed")


def _missed(seen: SessionEvent) -> Told:
    count = seen.payload.get("count", 0)
    return Told(f"({count} events came too quickly to be told; the log has them)", "cancelled")


def _why(payload: Mapping[str, Any]) -> str:
    """Say the reason and the result, whichever there are."""
    error = _inner(payload, "error").get("message")
    found = (payload.get("reason"), payload.get("result_summary"), error)
    told = [one_line(str(each), _RESULT_CHARS) for each in found if each]
    return f": {'; '.join(dict.fromkeys(told))}" if told else ""


def _inner(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = payload.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _length(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list) else 0


def _task(seen: SessionEvent) -> str:
    return one_line(seen.task_id or "?")


def _step(seen: SessionEvent) -> str:
    return one_line(seen.step_id or "?")


_E, _R = EventType, RunEvent

_TOLD: Final[Mapping[str, Callable[[SessionEvent], Told]]] = {
    _E.TASK_CREATED: _task_created,
    _E.TASK_UPDATED: _task_updated,
    _E.TASK_BLOCKED: _task_is("blocked", "blocked"),
    _E.TASK_REOPENED: _task_is("reopened", "ready"),
    _E.TASK_COMPLETED: _task_is("completed", "completed"),
    _E.TASK_FAILED: _task_is("failed", "failed"),
    _E.TASK_CANCELLED: _task_is("cancelled", "cancelled"),
    _E.STEP_CLAIMED: _step_is("claimed", "claimed", by=True),
    _E.STEP_BLOCKED: _step_is("blocked", "blocked"),
    _E.STEP_COMPLETED: _step_is("completed", "completed"),
    _E.STEP_FAILED: _step_is("failed", "failed"),
    _E.STEP_CANCELLED: _step_is("cancelled", "cancelled"),
    _E.STEP_REOPENED: _step_is("reopened", "ready"),
    _E.STEP_LEASE_EXPIRED: _step_is("came back: its lease ran out", "blocked"),
    _R.WORKER_DISPATCHED: _worker("started"),
    _R.WORKER_DISPATCH_FAILED: _dispatch_failed,
    _R.CHILD_FAILED: _child_failed,
    _R.CHILD_CANCEL_REQUESTED: _worker("is asked to stop", "cancelled"),
    _R.CHILD_CANCELLED: _worker("stopped", "cancelled"),
    _R.CHILD_CANCEL_TIMEOUT: _worker("did not stop in time and was given up", "failed"),
    _R.CHILD_SCHEMA_FAILED: _worker("gave a result that does not fit", "failed"),
    _R.WAL_FAILED: _task_is("cannot be read", "failed"),
    _R.EVENTS_MISSED: _missed,
}
"""Ready and started are left out: the claim says as much, and the board shows them."""

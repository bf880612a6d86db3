"""An event as one line: for the log, the live view and plain output.

Payloads come from any program that wrote the log, so nothing is expected of them. The table at the
end has all there is to say about each type of event.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from taskloom.board import EventType
from taskloom.view.format import join_names, one_line, plural

if TYPE_CHECKING:
    # `taskloom board log` needs no orchestrator, and starts sooner without.
    from taskloom.orchestrator import SessionEvent

Payload: TypeAlias = Mapping[str, object]
Details: TypeAlias = Callable[[Payload], str]

_TEXT_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line; `status` is the status whose colour it has."""

    text: str
    status: str = ""


def event_line(event: "SessionEvent") -> EventLine | None:
    """Return the sentence that the live view and plain output show; None to show nothing."""
    rule = _RULES.get(event.event_type)
    if rule is None or not rule.verb:
        return None
    verb = "timed out" if event.payload.get("outcome") == "timeout" else rule.verb
    parts = [_subject(rule, event), verb]
    if rule.subject == "worker" and event.step_id:
        parts.append(f"on {one_line(event.step_id)}")
    if rule.names_actor:
        parts.append(f"by {one_line(event.agent_id or '?')}")
    details = "" if rule.names_actor else rule.details(event.payload)
    sentence = " ".join(part for part in parts if part)
    return EventLine(f"{sentence}: {details}" if details else sentence, rule.status)


def event_details(event_type: str, payload: Payload) -> str:
    """Return what the columns of `board log` do not say; nothing for an unknown type."""
    rule = _RULES.get(event_type)
    return rule.details(payload) if rule is not None else ""


def _subject(rule: "_Rule", event: "SessionEvent") -> str:
    match rule.subject:
        case "task":
            return f"Task {one_line(event.task_id or '?')}"
        case "step":
            return one_line(event.step_id or "?")
        case "worker":
            return one_line(event.agent_id or "a worker")
        case "":
            return ""


# What payloads hold.


def _outcome(payload: Payload) -> str:
    """Return reason, result and error message, as far as there are any."""
    error = _text(_object(payload, "error"), "message")
    found = (_text(payload, "reason"), _text(payload, "result_summary"), error)
    return "; ".join(dict.fromkeys(text for text in found if text))


def _created(payload: Payload) -> str:
    task = _object(payload, "task")
    return f"{_text(task, 'title')} ({plural(len(_list(task, 'steps')), 'step')})"


def _updated(payload: Payload) -> str:
    line = join_names([_operation(each) for each in _list(payload, "operations")])
    late = _list(payload, "updated_after_dispatch_step_ids")
    return f"{line} (after dispatch: {join_names(list(map(str, late)))})" if late else line


def _operation(value: object) -> str:
    if not isinstance(value, Mapping):
        return "?"
    operation = cast("Payload", value)
    name = _text(operation, "op") or _text(operation, "operation") or _text(operation, "type")
    about = _text(operation, "step_id") or _text(operation, "status")
    about = _text(_object(operation, "step"), "step_id") or about
    return f"{name} {about}".strip()


def _with_steps(name: str, what: str) -> Details:
    def details(payload: Payload) -> str:
        steps = [str(each) for each in _list(payload, name)]
        listed = f"{what}: {join_names(steps)}" if steps else ""
        return "; ".join(text for text in (_outcome(payload), listed) if text)

    return details


def _ready(payload: Payload) -> str:
    depends_on = [str(each) for each in _list(payload, "depends_on_step_ids")]
    return f"after {join_names(depends_on)}" if depends_on else "no dependencies"


def _lease(payload: Payload) -> str:
    until = _text(payload, "lease_expires_at")[11:19]
    return f"lease until {until}" if until else ""


def _moved(payload: Payload) -> str:
    before, after = _text(payload, "previous_status"), _text(payload, "status")
    if before != after and before and after:
        return f"{before} → {after}"
    return _outcome(payload) or "lease renewed"


def _not_renewed(payload: Payload) -> str:
    return f"{_text(payload, 'claimed_by_agent_id') or 'its worker'} did not renew it in time"


def _skipped(payload: Payload) -> str:
    return f"{payload.get('count', 0)} came too fast; the log has them"


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return one_line(value, _TEXT_CHARS) if isinstance(value, str) else ""


def _list(payload: Payload, name: str) -> list[object]:
    value = payload.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []


def _object(payload: Payload, name: str) -> Payload:
    value = payload.get(name)
    return cast("Payload", value) if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class _Rule:
    subject: Literal["task", "step", "worker", ""]
    verb: str = ""
    """Empty for an event that the live view leaves out: the next one, or the board, says more."""
    status: str = ""
    details: Details = _outcome
    names_actor: bool = False
    """Whether the sentence says who did it, in place of the details."""


_E = EventType

_RULES: Final[Mapping[str, _Rule]] = {
    _E.TASK_CREATED: _Rule("task", "created", details=_created),
    _E.TASK_RUNNING: _Rule("task"),
    _E.TASK_UPDATED: _Rule("task", "updated", details=_updated),
    _E.TASK_BLOCKED: _Rule("task", "blocked", "blocked"),
    _E.TASK_REOPENED: _Rule("task", "reopened", "ready"),
    _E.TASK_COMPLETED: _Rule(
        "task", "completed", "completed", _with_steps("cancelled_optional_step_ids", "cancelled")
    ),
    _E.TASK_FAILED: _Rule("task", "failed", "failed", _with_steps("failed_step_ids", "failed")),
    _E.TASK_CANCELLED: _Rule(
        "task", "cancelled", "cancelled", _with_steps("cancelled_step_ids", "cancelled")
    ),
    _E.STEP_READY: _Rule("step", details=_ready),
    _E.STEP_CLAIMED: _Rule("step", "claimed", "claimed", _lease, names_actor=True),
    _E.STEP_STARTED: _Rule("step"),
    _E.STEP_UPDATED: _Rule("step", details=_moved),
    _E.STEP_BLOCKED: _Rule("step", "blocked", "blocked"),
    _E.STEP_COMPLETED: _Rule("step", "completed", "completed"),
    _E.STEP_FAILED: _Rule("step", "failed", "failed"),
    _E.STEP_CANCELLED: _Rule("step", "cancelled", "cancelled"),
    _E.STEP_REOPENED: _Rule("step", "reopened", "ready"),
    _E.STEP_LEASE_EXPIRED: _Rule("step", "lease expired", "blocked", _not_renewed),
    # Of worker runs (`RunEvent`), which are not in the log.
    "worker_dispatched": _Rule("worker", "started"),
    "worker_dispatch_failed": _Rule("task", "got no worker", "failed"),
    "child_agent_failed": _Rule("worker", "failed", "failed"),
    "child_agent_cancel_requested": _Rule("worker", "was asked to stop", "cancelled"),
    "child_agent_cancelled": _Rule("worker", "stopped", "cancelled"),
    "child_agent_cancel_timeout": _Rule("worker", "did not stop in time", "failed"),
    "child_result_schema_validation_failed": _Rule("worker", "returned a bad result", "failed"),
    "task_wal_failed": _Rule("task", "cannot be read", "failed"),
    "events_missed": _Rule("", "events not shown", "cancelled", _skipped),
}

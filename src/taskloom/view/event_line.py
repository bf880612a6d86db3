"""What an event comes to, in one line. Reads payloads of any program, so it expects nothing."""

from collections.abc import Callable, Mapping
from typing import Final, cast

from taskloom.board import EventType
from taskloom.view.format import one_line, plural, some

Payload = Mapping[str, object]

_E = EventType


def gist(event_type: str, payload: Payload) -> str:
    """Say it; an event that nobody knows has nothing to say."""
    tell = _TELL.get(event_type)
    return tell(payload) if tell is not None else ""


def _created(payload: Payload) -> str:
    task = payload.get("task")
    if not isinstance(task, Mapping):
        return ""
    inside = cast("Mapping[str, object]", task)
    return f"{_quoted(inside, 'title')}, {plural(len(_list(inside, 'steps')), 'step')}"


def _updated(payload: Payload) -> str:
    told = [_operation(each) for each in _list(payload, "operations")]
    line = some(told)
    late = _list(payload, "updated_after_dispatch_step_ids")
    return f"{line} (after dispatch: {some(list(map(str, late)))})" if late else line


def _operation(value: object) -> str:
    if not isinstance(value, Mapping):
        return "?"
    operation = cast("Mapping[str, object]", value)
    name = _text(operation, "op") or _text(operation, "operation") or _text(operation, "type")
    step = operation.get("step")
    about = _text(operation, "step_id") or _text(operation, "status")
    if isinstance(step, Mapping):
        about = _text(cast("Mapping[str, object]", step), "step_id")
    return f"{name} {about}".strip()


def _claimed(payload: Payload) -> str:
    until = _text(payload, "lease_expires_at")[11:19]
    return f"lease until {until}" if until else ""


def _expired(payload: Payload) -> str:
    return f"{_text(payload, 'claimed_by_agent_id')} was not heard of in time"


def _moved(payload: Payload) -> str:
    before, after = _text(payload, "previous_status"), _text(payload, "status")
    if before != after and before and after:
        return f"{before} → {after}"
    return _outcome(payload) or "lease renewed"


def _outcome(payload: Payload) -> str:
    reason, result = _text(payload, "reason"), _text(payload, "result_summary")
    return "; ".join(dict.fromkeys(text for text in (reason, result) if text))


def _ready(payload: Payload) -> str:
    waited = [str(each) for each in _list(payload, "depends_on_step_ids")]
    return f"after {some(waited)}" if waited else "waits for nothing"


def _ended(steps: str) -> Callable[[Payload], str]:
    def tell(payload: Payload) -> str:
        taken = [str(each) for each in _list(payload, steps)]
        with_it = f"with it: {some(taken)}" if taken else ""
        return "; ".join(text for text in (_outcome(payload), with_it) if text)

    return tell


_TELL: Final[Mapping[str, Callable[[Payload], str]]] = {
    _E.TASK_CREATED: _created,
    _E.TASK_RUNNING: _outcome,
    _E.TASK_UPDATED: _updated,
    _E.TASK_BLOCKED: _outcome,
    _E.TASK_REOPENED: _outcome,
    _E.TASK_COMPLETED: _ended("cancelled_optional_step_ids"),
    _E.TASK_FAILED: _ended("failed_step_ids"),
    _E.TASK_CANCELLED: _ended("cancelled_step_ids"),
    _E.STEP_READY: _ready,
    _E.STEP_CLAIMED: _claimed,
    _E.STEP_STARTED: lambda _: "",
    _E.STEP_UPDATED: _moved,
    _E.STEP_BLOCKED: _outcome,
    _E.STEP_COMPLETED: _outcome,
    _E.STEP_FAILED: _outcome,
    _E.STEP_CANCELLED: _outcome,
    _E.STEP_REOPENED: _outcome,
    _E.STEP_LEASE_EXPIRED: _expired,
}


def _quoted(payload: Payload, name: str) -> str:
    return f"“{_text(payload, name)}”"


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return one_line(value) if isinstance(value, str) else ""


def _list(payload: Payload, name: str) -> list[object]:
    value = payload.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []

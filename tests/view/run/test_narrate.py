"""What happens, told in a line each."""

from datetime import UTC, datetime
from typing import Any

import pytest

from taskloom.board import EventType
from taskloom.orchestrator import RunEvent, SessionEvent
from taskloom.view.run.event_line import narrate

AT = datetime(2026, 1, 1, tzinfo=UTC)


def told(event_type: str, payload: dict[str, Any] | None = None, **about: str | None) -> str | None:
    fields: dict[str, Any] = {"task_id": "t", "step_id": "s", "agent_id": "ann", **about}
    line = narrate(
        SessionEvent(event_type=event_type, session_id="s1", at=AT, payload=payload or {}, **fields)
    )
    return None if line is None else line.text


CASES: list[tuple[str, dict[str, Any], str | None]] = [
    ("task_created", {"task": {"title": "A\nB", "steps": [{}]}}, "Task t: A B (1 step)"),
    ("task_updated", {"operations": [{}, {}]}, "Task t: plan changed, 2 operations"),
    ("task_failed", {"reason": "hopeless"}, "Task t failed: hopeless"),
    ("task_step_claimed", {}, "s claimed by ann"),
    ("task_step_completed", {"result_summary": "did\x1b[1m"}, r"s completed: did\x1b[1m"),
    ("task_step_failed", {"reason": "r", "result_summary": "x"}, "s failed: r; x"),
    ("task_step_lease_expired", {}, "s came back: its lease ran out"),
    ("worker_dispatched", {"selection": "first_idle"}, "ann started, s"),
    ("child_agent_failed", {"outcome": "timeout"}, "ann ran out of time, s"),
    ("child_agent_failed", {"error": {"message": "bad"}}, "ann failed, s: bad"),
    ("child_agent_cancel_requested", {"reason": "why"}, "ann is asked to stop, s: why"),
    ("worker_dispatch_failed", {"error": {"message": "no"}},
     "no worker was started for Task t: no"),
    ("events_missed", {"count": 7},
     "(7 events came too quickly to be told; the log has them)"),
    ("task_step_ready", {}, None),
    ("something_else", {}, None),
]  # fmt: skip  # an event is a line to the eye


@pytest.mark.parametrize(("event_type", "payload", "line"), CASES)
def test_a_happening_is_told(event_type: str, payload: dict[str, Any], line: str | None) -> None:
    assert told(event_type, payload) == line


@pytest.mark.parametrize("event_type", [*map(str, EventType), *map(str, RunEvent)])
@pytest.mark.parametrize("payload", [{}, {"task": 1, "error": "x", "operations": {}, "reason": 3}])
def test_no_payload_is_too_odd(event_type: str, payload: dict[str, Any]) -> None:
    line = told(event_type, payload, task_id=None, step_id=None, agent_id=None)
    assert line is None or "\n" not in line

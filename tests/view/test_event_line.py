"""Events as one line, whichever program wrote them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.board import EventType
from taskloom.orchestrator import RunEvent, SessionEvent
from taskloom.view import event_line as lines
from taskloom.view.event_line import event_details, event_line

AT = datetime(2026, 1, 1, tzinfo=UTC)


def sentence(
    event_type: str, payload: dict[str, Any] | None = None, **about: str | None
) -> str | None:
    fields: dict[str, Any] = {"task_id": "t", "step_id": "s", "agent_id": "ann", **about}
    line = event_line(
        SessionEvent(event_type=event_type, session_id="s1", at=AT, payload=payload or {}, **fields)
    )
    return None if line is None else line.text


CASES: list[tuple[str, dict[str, Any], str | None, str]] = [
    # The type, the payload, the sentence of the live view, the last column of `board log`.
    ("task_created", {"task": {"title": "A\nB", "steps": [{}]}},
     "Task t created: A B (1 step)", "A B (1 step)"),
    ("task_running", {"reason": "ready_step_available"}, None, "ready_step_available"),
    ("task_updated",
     {"operations": [{"op": "add_step", "step": {"step_id": "n"}},
                     {"op": "update_step", "step_id": "a"},
                     {"op": "update_task", "status": "blocked"}],
      "updated_after_dispatch_step_ids": ["a"]},
     "Task t updated: add_step n, update_step a, update_task blocked (after dispatch: a)",
     "add_step n, update_step a, update_task blocked (after dispatch: a)"),
    ("task_completed", {"result_summary": "ok"}, "Task t completed: ok", "ok"),
    ("task_failed", {"reason": "no", "failed_step_ids": ["a", "b"]},
     "Task t failed: no; failed: a, b", "no; failed: a, b"),
    ("task_step_ready", {"depends_on_step_ids": ["a", "b"]}, None, "after a, b"),
    ("task_step_ready", {}, None, "no dependencies"),
    ("task_step_claimed", {"lease_expires_at": "2026-01-01T10:20:30Z"},
     "s claimed by ann", "lease until 10:20:30"),
    ("task_step_updated", {"previous_status": "ready", "status": "pending"},
     None, "ready → pending"),
    ("task_step_updated", {"previous_status": "running", "status": "running"},
     None, "lease renewed"),
    ("task_step_blocked", {"reason": "no\nkey", "result_summary": "half"},
     "s blocked: no key; half", "no key; half"),
    ("task_step_completed", {"result_summary": "did\x1b[1m"},
     r"s completed: did\x1b[1m", r"did\x1b[1m"),
    ("task_step_failed", {"reason": "r", "result_summary": "r"}, "s failed: r", "r"),
    ("task_step_lease_expired", {"claimed_by_agent_id": "bob"},
     "s lease expired: bob did not renew it in time", "bob did not renew it in time"),
    ("worker_dispatched", {"selection": "first_idle"}, "ann started on s", ""),
    ("child_agent_failed", {"outcome": "timeout"}, "ann timed out on s", ""),
    ("child_agent_failed", {"error": {"message": "bad"}}, "ann failed on s: bad", "bad"),
    ("child_agent_cancel_requested", {"reason": "why"}, "ann was asked to stop on s: why", "why"),
    ("worker_dispatch_failed", {"error": {"message": "no"}}, "Task t got no worker: no", "no"),
    ("events_missed", {"count": 7},
     "events not shown: 7 came too fast; the log has them", "7 came too fast; the log has them"),
    ("something_else", {"reason": "r"}, None, ""),
]  # fmt: skip  # one event is one row


@pytest.mark.parametrize(("event_type", "payload", "live", "details"), CASES)
def test_an_event_is_one_line(
    event_type: str, payload: dict[str, Any], live: str | None, details: str
) -> None:
    assert sentence(event_type, payload) == live
    assert event_details(event_type, payload) == details


def test_every_type_of_the_log_has_a_rule_and_every_rule_a_type() -> None:
    rules = set(lines._RULES)  # pyright: ignore[reportPrivateUsage]  # the table is what is tested
    assert set(EventType) <= rules
    assert rules <= {*EventType, *RunEvent}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
_NAMES = (
    *("task", "steps", "operations", "reason", "result_summary", "status", "step_id", "title"),
    *("error", "count", "outcome"),
)


@given(st.sampled_from([*EventType, *RunEvent]), st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_any_payload_becomes_one_line(event_type: str, payload: dict[str, object]) -> None:
    assert "\n" not in event_details(event_type, payload)
    assert "\n" not in (
        sentence(event_type, payload, task_id=None, step_id=None, agent_id=None) or ""
    )

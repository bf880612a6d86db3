"""Events in one line, whoever wrote them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.board import EventType
from taskloom.view.event_line import gist

TOLD: list[tuple[str, dict[str, object], str]] = [
    ("task_created", {"task": {"title": "T", "steps": [{}, {}]}}, "“T”, 2 steps"),
    ("task_running", {"reason": "ready_step_available"}, "ready_step_available"),
    (
        "task_updated",
        {
            "operations": [
                {"op": "add_step", "step": {"step_id": "n"}},
                {"op": "update_step", "step_id": "a"},
                {"op": "update_task", "status": "blocked"},
            ],
            "updated_after_dispatch_step_ids": ["a"],
        },
        "add_step n, update_step a, update_task blocked (after dispatch: a)",
    ),
    ("task_completed", {"result_summary": "ok"}, "ok"),
    ("task_failed", {"reason": "no", "failed_step_ids": ["a", "b"]}, "no; with it: a, b"),
    ("task_step_ready", {"depends_on_step_ids": ["a", "b"]}, "after a, b"),
    ("task_step_ready", {}, "waits for nothing"),
    ("task_step_claimed", {"lease_expires_at": "2026-01-01T10:20:30Z"}, "lease until 10:20:30"),
    ("task_step_updated", {"previous_status": "ready", "status": "pending"}, "ready → pending"),
    ("task_step_updated", {"previous_status": "running", "status": "running"}, "lease renewed"),
    ("task_step_blocked", {"reason": "no\nkey", "result_summary": "half"}, "no key; half"),
    ("task_step_lease_expired", {"claimed_by_agent_id": "w"}, "w was not heard of in time"),
    ("task_danced", {"reason": "joy"}, ""),
]


@pytest.mark.parametrize(("event", "payload", "told"), TOLD)
def test_an_event_is_told_in_one_line(event: str, payload: dict[str, object], told: str) -> None:
    assert gist(event, payload) == told


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
_NAMES = ("task", "steps", "operations", "reason", "result_summary", "status", "step_id", "title")


@given(st.sampled_from(EventType), st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_no_payload_is_too_strange_to_tell(event: EventType, payload: dict[str, object]) -> None:
    assert "\n" not in gist(event, payload)

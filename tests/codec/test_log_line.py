"""Lines with plain payloads: whatever program wrote them."""

from datetime import UTC, datetime

import pytest

from taskloom.codec import decode_lines, read_event_header
from taskloom.errors import DamagedLogError

LINE = (
    b'{"wal_seq":%d,"event_type":"%s","task_id":"t","payload":%s,'
    b'"created_at":"2026-01-02T03:04:05Z"}\n'
)


def line(seq: int = 1, kind: bytes = b"task_created", payload: bytes = b"{}") -> bytes:
    return LINE % (seq, kind, payload)


def test_a_line_keeps_a_payload_and_a_type_that_no_version_knows() -> None:
    (found,) = decode_lines(line(5, b"task_danced", b'{"steps":[1]}'), after=4)
    assert (found.wal_seq, found.event_type, found.payload) == (5, "task_danced", {"steps": [1]})
    assert found.created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (found.step_id, found.actor_agent_id) == (None, None)


@pytest.mark.parametrize("bad", [line(2)[:-10] + b"\n", line(2, payload=b"[]"), b"\n", line(3)])
def test_a_line_that_does_not_parse_or_has_another_number_is_reported(bad: bytes) -> None:
    lines = decode_lines(line(1) + bad, after=0)
    assert next(lines).wal_seq == 1
    with pytest.raises(DamagedLogError) as caught:
        next(lines)
    assert caught.value.line == 2


def test_a_header_needs_no_payload() -> None:
    header = read_event_header(line(7).replace(b'"payload":{},', b""))
    assert header is not None
    assert (header.wal_seq, header.task_id) == (7, "t")
    assert read_event_header(line()[:-20]) is None

"""Torn writes and damage, told apart on bytes alone; tests/crash does it for whole logs."""

import msgspec
import pytest

from taskloom.codec import (
    Chain,
    CommittedPrefix,
    chained,
    find_committed_prefix,
    find_synced_prefix,
    read_header,
)
from taskloom.codec.torn_tail import SECTOR_BYTES
from taskloom.errors import DamagedLogError


class Line(msgspec.Struct):
    wal_seq: int
    text: str
    tx: tuple[int, int, int]


def write(*sizes: int, text: str = "x") -> list[bytes]:
    """Return the lines of transactions of these sizes, each appended by a write of its own."""
    chain, seq = Chain(), 0
    lines: list[bytes] = []
    for size in sizes:
        base = seq
        for number in range(1, size + 1):
            seq += 1
            out = bytearray()
            chain.append(out, Line(seq, text, (number, size, base)))
            lines.append(bytes(out))
    return lines


def find(data: bytes) -> CommittedPrefix:
    return find_committed_prefix(data, after=0, crc=0, offset=0)


LINES = write(1, 3, 2)
WHOLE = b"".join(LINES)


def test_a_whole_file_is_committed_to_its_end() -> None:
    assert find(WHOLE) == CommittedPrefix(len(WHOLE), 6, chained(WHOLE, 0), 0)
    assert find_synced_prefix(WHOLE, after=0, crc=0) == find(WHOLE)


def test_an_empty_file_has_nothing() -> None:
    assert find(b"") == CommittedPrefix(0, 0, 0, 0)
    assert find_synced_prefix(b"", after=0, crc=0) is None


@pytest.mark.parametrize(("kept", "committed"), [(2, 1), (3, 1), (4, 4), (5, 4)])
def test_lines_of_an_unfinished_transaction_are_torn(kept: int, committed: int) -> None:
    data, size = b"".join(LINES[:kept]), len(b"".join(LINES[:committed]))
    assert find(data) == CommittedPrefix(size, committed, chained(data[:size], 0), len(data) - size)


def test_a_cut_inside_a_line_tears_its_transaction() -> None:
    size = len(b"".join(LINES[:4]))
    for cut in range(size + 1, len(WHOLE)):
        prefix = find(WHOLE[:cut])
        assert (prefix.seq, prefix.size_bytes, prefix.torn_bytes) == (4, size, cut - size)


def test_a_later_part_of_a_file_is_read_like_the_whole() -> None:
    start = len(LINES[0])
    part = find_committed_prefix(WHOLE[start:], after=1, crc=chained(LINES[0], 0), offset=start)
    assert (part.seq, part.crc) == (6, chained(WHOLE, 0))


def test_a_changed_line_with_later_transactions_behind_it_is_damage() -> None:
    data = WHOLE.replace(b'"wal_seq":2,"text":"x"', b'"wal_seq":2,"text":"y"')
    with pytest.raises(DamagedLogError, match="later lines say that it was once durable") as caught:
        find(data)
    assert caught.value.line == 2


def test_a_changed_line_at_the_end_is_damage_too() -> None:
    data = WHOLE.replace(b'"wal_seq":6,"text":"x"', b'"wal_seq":6,"text":"y"')
    with pytest.raises(DamagedLogError, match="line 6: wrong checksum"):
        find(data)


def test_a_newline_that_became_another_byte_is_damage() -> None:
    with pytest.raises(DamagedLogError, match="does not end in a newline"):
        find(WHOLE[:-1] + b"\x0b")
    # A newline that was never written is missing, or reads as zero.
    assert find(WHOLE[:-1]).seq == 4
    assert find(WHOLE[:-1] + b"\0").seq == 4


def test_text_behind_the_lines_is_damage() -> None:
    with pytest.raises(DamagedLogError, match="not the start of a line") as caught:
        find(WHOLE + b"hello")
    assert caught.value.line == 7


def test_a_sector_of_zeros_in_the_last_write_is_torn_and_in_an_earlier_one_damage() -> None:
    lines = write(1, 1, 1, text="x" * 3 * SECTOR_BYTES)
    data = b"".join(lines)

    def without_sector(number: int) -> bytes:
        start = len(b"".join(lines[:number]))
        at = (start // SECTOR_BYTES + 1) * SECTOR_BYTES
        return data[:at] + b"\0" * SECTOR_BYTES + data[at + SECTOR_BYTES :]

    assert find(without_sector(2)).seq == 2
    with pytest.raises(DamagedLogError) as caught:
        find(without_sector(1))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("tx", "cause"),
    [
        ((0, 1, 0), "impossible"),
        ((2, 1, 0), "impossible"),
        ((1, 1, 5), "impossible"),
        ((2, 2, 0), "impossible"),
        (None, "no tx field"),
    ],
)
def test_a_valid_checksum_does_not_excuse_an_impossible_transaction(
    tx: tuple[int, int, int] | None, cause: str
) -> None:
    body = {"wal_seq": 1, "text": "x"} | ({} if tx is None else {"tx": tx})
    with pytest.raises(DamagedLogError, match=cause):
        find(Chain().line(msgspec.json.encode(body)))


def test_a_line_with_the_wrong_number_is_damage() -> None:
    chain = Chain()
    out = bytearray()
    for seq in (1, 3):
        chain.append(out, Line(seq, "x", (1, 1, 0)))
    with pytest.raises(DamagedLogError, match="line 2 is numbered 3"):
        find(bytes(out) + b"{}\n")


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"wal_seq":"1"}', b"\xff", b'{"wal_seq":1.5}']
)
def test_a_line_that_does_not_parse_has_no_header(line: bytes) -> None:
    assert read_header(line) is None

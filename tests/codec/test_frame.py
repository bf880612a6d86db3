"""The frame: chained checksums of lines, on bytes alone."""

import json
from zlib import crc32

import msgspec
import pytest

from taskloom.codec import Chain, chained, checksum_matches, crc_after, is_framed


class Line(msgspec.Struct):
    wal_seq: int
    text: str
    tx: tuple[int, int, int]


def lines(*texts: str) -> list[bytes]:
    chain = Chain()
    return [
        chain.line(b'{"wal_seq":%d,"text":%s}' % (seq, json.dumps(text).encode()))
        for seq, text in enumerate(texts, 1)
    ]


def test_the_checksum_covers_every_byte_of_the_file_before_its_own_field() -> None:
    first, second = lines("a", "b")
    for line, before in ((first, b""), (second, first)):
        body = line[: line.rindex(b',"crc"')]
        assert json.loads(line)["crc"] == f"{crc32(before + body):08x}"


def test_encoding_a_struct_and_ending_a_json_object_give_the_same_line() -> None:
    chain, other = Chain(7), Chain(7)
    out = bytearray()
    for line in (Line(1, "a", (1, 2, 0)), Line(2, "ä☃", (2, 2, 0))):
        chain.append(out, line)
    again = [
        other.line(msgspec.json.encode(line))
        for line in (Line(1, "a", (1, 2, 0)), Line(2, "ä☃", (2, 2, 0)))
    ]
    assert bytes(out) == b"".join(again)
    assert chain.crc == other.crc


def test_one_checksum_verifies_all_lines_before_it() -> None:
    data = b"".join(lines("a", "b", "c"))
    assert checksum_matches(data, 0)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1
        assert not checksum_matches(bytes(changed), 0)


def test_a_line_that_is_missing_or_moved_is_found() -> None:
    a, b, c = lines("a", "b", "c")
    assert not checksum_matches(a + c, 0)
    assert not checksum_matches(a + c + b, 0)
    assert not checksum_matches(b, 0)
    assert checksum_matches(b + c, chained(a, 0))


def test_the_checksum_of_a_file_follows_from_its_last_line() -> None:
    a, b = lines("a", "b")
    assert crc_after(a) == chained(a, 0)
    assert crc_after(b) == chained(a + b, 0)


@pytest.mark.parametrize(
    "line", [b"", b"{}\n", b'{"crc":"00000000"}', b'{"a":1,"crc":"0000000"}\n', b"\0" * 40]
)
def test_a_line_without_a_checksum_is_not_framed(line: bytes) -> None:
    assert not is_framed(line)
    assert not checksum_matches(line, 0)
    assert crc_after(line) is None


def test_a_checksum_is_lower_case_hexadecimal() -> None:
    (line,) = lines("a")
    upper = line[:-11] + line[-11:-3].upper() + line[-3:]
    assert upper != line
    assert not checksum_matches(upper, 0)
    assert crc_after(line[:-11] + b"zzzzzzzz" + line[-3:]) is None

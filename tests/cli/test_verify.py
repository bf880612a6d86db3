"""`taskloom board verify`: which logs can be trusted, and where one cannot."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run_taskloom import taskloom, taskloom_in_terminal
from tests.view.sample_boards import SampleBoard, diamond, reference_wal, step

Spoil = Callable[[bytes], bytes]


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    made = SampleBoard(tmp_path)
    diamond(made)
    made.create("other", [step("a")])
    return made


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def test_intact_logs_are_ok(sample: SampleBoard) -> None:
    ended = taskloom("board", "verify", cwd=sample.project)
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[:2] for line in ended.out.splitlines()[1:]] == [
        ["ok", "other"],
        ["ok", "diamond"],
    ]
    found = taskloom("board", "verify", "diamond", "--json", cwd=sample.project).json()
    wal = sample.wal("diamond")
    assert found == {
        "ok": True,
        "wals": [
            {
                "wal_path": str(wal),
                "health": "ok",
                "task_id": "diamond",
                "status": "running",
                "lines": 11,
                "size_bytes": wal.stat().st_size,
                "reference_log": False,
                "torn_bytes": 0,
                "line": None,
                "cause": None,
            }
        ],
    }


@pytest.mark.spec("TB-114")
def test_a_torn_tail_is_a_warning_and_stays_where_it_is(sample: SampleBoard) -> None:
    wal = sample.wal("diamond")
    whole = wal.read_bytes()
    wal.write_bytes(whole[:-5])
    ended = taskloom("board", "verify", cwd=sample.project)
    assert ended.code == 0
    assert f"torn: {wal}: intact up to line 10;" in ended.out
    assert wal.read_bytes() == whole[:-5]
    shown = taskloom("board", "show", "diamond", cwd=sample.project)
    assert shown.code == 0
    assert "unfinished write follow line 10" in shown.err
    seen = taskloom("board", "show", "diamond", "--json", cwd=sample.project).json()
    assert seen["torn_bytes"] > 0


@pytest.mark.spec("TB-114")
def test_an_unfinished_creation_is_no_damage(sample: SampleBoard) -> None:
    wal = sample.wal("diamond")
    wal.write_bytes(wal.read_bytes()[:100])
    found = taskloom("board", "verify", wal, "--json", cwd=sample.project)
    assert found.code == 0
    assert (found.json()["wals"][0]["health"], found.json()["wals"][0]["lines"]) == ("torn", 0)


def flip(data: bytes) -> bytes:
    spoilt = bytearray(data)
    spoilt[data.index(b"fetched")] ^= 1
    return bytes(spoilt)


def drop(data: bytes) -> bytes:
    kept = lines(data)
    del kept[3]
    return b"".join(kept)


def repeat(data: bytes) -> bytes:
    kept = lines(data)
    return b"".join([*kept[:4], kept[3], *kept[4:]])


def replace(data: bytes) -> bytes:
    return b"".join([*lines(data)[:3], b"not json\n", *lines(data)[4:]])


@pytest.mark.spec("TB-115")
@pytest.mark.parametrize("spoil", [flip, drop, repeat, replace])
def test_damage_is_found_with_path_line_and_cause(sample: SampleBoard, spoil: Spoil) -> None:
    wal = sample.wal("diamond")
    spoilt = spoil(wal.read_bytes())
    wal.write_bytes(spoilt)
    found = taskloom("board", "verify", "--json", cwd=sample.project)
    assert found.code == 1
    assert found.json()["ok"] is False
    by_name = {Path(each["wal_path"]).name: each for each in found.json()["wals"]}
    assert by_name["other.wal.jsonl"]["health"] == "ok"
    bad = by_name["diamond.wal.jsonl"]
    assert (bad["health"], bad["line"]) == ("damaged", 5 if spoil is repeat else 4)
    assert bad["cause"]
    printed = taskloom("board", "verify", cwd=sample.project)
    assert printed.code == 1
    assert f"damaged: {wal}, line {bad['line']}: " in printed.out
    assert wal.read_bytes() == spoilt


@pytest.mark.spec("TB-122")
def test_a_reference_log_is_ok_and_named_as_one(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    ended = taskloom("board", "verify", path, cwd=tmp_path)
    assert ended.code == 0
    assert "reference log" in ended.out
    path.write_bytes(b"".join([*lines(path.read_bytes())[:3], *lines(path.read_bytes())[4:]]))
    found = taskloom("board", "verify", path, "--json", cwd=tmp_path)
    assert found.code == 1
    assert found.json()["wals"][0]["line"] == 4


def test_a_missing_file_is_a_usage_error_and_an_unreadable_one_a_failure(
    sample: SampleBoard,
) -> None:
    gone = sample.project / "gone.wal.jsonl"
    missing = taskloom("board", "verify", gone, cwd=sample.project)
    assert missing.code == 2
    assert "there is no such file" in missing.out
    folder = sample.project / "folder.wal.jsonl"
    folder.mkdir()
    unreadable = taskloom("board", "verify", folder, gone, "--json", cwd=sample.project)
    assert unreadable.code == 1
    assert [each["health"] for each in unreadable.json()["wals"]] == ["unreadable", "missing"]
    shown = taskloom("board", "show", folder, cwd=sample.project)
    assert shown.code == 1
    assert "could not be read: Is a directory" in shown.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_without_read_permission_is_a_failure(sample: SampleBoard) -> None:
    sample.wal("diamond").chmod(0)
    found = taskloom("board", "verify", "--json", cwd=sample.project)
    assert found.code == 1
    assert {each["health"] for each in found.json()["wals"]} == {"ok", "unreadable"}


def test_a_read_only_copy_can_be_checked(sample: SampleBoard, tmp_path: Path) -> None:
    copy = tmp_path / "copy.wal.jsonl"
    shutil.copy(sample.wal("diamond"), copy)
    copy.chmod(0o444)
    assert taskloom("board", "verify", copy, cwd=tmp_path).code == 0


def test_a_terminal_shows_a_progress_bar_and_then_the_same_table(sample: SampleBoard) -> None:
    ended = taskloom_in_terminal("board", "verify", cwd=sample.project)
    assert ended.code == 0
    assert "checking" in ended.out
    assert "diamond.wal.jsonl" in ended.out

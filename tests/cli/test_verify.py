"""`taskloom board verify`: which logs can be trusted, and where one cannot."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import taskloom, taskloom_in_terminal
from tests.view.boards import Stage, diamond, reference_wal, step

Spoil = Callable[[bytes], bytes]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    diamond(made)
    made.create("other", [step("a")])
    return made


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def test_sound_logs_are_fine(stage: Stage) -> None:
    ended = taskloom("board", "verify", cwd=stage.project)
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[:2] for line in ended.out.splitlines()[1:]] == [
        ["ok", "other"],
        ["ok", "diamond"],
    ]
    found = taskloom("board", "verify", "diamond", "--json", cwd=stage.project).json()
    wal = stage.wal("diamond")
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
def test_a_torn_tail_is_a_warning_and_stays_where_it_is(stage: Stage) -> None:
    wal = stage.wal("diamond")
    whole = wal.read_bytes()
    wal.write_bytes(whole[:-5])
    ended = taskloom("board", "verify", cwd=stage.project)
    assert ended.code == 0
    assert f"torn: {wal}: whole up to line 10;" in ended.out
    assert wal.read_bytes() == whole[:-5]
    shown = taskloom("board", "show", "diamond", cwd=stage.project)
    assert shown.code == 0
    assert "unfinished write follow line 10" in shown.err
    seen = taskloom("board", "show", "diamond", "--json", cwd=stage.project).json()
    assert seen["torn_bytes"] > 0


@pytest.mark.spec("TB-114")
def test_a_creation_cut_short_is_no_damage(stage: Stage) -> None:
    wal = stage.wal("diamond")
    wal.write_bytes(wal.read_bytes()[:100])
    found = taskloom("board", "verify", wal, "--json", cwd=stage.project)
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
def test_damage_is_found_with_path_line_and_cause(stage: Stage, spoil: Spoil) -> None:
    wal = stage.wal("diamond")
    spoilt = spoil(wal.read_bytes())
    wal.write_bytes(spoilt)
    found = taskloom("board", "verify", "--json", cwd=stage.project)
    assert found.code == 1
    assert found.json()["ok"] is False
    by_name = {Path(each["wal_path"]).name: each for each in found.json()["wals"]}
    assert by_name["other.wal.jsonl"]["health"] == "ok"
    bad = by_name["diamond.wal.jsonl"]
    assert (bad["health"], bad["line"]) == ("damaged", 5 if spoil is repeat else 4)
    assert bad["cause"]
    told = taskloom("board", "verify", cwd=stage.project)
    assert told.code == 1
    assert f"damaged: {wal}, line {bad['line']}: " in told.out
    assert wal.read_bytes() == spoilt


@pytest.mark.spec("TB-122")
def test_a_reference_log_is_fine_and_named_as_one(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    ended = taskloom("board", "verify", path, cwd=tmp_path)
    assert ended.code == 0
    assert "reference log" in ended.out
    path.write_bytes(b"".join([*lines(path.read_bytes())[:3], *lines(path.read_bytes())[4:]]))
    found = taskloom("board", "verify", path, "--json", cwd=tmp_path)
    assert found.code == 1
    assert found.json()["wals"][0]["line"] == 4


def test_a_missing_file_is_a_wrong_question_and_an_unreadable_one_is_trouble(
    stage: Stage,
) -> None:
    gone = stage.project / "gone.wal.jsonl"
    missing = taskloom("board", "verify", gone, cwd=stage.project)
    assert missing.code == 2
    assert "there is no such file" in missing.out
    folder = stage.project / "folder.wal.jsonl"
    folder.mkdir()
    unreadable = taskloom("board", "verify", folder, gone, "--json", cwd=stage.project)
    assert unreadable.code == 1
    assert [each["health"] for each in unreadable.json()["wals"]] == ["unreadable", "missing"]
    shown = taskloom("board", "show", folder, cwd=stage.project)
    assert shown.code == 1
    assert "could not be read: Is a directory" in shown.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_that_may_not_be_read_is_trouble(stage: Stage) -> None:
    stage.wal("diamond").chmod(0)
    found = taskloom("board", "verify", "--json", cwd=stage.project)
    assert found.code == 1
    assert {each["health"] for each in found.json()["wals"]} == {"ok", "unreadable"}


def test_a_read_only_copy_can_be_checked(stage: Stage, tmp_path: Path) -> None:
    copy = tmp_path / "copy.wal.jsonl"
    shutil.copy(stage.wal("diamond"), copy)
    copy.chmod(0o444)
    assert taskloom("board", "verify", copy, cwd=tmp_path).code == 0


def test_a_terminal_sees_a_bar_and_then_the_same_table(stage: Stage) -> None:
    ended = taskloom_in_terminal("board", "verify", cwd=stage.project)
    assert ended.code == 0
    assert "checking" in ended.out
    assert "diamond.wal.jsonl" in ended.out

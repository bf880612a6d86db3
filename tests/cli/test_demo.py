"""`taskloom demo`: it plays, replays, compares and says so."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import (
    COMMAND,
    TIMEOUT_S,
    surroundings,
    taskloom,
    taskloom_in_terminal,
)

pytestmark = pytest.mark.slow


@pytest.mark.spec("TB-116", "TB-702", "TB-704")
def test_the_dead_workers_step_is_finished_by_another_and_the_replay_is_equal(
    tmp_path: Path,
) -> None:
    ended = taskloom("demo", "--json", "--keep", tmp_path / "kept", cwd=tmp_path)
    assert ended.code == 0
    *events, verdict = ended.json_lines()
    assert [event["wal_seq"] for event in events] == list(range(1, len(events) + 1))
    fatal = [event for event in events if event["step_id"] == "server"]
    claims = [e["actor_agent_id"] for e in fatal if e["event_type"] == "task_step_claimed"]
    assert len(claims) == 2
    assert claims[0] != claims[1]
    assert fatal[-1]["event_type"] == "task_step_completed"
    assert fatal[-1]["actor_agent_id"] == claims[1]
    assert any(event["event_type"] == "task_step_lease_expired" for event in fatal)
    assert events[-1]["event_type"] == "task_completed"
    assert verdict["demo"]["equal"] is True
    assert verdict["demo"]["moments"] > 1
    wal = tmp_path / "kept" / ".taskloom" / "tasks" / "demo" / "release.wal.jsonl"
    assert verdict["demo"]["wal_path"] == str(wal)
    told = taskloom("board", "log", "release", "--json", cwd=tmp_path / "kept").json_lines()
    assert told == events


def test_piped_it_is_plain_lines_and_the_commands_it_names_work(tmp_path: Path) -> None:
    ended = taskloom("demo", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "dies in the middle of server" in ended.out
    assert "the board equals the live one" in ended.out
    named = re.findall(r"taskloom (board .*)", ended.out)
    assert len(named) == 5
    for words in named:
        assert taskloom(*words.split(), cwd=tmp_path).code == 0


def test_in_a_terminal_the_board_is_drawn_live(tmp_path: Path) -> None:
    ended = taskloom_in_terminal("demo", "--keep", tmp_path / "kept", cwd=tmp_path)
    assert ended.code == 0
    assert ended.out.count("Ship the release") > 5
    assert "\x1b[1A" in ended.out
    words = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", ended.out)
    assert "dies in the middle of server" in words
    assert "The lease on server ran out: it is ready again." in words
    assert "12 completed" in words


def test_a_second_demo_in_the_same_place_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / ".taskloom" / "tasks" / "demo").mkdir(parents=True)
    ended = taskloom("demo", "--keep", ".", cwd=tmp_path)
    assert ended.code == 2
    assert "holds a demo already" in ended.err


def test_a_reader_that_leaves_early_ends_it_quietly(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "demo", "--keep", "kept"],
        cwd=tmp_path,
        env=surroundings(PYTHONUNBUFFERED="1"),
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")

"""Sessions on disk: created whole or not at all, found, listed, and read from old files."""

import json
import resource
from pathlib import Path

import pytest

from taskloom.errors import Code, RefusedError, StorageError
from taskloom.session import SessionIndex, SessionStore


def test_a_session_that_could_not_be_written_can_be_created_again(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(StorageError, match="Cannot write session to"):
            store.create("s1", goal="Tidy up")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.list() == []
    session = store.create("s1", goal="Tidy up")
    assert store.open("s1").info.goal == "Tidy up"
    assert sorted(path.name for path in session.root.iterdir()) == ["runs", "session.json", "turns"]


def test_a_session_that_exists_is_not_created_again(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.create("s1", goal="Tidy up")
    with pytest.raises(RefusedError, match="--resume s1") as refused:
        store.create("s1", goal="Something else")
    assert refused.value.code is Code.PATH_CONFLICT
    assert store.open("s1").info.goal == "Tidy up"
    assert store.open_or_create("s1", goal="Something else").info.goal == "Tidy up"


@pytest.mark.parametrize("session_id", ["../x", ".hidden", "a/b", "a\n", "x" * 129, "ü"])
def test_an_id_that_cannot_name_a_directory_is_refused(tmp_path: Path, session_id: str) -> None:
    store = SessionStore(tmp_path)
    for call in (store.create, store.open, store.open_or_create):
        with pytest.raises(RefusedError, match="not a session id"):
            call(session_id)
    assert store.find(session_id) is None
    assert list(tmp_path.iterdir()) == []


OLD_RUN = {
    "session_id": "old-run",
    "goal": "Make the tests pass",
    "created_at": "2026-01-02T03:04:05.678901Z",
    "kind": "run",
    "version": 1,
}
OLD_ACP = {
    "session_id": "s_0123456789abcdef",
    "cwd": "/somewhere/else",
    "additional_directories": ["/data"],
    "goal": "Explain this",
    "mode": "plan",
    "kind": "acp",
    "show_board": True,
    "created_at": "2026-01-02T03:04:05.678Z",
    "updated_at": "2026-02-02T03:04:05.678Z",
    "version": 1,
}


def test_session_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    for old in (OLD_RUN, OLD_ACP):
        file = tmp_path / ".taskloom" / "sessions" / str(old["session_id"]) / "session.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(old))
    store = SessionStore(tmp_path)
    acp, run = (session.info for session in store.list())
    assert (run.session_id, run.goal, run.kind) == ("old-run", "Make the tests pass", "run")
    assert (acp.session_id, acp.goal, acp.kind) == ("s_0123456789abcdef", "Explain this", "acp")
    assert (acp.mode, acp.show_board, acp.cwd) == ("plan", True, str(tmp_path))
    assert acp.additional_directories == ("/data",)
    assert acp.created_at < acp.last_used
    session = store.open("old-run")
    session.update(mode="ask")
    assert store.open("old-run").info.mode == "ask"
    assert store.list()[0].session_id == "old-run"


def test_a_file_that_cannot_be_read_is_reported_and_hides_no_other(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.create("good")
    bad = store.create("bad")
    (bad.root / "session.json").write_bytes(b'{"session_id": 5}')
    assert [session.session_id for session in store.list()] == ["good"]
    assert store.find("bad") is None
    with pytest.raises(StorageError, match=r"Cannot read .*bad/session.json"):
        store.open("bad")


def test_a_session_is_in_its_own_project(tmp_path: Path) -> None:
    here, there = SessionStore(tmp_path / "here"), SessionStore(tmp_path / "there")
    session = here.create("s1")
    there.create("other")
    link = tmp_path / "there" / ".taskloom" / "sessions" / "linked"
    link.symlink_to(session.root)
    assert [one.session_id for one in there.list()] == ["other"]
    with pytest.raises(RefusedError, match="no session 'linked'"):
        there.open("linked")


def test_the_index_finds_sessions_of_all_projects(tmp_path: Path) -> None:
    index = SessionIndex(tmp_path / "index")
    one, two = index.store(str(tmp_path / "one")), index.store(str(tmp_path / "two"))
    first, second = one.create("first"), two.create("second")
    index.add(first)
    index.add(second)
    by_run = two.create("not-in-the-index")
    by_run.update()
    assert [session.session_id for session in index.list()] == [
        *("not-in-the-index", "second", "first"),
    ]
    found = index.find("first")
    assert found is not None
    assert found.root == first.root
    first.delete()
    index.remove("first")
    assert index.find("first") is None
    assert not first.root.exists()


def test_the_id_of_a_turn_follows_those_that_have_begun(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).create("s1")
    assert session.turns() == []
    first = session.next_turn()
    first.write_bytes(b'{"cut": "short')
    assert session.turns() == []
    assert session.next_turn() == first
    first.write_bytes(b"{}\n")
    assert session.turns() == [first]
    assert session.next_turn().name == "0002.jsonl"

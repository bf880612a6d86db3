"""What a session keeps on disk: there whole, or to be made again."""

import resource
from pathlib import Path

import pytest

from taskloom.app.session_store import SessionFiles, list_sessions
from taskloom.errors import Code, RefusedError, StorageError


def test_a_session_that_could_not_be_written_down_can_be_made_again(tmp_path: Path) -> None:
    files = SessionFiles(tmp_path, "s1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(StorageError, match="cannot be kept"):
            files.create("Tidy up")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list_sessions(tmp_path) == []
    files.create("Tidy up")
    assert files.about().goal == "Tidy up"
    assert sorted(path.name for path in files.root.iterdir()) == ["runs", "session.json", "turns"]


def test_a_session_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    files = SessionFiles(tmp_path, "s1")
    files.create("Tidy up")
    with pytest.raises(RefusedError, match="--resume s1") as refused:
        files.create("Something else")
    assert refused.value.code is Code.PATH_CONFLICT
    assert files.about().goal == "Tidy up"

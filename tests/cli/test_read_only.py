"""Looking changes nothing: not a byte, not a lease, not a torn tail, whoever holds the board."""

import hashlib
import os
from pathlib import Path

import pytest

from taskloom.cli.main import main
from tests.cli.program import taskloom
from tests.view.boards import Stage, diamond, step

LOOKS = [
    ("list", "--all"),
    ("show", "diamond"),
    ("log", "diamond"),
    ("replay", "diamond", "--at", "5"),
    ("diff", "diamond", "2", "9"),
    ("verify",),
]


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below a folder: its content, and when it was written."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A board with a lease long over, a torn tail and a damaged log."""
    made = Stage(tmp_path)
    diamond(made)
    for name in ("torn", "bad"):
        made.create(name, [step("a")])
    torn, bad = made.wal("torn"), made.wal("bad")
    torn.write_bytes(torn.read_bytes() + b'{"wal_seq":4,')
    bad.write_bytes(bad.read_bytes().replace(b"Do a", b"Do b", 1))
    return made


@pytest.mark.spec("TB-123", "TB-115")
@pytest.mark.parametrize("words", LOOKS, ids=lambda words: words[0])
def test_a_look_changes_no_byte(stage: Stage, words: tuple[str, ...]) -> None:
    before = fingerprint(stage.project)
    for look in (words, (*words, "--json")):
        assert taskloom("board", *look, cwd=stage.project).code == (words[0] == "verify")
    assert fingerprint(stage.project) == before


def test_a_look_at_a_board_that_somebody_holds_changes_nothing_either(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with stage.board:
        diamond(stage)
        before = fingerprint(tmp_path)
        for words in LOOKS:
            assert taskloom("board", *words, cwd=tmp_path).code == 0
        assert fingerprint(tmp_path) == before


def test_a_directory_that_may_not_be_written_can_be_looked_at(stage: Stage) -> None:
    for path in stage.directory.iterdir():
        path.chmod(0o444)
    stage.directory.chmod(0o555)
    try:
        assert taskloom("board", "show", "diamond", cwd=stage.project).code == 0
        assert taskloom("board", "show", "torn", cwd=stage.project).code == 0
    finally:
        stage.directory.chmod(0o755)


def test_no_look_opens_a_log_for_writing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a process of its own: here every way to open a file can be watched."""
    modes: list[int] = []
    real = os.open

    def watch(path: os.PathLike[str], flags: int, *rest: int) -> int:
        modes.append(flags)
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", watch)
    for words in LOOKS:
        main(["board", *words, "--json", "--project", str(stage.project)])
    assert modes
    assert not any(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) for flags in modes)

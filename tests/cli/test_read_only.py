"""Inspection changes nothing: not a byte, not a lease, not a torn tail."""

import hashlib
import os
from pathlib import Path

import pytest

from taskloom.cli.main import main
from tests.cli.run_taskloom import taskloom
from tests.view.sample_boards import SampleBoard, diamond, step

COMMANDS = [
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
def sample(tmp_path: Path) -> SampleBoard:
    """A board with a lease long over, a torn tail and a damaged log."""
    made = SampleBoard(tmp_path)
    diamond(made)
    for name in ("torn", "bad"):
        made.create(name, [step("a")])
    torn, bad = made.wal("torn"), made.wal("bad")
    torn.write_bytes(torn.read_bytes() + b'{"wal_seq":4,')
    bad.write_bytes(bad.read_bytes().replace(b"Do a", b"Do b", 1))
    return made


@pytest.mark.spec("TB-123", "TB-115")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_inspection_changes_no_byte(sample: SampleBoard, words: tuple[str, ...]) -> None:
    before = fingerprint(sample.project)
    for look in (words, (*words, "--json")):
        assert taskloom("board", *look, cwd=sample.project).code == (words[0] == "verify")
    assert fingerprint(sample.project) == before


def test_inspection_of_a_board_in_use_changes_nothing(tmp_path: Path) -> None:
    sample = SampleBoard(tmp_path)
    with sample.board:
        diamond(sample)
        before = fingerprint(tmp_path)
        for words in COMMANDS:
            assert taskloom("board", *words, cwd=tmp_path).code == 0
        assert fingerprint(tmp_path) == before


def test_a_read_only_directory_can_be_inspected(sample: SampleBoard) -> None:
    for path in sample.directory.iterdir():
        path.chmod(0o444)
    sample.directory.chmod(0o555)
    try:
        assert taskloom("board", "show", "diamond", cwd=sample.project).code == 0
        assert taskloom("board", "show", "torn", cwd=sample.project).code == 0
    finally:
        sample.directory.chmod(0o755)


def test_no_command_opens_a_log_for_writing(
    sample: SampleBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a process of its own: here every way to open a file can be watched."""
    modes: list[int] = []
    real = os.open

    def watch(path: os.PathLike[str], flags: int, *rest: int) -> int:
        modes.append(flags)
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", watch)
    for words in COMMANDS:
        main(["board", *words, "--json", "--project", str(sample.project)])
    assert modes
    assert not any(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) for flags in modes)

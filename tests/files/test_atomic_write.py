"""Atomic writes: what is synced in which order, what stays of the old file, what is cleaned up."""

import os
import stat
from pathlib import Path

import pytest

from taskloom.atomic_write import NEW, create_file, make_directory, remove_file, write_file


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of what was synced, in order."""
    kinds: list[str] = []

    def fsync(fd: int) -> None:
        kinds.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")

    monkeypatch.setattr("os.fsync", fsync)
    return kinds


def test_a_file_is_synced_before_it_gets_its_name_and_the_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: list[str]
) -> None:
    path = tmp_path / "a"
    renamed = os.rename

    def rename(*names: str, **directories: int) -> None:
        synced.append("rename")
        renamed(*names, **directories)

    monkeypatch.setattr(os, "rename", rename)
    write_file(path, b"one")
    assert synced == ["file", "rename", "directory"]
    assert path.read_bytes() == b"one"


def test_creating_and_removing_sync_the_directory_too(tmp_path: Path, synced: list[str]) -> None:
    create_file(tmp_path / "a", b"one")
    assert synced == ["file", "directory"]
    remove_file(tmp_path / "a")
    assert synced == ["file", "directory", "directory"]


def test_each_new_directory_is_synced_into_its_parent(tmp_path: Path, synced: list[str]) -> None:
    make_directory(tmp_path / "a" / "b" / "c")
    assert synced == ["directory"] * 3
    make_directory(tmp_path / "a" / "b" / "c")
    assert len(synced) == 3


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o750)
    write_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert path.read_bytes() == b"new"


def test_a_second_creation_is_refused_and_leaves_the_first(tmp_path: Path) -> None:
    create_file(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError, match="exists already"):
        create_file(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fsync(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [left.name for left in tmp_path.iterdir()] == ["a"]


def test_the_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    abandoned, recent = tmp_path / f"{NEW}old", tmp_path / f"{NEW}recent"
    abandoned.touch()
    os.utime(abandoned, (0, 0))
    recent.touch()
    write_file(tmp_path / "a", b"one")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([recent.name, "a"])

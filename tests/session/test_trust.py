"""A project is trusted for exactly what it names, and for nothing that it names later."""

from pathlib import Path

import pytest

from taskloom.errors import StorageError
from taskloom.session.trust import TrustStore, default_trust_file, digest_of


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trusted.json")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "work.sh").write_text("echo one")
    return project


def digest(project: Path, command: str = "./work.sh") -> str:
    return digest_of(project, [("program", command)], [project / "work.sh"])


@pytest.mark.spec("SE-401")
def test_a_yes_holds_for_the_same_content_and_in_other_processes(
    store: TrustStore, project: Path, tmp_path: Path
) -> None:
    assert not store.is_trusted(project, digest(project))
    store.trust(project, digest(project))
    assert store.is_trusted(project, digest(project))
    assert TrustStore(tmp_path / "state" / "trusted.json").is_trusted(project, digest(project))


@pytest.mark.spec("SE-401")
def test_another_program_another_content_and_another_place_ask_again(
    store: TrustStore, project: Path, tmp_path: Path
) -> None:
    store.trust(project, digest(project))
    assert not store.is_trusted(project, digest(project, "./other.sh"))
    (project / "work.sh").write_text("echo two")
    assert not store.is_trusted(project, digest(project))
    (project / "work.sh").write_text("echo one")
    moved = project.rename(tmp_path / "moved")
    assert not store.is_trusted(moved, digest(moved))


def test_what_is_named_counts_in_any_order_and_cannot_be_shifted(project: Path) -> None:
    one = digest_of(project, [("program", "a"), ("python", "b")])
    assert digest_of(project, [("python", "b"), ("program", "a")]) == one
    assert digest_of(project, [("program", 'a"],["python'), ("python", "b")]) != one


def test_trust_can_be_revoked(store: TrustStore, project: Path) -> None:
    store.trust(project, digest(project))
    assert store.revoke(project)
    assert not store.is_trusted(project, digest(project))
    assert not store.revoke(project)


@pytest.mark.spec("SE-401")
def test_a_damaged_file_of_answers_is_no_yes(
    store: TrustStore, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "trusted.json"
    path.parent.mkdir()
    path.write_bytes(b"{broken")
    assert not store.is_trusted(project, digest(project))
    store.trust(project, digest(project))
    assert store.is_trusted(project, digest(project))


def test_an_answer_that_cannot_be_kept_says_what_to_do(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = TrustStore(tmp_path / "file" / "trusted.json")
    with pytest.raises(StorageError, match="XDG_STATE_HOME"):
        store.trust(project, digest(project))


def test_the_answers_are_kept_outside_of_projects() -> None:
    assert default_trust_file({"XDG_STATE_HOME": "/x"}) == Path("/x/taskloom/trusted.json")
    assert default_trust_file({"HOME": "/h"}) == Path("/h/.local/state/taskloom/trusted.json")

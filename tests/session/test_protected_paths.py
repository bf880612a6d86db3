"""Protected paths are found under every name they can be reached by."""

import os
from pathlib import Path

import pytest

from taskloom.session.protected_paths import ProtectedPaths, fold


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / ".git" / "config").write_text("[core]")
    (project / "src").mkdir()
    (project / "src" / "main.py").touch()
    (project / "agents").mkdir()
    (project / "taskloom.toml").touch()
    return project


@pytest.fixture
def protected(project: Path) -> ProtectedPaths:
    return ProtectedPaths(
        project, state_dir=".state", also=[Path("agents"), Path("tools/worker.py")]
    )


SPELLINGS = [
    "taskloom.toml",
    "./taskloom.toml",
    "src/../taskloom.toml",
    "TaskLoom.TOML",
    "taskloom.toml.",
    "taskloom\u200c.toml",
    "\uff54askloom.toml",
    "sub/taskloom.toml",
    ".git",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".g\u200cit/config",
    "vendor/lib/.git/config",
    "sub/.vscode/tasks.json",
    ".envrc",
    ".state/sessions/x",
    "agents/reviewer.md",
    "tools/worker.py",
    ".mcp.json",
]


@pytest.mark.spec("SE-105")
@pytest.mark.parametrize("path", SPELLINGS)
def test_a_protected_path_is_found_by_every_spelling(
    project: Path, protected: ProtectedPaths, path: str
) -> None:
    assert protected.covers(project / path)


@pytest.mark.spec("SE-105")
@pytest.mark.parametrize("path", ["src/main.py", "notes.txt", "gitignore", "src/git/x", "a.toml"])
def test_other_files_are_not_protected(project: Path, protected: ProtectedPaths, path: str) -> None:
    assert not protected.covers(project / path)


@pytest.mark.spec("SE-105")
def test_links_to_a_protected_path_are_protected(project: Path, protected: ProtectedPaths) -> None:
    (project / "link").symlink_to(".git")
    (project / "src" / "conf").symlink_to("../taskloom.toml")
    (project / "loop").symlink_to("link")
    assert protected.covers(project / "link" / "hooks" / "pre-commit")
    assert protected.covers(project / "src" / "conf")
    assert protected.covers(project / "loop" / "config")


@pytest.mark.spec("SE-105")
def test_a_hard_link_is_protected(project: Path, protected: ProtectedPaths) -> None:
    os.link(project / ".git" / "config", project / "harmless.txt")
    assert protected.covers(project / "harmless.txt")


@pytest.mark.spec("SE-105")
def test_the_git_directory_of_a_worktree_is_protected(tmp_path: Path) -> None:
    own = tmp_path / "main" / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    protected = ProtectedPaths(tree, state_dir=".taskloom")
    assert protected.covers(tree / ".git")
    assert protected.covers(own / "HEAD")
    assert protected.covers(tmp_path / "main" / ".git" / "hooks" / "pre-commit")
    assert {own, tmp_path / "main" / ".git"} <= set(protected.paths())


@pytest.mark.spec("SE-105")
def test_the_paths_for_a_sandbox_name_missing_ones_and_other_spellings(project: Path) -> None:
    (project / ".VSCode").mkdir()
    paths = ProtectedPaths(project, state_dir=".taskloom").paths()
    assert {project / name for name in (".git", "taskloom.toml", ".vscode", ".VSCode")} <= set(
        paths
    )


@pytest.mark.parametrize(("name", "folded"), [(".GIT", ".git"), ("a. .", "a"), ("..", "..")])
def test_names_are_folded_as_file_systems_do(name: str, folded: str) -> None:
    assert fold(name) == folded

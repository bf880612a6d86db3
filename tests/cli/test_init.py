"""init: writes what is missing, keeps what is there, and what it wrote works."""

import os
from pathlib import Path

import pytest

from taskloom.config import load_config, load_definitions
from tests.cli.run_taskloom import taskloom


def test_a_new_project_is_set_up_and_its_files_are_valid(tmp_path: Path) -> None:
    done = taskloom("init", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    for word in ("created", "taskloom.toml", "worker.md", ".gitignore", "TASKLOOM_MODEL", "doctor"):
        assert word in done.out
    config = load_config(tmp_path, environ={})
    assert [(worker.agent, worker.count) for worker in config.pools[0].workers] == [("worker", 3)]
    worker = load_definitions(tmp_path, config)["worker"]
    assert "task_claim_step" in worker.body
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == ".taskloom/\n"


def test_every_commented_line_of_the_file_may_be_used(tmp_path: Path) -> None:
    """Each `# key = value` is taken out of its comment, and the file is still understood."""
    taskloom("init", cwd=tmp_path)
    path = tmp_path / "taskloom.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [
        line.removeprefix("# ") if line.startswith(("# [", "#\n")) or " = " in line else line
        for line in lines
    ]
    seen: set[str] = set()
    kept: list[str] = []
    for line in used:
        key = line.split(" = ")[0]
        if " = " not in line or key.startswith("#") or key not in seen:
            kept.append(line)
        if key == "name":
            seen.add(key)
    path.write_text("\n".join(kept), encoding="utf-8")
    config = load_config(tmp_path, environ={})
    assert config.model.api_key_env == "MY_KEY"
    assert config.run.allow.run == (("make", "test"),)
    assert config.executors["tests"].description == ""
    assert config.pools[0].workers[1].executor == "tests"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    mine = {
        "taskloom.toml": "# mine",
        "agents/worker.md": "mine",
        ".gitignore": "*.pyc\n/.taskloom",
    }
    for name, text in mine.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = taskloom("init", "--json", cwd=tmp_path)
    assert done.code == 0
    assert {each["action"] for each in done.json()["files"]} == {"kept"}
    for name, text in mine.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("before", [b"", b"*.pyc", b"*.pyc\n", b"\xff\n"])
def test_the_state_directory_is_added_to_gitignore_once(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / ".gitignore"
    path.write_bytes(before)
    for action in ("changed", "kept"):
        files = taskloom("init", "--json", cwd=tmp_path).json()["files"]
        assert files[2]["action"] == action
    assert path.read_bytes().splitlines() == [*before.splitlines(), b".taskloom/"]


def test_the_texts_come_in_chinese_too(tmp_path: Path) -> None:
    assert taskloom("init", "--language", "zh", "--project", tmp_path, cwd=tmp_path).code == 0
    config = load_config(tmp_path, environ={})
    assert config.run.language == "zh"
    assert "执行者" in load_definitions(tmp_path, config)["worker"].name


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    done = taskloom("init", "--project", tmp_path / "nowhere", cwd=tmp_path)
    assert done.code == 2
    assert "There is no directory" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_is_not_writable_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = taskloom("init", cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert done.code == 1
    assert "Permission denied" in done.err

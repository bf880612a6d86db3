"""`taskloom doctor`: what it checks, what fails, and how to fix it; through the real program."""

from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from tests.agent.provider_server import Answer, OpenAI, reply, serving
from tests.cli.run_taskloom import ProgramResult, taskloom
from tests.view.sample_boards import SampleBoard, diamond

NO_KEYS = {"TASKLOOM_MODEL": "", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}


def ask(project: Path, *words: str, **env: str) -> tuple[ProgramResult, dict[str, dict[str, Any]]]:
    done = taskloom("doctor", "--json", *words, cwd=project, **{**NO_KEYS, **env})
    checks = done.json()["checks"]
    assert done.json()["ok"] is (done.code == 0)
    for check in checks:
        assert bool(check["advice"]) is (check["status"] in ("fail", "warning")), check
    return done, {check["name"]: check for check in checks}


def script(project: Path, text: str = '["ready"]') -> str:
    (project / "play.json").write_text(text, encoding="utf-8")
    return "script:play.json"


def test_a_project_that_is_set_up_passes(tmp_path: Path) -> None:
    assert taskloom("init", cwd=tmp_path).code == 0
    diamond(SampleBoard(tmp_path))
    done, checks = ask(tmp_path, TASKLOOM_MODEL=script(tmp_path))
    assert done.code == 0, done.out
    assert {check["status"] for check in checks.values()} == {"ok"}
    assert checks["model script:play.json"]["message"] == "it answers"
    assert "locks work" in checks["state"]["message"]
    assert checks["logs"]["message"].startswith("1 checked")
    printed = taskloom("doctor", cwd=tmp_path, **{**NO_KEYS, "TASKLOOM_MODEL": "script:play.json"})
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.endswith("All checks passed.\n")


def test_it_leaves_nothing_behind(tmp_path: Path) -> None:
    ask(tmp_path, TASKLOOM_MODEL=script(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["play.json"]


def test_without_a_model_it_says_what_to_set(tmp_path: Path) -> None:
    done, checks = ask(tmp_path)
    assert done.code == 1
    assert "TASKLOOM_MODEL=" in checks["model"]["message"]
    printed = taskloom("doctor", cwd=tmp_path, **NO_KEYS)
    assert printed.code == 1
    assert "FAIL    model" in printed.out
    assert "taskloom demo" in printed.out
    assert printed.out.endswith("1 of 6 checks failed.\n")


@pytest.mark.slow
def test_a_missing_key_is_named_without_a_call(tmp_path: Path) -> None:
    done, checks = ask(tmp_path, "--offline", TASKLOOM_MODEL="openai:gpt-x")
    assert done.code == 1
    assert "OPENAI_API_KEY" in checks["model openai:gpt-x"]["message"]
    done, checks = ask(tmp_path, "--offline", TASKLOOM_MODEL="openai:gpt-x", OPENAI_API_KEY="k")
    assert (done.code, checks["model openai:gpt-x"]["status"]) == (0, "skipped")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (OpenAI.whole("ready"), 0, "answers"),
        (reply({"error": {"message": "bad key", "type": "x"}}, 401), 1, "key was refused"),
        (reply({"error": {"message": "no such model", "type": "x"}}, 404), 1, "no such model"),
    ],
)
async def test_the_model_is_really_called(
    tmp_path: Path, answer: Answer, code: int, word: str
) -> None:
    (tmp_path / "taskloom.toml").write_text(
        "[model]\nsettings = { max_retries = 0 }\n", encoding="utf-8"
    )
    async with serving([answer]) as server:
        url = server.base_url + "/v1"

        def run() -> tuple[ProgramResult, dict[str, dict[str, Any]]]:
            return ask(tmp_path, TASKLOOM_MODEL="openai:x", OPENAI_API_KEY="k", OPENAI_BASE_URL=url)

        done, checks = await anyio.to_thread.run_sync(run)
        assert len(server.asked) == 1
    assert done.code == code
    assert word in checks["model openai:x"]["message"]


@pytest.mark.parametrize(
    ("files", "name", "words"),
    [
        ({"taskloom.toml": "[tasks]"}, "configuration", ["tasks", "Did you mean task"]),
        ({"taskloom.toml": "[agents]\norchestrator = 'boss'"}, "definitions", ["boss"]),
        ({"agents/a.md": "no head"}, "definitions", ["a.md", "line 1"]),
        ({"taskloom.toml": "pools = []"}, "pools", ["worker pool"]),
        ({"taskloom.toml": "[executors.t]\ntype = 'process'\ncommand = ['no-such-program']"},
         "executors.t", ["no-such-program"]),
        ({"taskloom.toml": "[executors.t]\ntype = 'acp'\ncommand = ['./agents/a']",
          "agents/a": "not to be run"}, "executors.t", ["./agents/a"]),
        ({"taskloom.toml": "[executors.t]\ntype = 'process'\ncommand = ['sh']\ncwd = 'sub'"},
         "executors.t", ["sub"]),
        ({".taskloom/tasks/s/t.wal.jsonl": "{}\n{}\n"}, "logs", ["1 of 1", "t.wal.jsonl"]),
        ({".taskloom": "a file"}, "state", ["not a directory"]),
    ],
)  # fmt: skip  # a table reads better
def test_each_fault_is_found_and_reported(
    tmp_path: Path, files: dict[str, str], name: str, words: list[str]
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    done, checks = ask(tmp_path, TASKLOOM_MODEL=script(tmp_path))
    assert done.code == 1
    assert checks[name]["status"] == "fail"
    for word in words:
        assert word in checks[name]["message"]
    assert {"state", "logs"} <= checks.keys()


def test_models_of_definitions_are_checked_too(tmp_path: Path) -> None:
    head = "---\nid: worker\nname: W\ndescription: d\nmodel: anthropic:claude-x\n---\n"
    taskloom("init", cwd=tmp_path)
    (tmp_path / "agents" / "worker.md").write_text(head, encoding="utf-8")
    model = script(tmp_path, '[{"text": "{{no.such.thing}}"}]')
    done, checks = ask(tmp_path, TASKLOOM_MODEL=model, ANTHROPIC_API_KEY="")
    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in checks["model anthropic:claude-x"]["message"]
    assert checks["model script:play.json"]["message"] == "the script is valid"


def test_the_project_is_found_from_a_directory_below(tmp_path: Path) -> None:
    taskloom("init", cwd=tmp_path)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    done = taskloom("doctor", "--json", "--offline", cwd=below, **NO_KEYS)
    assert done.json()["project"] == str(tmp_path)

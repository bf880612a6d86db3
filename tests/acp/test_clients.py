"""Real clients drive the agent end to end: the official TypeScript SDK, new and old, and acpx."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.npm import installed, node_folder

pytestmark = [pytest.mark.slow, pytest.mark.spec("AP-309")]

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CURRENT = ("@agentclientprotocol/sdk@2.4.0", "zod@4")
PROPOSAL = ("@agentclientprotocol/sdk@0.23.0", "zod@4")
ACPX = ("acpx@0.19.1",)
PROMPTS = [
    'calls TaskCreate {"subject": "One", "description": "d", "activeForm": "Doing one"}; '
    'TaskUpdate {"taskId": "1", "status": "in_progress"}; '
    'publish_plan {"id": "design", "kind": "markdown", "content": "# Design"}',
    'calls write_file {"path": "a.txt", "content": "x"}; dismiss_plan {"id": "design"}',
    "think hard",
]


def agent(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.acp.scripted_agent", str(folder / "index")]


def run(command: list[str], folder: Path, packages: tuple[str, ...], code: int = 0) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{node_folder(packages)}:{os.environ['PATH']}",
        "HOME": str(folder / "home"),
    }
    (folder / "home").mkdir(exist_ok=True)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr[-2000:] + done.stdout[-2000:]
    assert "Error" not in done.stderr, done.stderr[-2000:]
    return done.stdout


def script(name: str, packages: tuple[str, ...]) -> str:
    """A client's program, placed where it finds its SDK."""
    place = installed(*packages) / name
    place.write_text((HERE / "node" / name).read_text())
    return str(place)


def drive(name: str, packages: tuple[str, ...], folder: Path, *words: str) -> dict[str, Any]:
    project = folder / "project"
    project.mkdir()
    command = ["node", script(name, packages), *words, str(project), json.dumps(PROMPTS)]
    return json.loads(run([*command, *agent(folder)], folder, packages))


def kinds(done: dict[str, Any]) -> list[str]:
    return [one["update"]["sessionUpdate"] for one in done["updates"]]


def check_common(done: dict[str, Any], folder: Path) -> None:
    assert done["stops"] == ["end_turn"] * 3
    assert done["permissions"] == ["Write a.txt"]
    assert (folder / "project" / "a.txt").read_text() == "x"
    assert {"tool_call", "tool_call_update", "agent_thought_chunk"} <= set(kinds(done))
    assert done["initialized"]["agentInfo"]["name"] == "taskloom"


@pytest.mark.spec("AP-103", "AP-105", "AP-107")
def test_typescript_sdk_without_the_plan_capability(tmp_path: Path) -> None:
    done = drive("current.mjs", CURRENT, tmp_path, "stable", "{}")

    check_common(done, tmp_path)
    assert "plan" in kinds(done)
    assert not {"plan_update", "plan_removed", "subagent_update"} & set(kinds(done))
    plan = [one["update"] for one in done["updates"] if one["update"]["sessionUpdate"] == "plan"]
    assert [entry["content"] for entry in plan[-1]["entries"]] == ["Doing one"]
    assert "# Design" in json.dumps(done["updates"])


@pytest.mark.spec("AP-101", "AP-102", "AP-105")
def test_typescript_sdk_with_the_plan_capability(tmp_path: Path) -> None:
    done = drive("current.mjs", CURRENT, tmp_path, "unstable", '{"plan": {}}')

    check_common(done, tmp_path)
    assert "plan" not in kinds(done)
    plans = [one["update"]["plan"] for one in done["updates"] if "plan" in one["update"]]
    assert {plan["type"] for plan in plans} == {"items", "markdown"}
    assert {plan["planId"] for plan in plans} == {"tasks", "doc-design"}
    removed = [
        one["update"]["planId"]
        for one in done["updates"]
        if one["update"]["sessionUpdate"] == "plan_removed"
    ]
    assert removed == ["doc-design"]


@pytest.mark.spec("AP-101", "AP-102", "AP-105")
def test_typescript_sdk_of_the_proposals_time(tmp_path: Path) -> None:
    done = drive("proposal.mjs", PROPOSAL, tmp_path, '{"planCapabilities": {}}')

    check_common(done, tmp_path)
    plans = [one["update"]["plan"] for one in done["updates"] if "plan" in one["update"]]
    assert {plan["id"] for plan in plans} == {"tasks", "doc-design"}
    removed = [
        one["update"]["id"]
        for one in done["updates"]
        if one["update"]["sessionUpdate"] == "plan_removed"
    ]
    assert removed == ["doc-design"]


def acpx(folder: Path, *words: str, code: int = 0) -> str:
    program = installed(*ACPX) / "node_modules" / ".bin" / "acpx"
    command = " ".join(agent(folder))
    return run([str(program), "--agent", command, *words], folder, ACPX, code)


@pytest.mark.spec("AP-107", "AP-303")
def test_acpx_runs_a_prompt_and_shows_the_plan(tmp_path: Path) -> None:
    shown = acpx(tmp_path, "--approve-all", "exec", PROMPTS[0])

    assert "[plan]" in shown
    assert "Doing one" in shown
    assert "end_turn" in shown


@pytest.mark.spec("AP-305", "AP-306")
@pytest.mark.parametrize(("flag", "written"), [("--approve-all", True), ("--deny-all", False)])
def test_acpx_answers_for_the_person(tmp_path: Path, flag: str, written: bool) -> None:
    prompt = 'call write_file {"path": "a.txt", "content": "by acpx"}'
    acpx(tmp_path, flag, "exec", prompt, code=0 if written else 5)  # 5: something was denied

    assert (tmp_path / "a.txt").exists() is written

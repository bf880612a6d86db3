"""The workspace tools against hostile paths: secrets, hidden state, links that appear meanwhile."""

import os
import shutil
from pathlib import Path

import pytest

from taskloom.agent import Agent, Message, ScriptedModel, call_tool
from taskloom.agent.workspace import (
    Decision,
    LocalCommands,
    PermissionRequest,
    Workspace,
    allow_all,
    refuse_all,
)
from taskloom.agent.workspace.link_safe_files import (
    PathChangedError,
    read_resolved,
    write_resolved,
)
from taskloom.agent.workspace.secrets import is_secret, looks_secret, secret_files
from taskloom.sandbox import Bubblewrap, SandboxSpec
from taskloom.sandbox.bubblewrap import probe_bubblewrap


async def call(workspace: Workspace, name: str, **arguments: object) -> Message:
    model = ScriptedModel([call_tool(name, **arguments), "ok"])
    return (await Agent(model, workspace.tools()).invoke("go")).messages[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "a.md").write_text("before")
    (project / ".taskloom" / "sessions").mkdir(parents=True)
    (project / ".taskloom" / "sessions" / "t.jsonl").write_text('{"KEY": "hunter2"}\n')
    (project / "main.py").write_text("KEY = 1\n")
    return project


SECRETS = [
    *(".env", ".env.local", ".env~", ".env-prod", ".env_prod", "prod.env", ".envrc"),
    *("key.pem", "key.pem.bak", "cert.pem~", "server.key.1", "a.p12", "x.kdbx"),
    *("id_rsa", "my_id_rsa", "id_ed25519.old", "token", "token.txt", ".vault-token"),
    *("secret.json", "secrets.yaml", "api_key.txt", "github-token", "db_password.txt"),
    *("credentials", "credentials.json", "service-account.json", "client_secret_1.json"),
    *("auth.json", "kubeconfig", "terraform.tfstate", "terraform.tfstate.backup"),
    *(".netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".dockercfg", ".git-credentials"),
    *("secrets/db.txt", ".ssh/config", ".aws/x", ".config/gh/hosts.yml", "credentials/a.yaml"),
]
NO_SECRETS = [
    *("main.py", "secrets.py", "token.ts", "tokens.css", ".env.example", "id_rsa.pub"),
    *("environment.md", "tokenizer.json", "tokenizer_config.json", "package.json", "monkey"),
    *("secretary.txt", "passwords.md", "environment.yml", "docs/gh/x.txt", "src/secrets/store.py"),
]


@pytest.mark.spec("SE-302")
@pytest.mark.parametrize("path", SECRETS)
def test_a_secret_is_known_by_its_name(tmp_path: Path, path: str) -> None:
    assert is_secret(tmp_path, tmp_path / path)
    assert is_secret(tmp_path, tmp_path / path.upper())


@pytest.mark.parametrize("path", NO_SECRETS)
def test_source_code_and_examples_are_no_secrets(tmp_path: Path, path: str) -> None:
    assert not is_secret(tmp_path, tmp_path / path)


@pytest.mark.spec("SE-302")
def test_a_hard_link_to_a_secret_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "one.txt").write_text("harmless")
    os.link(tmp_path / ".env", tmp_path / "notes.txt")
    os.link(tmp_path / "one.txt", tmp_path / "two.txt")
    assert is_secret(tmp_path, tmp_path / "notes.txt")
    assert not is_secret(tmp_path, tmp_path / "two.txt")
    assert list(secret_files(tmp_path)) == [tmp_path / ".env"]
    assert not looks_secret("notes.txt")


@pytest.mark.spec("SE-301")
async def test_the_state_directory_does_not_exist_for_the_tools(project: Path) -> None:
    (project / "link").symlink_to(".taskloom")
    workspace = Workspace(project, permit=allow_all, hidden=[project / ".taskloom"])
    for path in (".taskloom/sessions/t.jsonl", "link/sessions/t.jsonl", "docs/../.taskloom"):
        result = await call(workspace, "read_file", path=path)
        assert result.is_error
        assert "hunter2" not in result.text
    assert "taskloom" not in (await call(workspace, "list_dir", path=".")).text
    assert (await call(workspace, "search", pattern="KEY")).text == "main.py:1:KEY = 1"
    written = await call(workspace, "write_file", path=".taskloom/grants.json", content="[]")
    assert written.is_error
    assert not (project / ".taskloom" / "grants.json").exists()


@pytest.mark.spec("SE-404")
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_a_link_that_appears_while_the_question_is_open_leads_nowhere(
    project: Path, tmp_path: Path, tool: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("before")

    async def swap(request: PermissionRequest) -> bool:
        assert request.path == "docs/a.md"
        shutil.rmtree(project / "docs")
        (project / "docs").symlink_to(outside)
        return True

    workspace = Workspace(project, permit=swap)
    arguments = {"content": "after"} if tool == "write_file" else {"old": "before", "new": "after"}
    result = await call(workspace, tool, path="docs/a.md", **arguments)
    assert result.is_error
    assert (outside / "a.md").read_text() == "before"


@pytest.mark.spec("SE-404")
def test_files_are_opened_without_following_links(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("out there")
    (project / "linked").symlink_to(tmp_path / "outside")
    (project / "file").symlink_to(tmp_path / "outside" / "a.md")
    for path in (project / "linked" / "a.md", project / "file"):
        with pytest.raises(PathChangedError, match="became a link"):
            read_resolved(path)
        with pytest.raises(PathChangedError):
            write_resolved(path, b"changed")
    assert (tmp_path / "outside" / "a.md").read_text() == "out there"
    write_resolved(project / "new" / "deep" / "b.md", b"text")
    assert read_resolved(project / "new" / "deep" / "b.md") == b"text"


@pytest.mark.spec("SE-103")
async def test_the_model_reads_the_reason_of_a_no(project: Path) -> None:
    async def no(_: PermissionRequest) -> Decision:
        return Decision(False, "Use the staging branch.")

    workspace = Workspace(project, permit=no)
    result = await call(workspace, "run_command", argv=["git", "push"])
    assert result.is_error
    assert "run: git push" in result.text
    assert result.text.endswith("Use the staging branch.")


@pytest.mark.spec("SE-102")
async def test_a_request_has_every_argument_and_the_directory(project: Path) -> None:
    asked: list[PermissionRequest] = []

    async def note(request: PermissionRequest) -> bool:
        asked.append(request)
        return False

    workspace = Workspace(project, permit=note)
    await call(workspace, "run_command", argv=["make", "a b"], directory="docs")
    assert (asked[0].command, asked[0].directory) == (("make", "a b"), "docs")
    assert asked[0].target == str(project / "docs")


def confined(project: Path) -> LocalCommands:
    if (missing := probe_bubblewrap()) is not None:
        pytest.skip(f"cannot be shown here: {missing}")
    spec = SandboxSpec(tree=project, protected=(project / ".git",))
    return LocalCommands(Bubblewrap(), lambda _: spec)


@pytest.mark.spec("SE-203")
async def test_the_model_reads_what_the_sandbox_refused_and_may_ask_to_leave_it(
    project: Path,
) -> None:
    asked: list[PermissionRequest] = []

    async def note(request: PermissionRequest) -> bool:
        asked.append(request)
        return True

    workspace = Workspace(project, permit=note, commands=confined(project))
    argv = ["sh", "-c", "echo x > /etc/taskloom-was-here"]
    refused = (await call(workspace, "run_command", argv=argv)).text
    assert "bubblewrap sandbox refused something" in refused
    assert "Read-only file system" in refused
    assert "outside_sandbox=true" in refused
    argv = ["sh", "-c", "echo free"]
    free = await call(workspace, "run_command", argv=argv, outside_sandbox=True)
    assert free.text.startswith("free")
    assert [(one.sandbox, one.leaves_sandbox) for one in asked] == [
        ("bubblewrap", False),
        ("", True),
    ]


async def test_without_a_sandbox_there_is_no_way_to_leave_it(project: Path) -> None:
    workspace = Workspace(project, permit=refuse_all)
    tool = next(tool for tool in workspace.tools() if tool.info.name == "run_command")
    assert "outside_sandbox" not in tool.info.parameters["properties"]

"""The workspace tools: confined, permitted, bounded, and ended with all they started."""

import fcntl
import os
import string
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from taskloom.agent import Agent, Message, ScriptedModel, call_tool
from taskloom.agent.workspace import PermissionRequest, Workspace, allow_all, program_environment
from taskloom.agent.workspace.process import OUTPUT_BYTES_MAX
from taskloom.agent.workspace.read_tools import LINE_CHARS_MAX, LINES_MAX
from taskloom.agent.workspace.search import MATCHES_MAX
from taskloom.agent.workspace.workspace_texts import EN, ZH


class Project:
    """A directory with a few files beside a secret one, and what was asked about it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.asked: list[PermissionRequest] = []
        self.answer = True
        (self.root / "src").mkdir(parents=True)
        (self.root / "src" / "main.py").write_text("import os\nprint('hello')\n")
        (self.root / "notes.txt").write_text("one\ntwo\nthree\n")
        (self.root / ".env").write_text("KEY=hunter2\n")
        (folder / "outside.txt").write_text("hello from outside\n")
        self.workspace = Workspace(self.root, permit=self.permit)

    async def permit(self, request: PermissionRequest) -> bool:
        self.asked.append(request)
        return self.answer

    async def call(self, name: str, **arguments: object) -> Message:
        model = ScriptedModel([call_tool(name, **arguments), "ok"])
        return (await Agent(model, self.workspace.tools()).invoke("go")).messages[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_read_file_numbers_its_lines_and_reads_on(project: Project) -> None:
    assert (await project.call("read_file", path="notes.txt")).text == "1\tone\n2\ttwo\n3\tthree"
    part = await project.call("read_file", path="notes.txt", offset=2, limit=1)
    assert part.text == "2\ttwo\n[more lines: continue with offset=3]"
    missing = await project.call("read_file", path="nope.txt")
    assert missing.is_error
    assert "list_dir" in missing.text
    assert (await project.call("read_file", path="src")).is_error
    (project.root / "bin").write_bytes(b"\0\1")
    assert "not a text file" in (await project.call("read_file", path="bin")).text
    assert project.asked == []


@pytest.mark.parametrize("limit", [1, 3, LINES_MAX])
async def test_read_file_stops_at_its_limit(project: Project, limit: int) -> None:
    (project.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, LINES_MAX + 9)))
    whole = {} if limit == LINES_MAX else {"limit": limit}
    *lines, last = (await project.call("read_file", path="long.txt", offset=4, **whole)).text.split(
        "\n"
    )
    assert lines == [f"{n}\tline {n}" for n in range(4, 4 + limit)]
    assert last == f"[more lines: continue with offset={4 + limit}]"


async def test_list_dir_shows_directories_first(project: Project) -> None:
    assert (await project.call("list_dir")).text == "src/\n.env\nnotes.txt"
    assert (await project.call("list_dir", path="src")).text == "main.py"
    assert (await project.call("list_dir", path="gone")).is_error


@pytest.mark.parametrize(
    "path", ["../outside.txt", "src/../../outside.txt", "/etc/passwd", "link", "folder/outside.txt"]
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file", "list_dir", "search"])
async def test_no_path_leads_out(project: Project, path: str, tool: str) -> None:
    (project.root / "link").symlink_to("../outside.txt")
    (project.root / "folder").symlink_to("..")
    more = {
        "write_file": {"content": "x"},
        "edit_file": {"old": "hello", "new": "x"},
        "search": {"pattern": "hello"},
    }
    result = await project.call(tool, path=path, **more.get(tool, {}))
    assert result.is_error
    assert "outside the workspace" in result.text
    assert (project.root.parent / "outside.txt").read_text() == "hello from outside\n"
    assert project.asked == []


@pytest.mark.parametrize(
    "path", [".env", ".env.production", "deploy.pem", "id_rsa", ".ssh/config", "harmless"]
)
async def test_what_looks_like_a_secret_needs_permission(project: Project, path: str) -> None:
    (project.root / ".ssh").mkdir()
    if path == "harmless":
        (project.root / path).symlink_to(".env")  # A link to a secret is a secret.
    else:
        (project.root / path).write_text("hunter2")
    project.answer = False
    refused = await project.call("read_file", path=path)
    assert refused.is_error
    assert "hunter2" not in refused.text
    assert [request.action for request in project.asked] == ["read_secret"]
    project.answer = True
    assert "hunter2" in (await project.call("read_file", path=path)).text


async def test_examples_of_secrets_are_not_secrets(project: Project) -> None:
    (project.root / ".env.example").write_text("KEY=")
    assert not (await project.call("read_file", path=".env.example")).is_error
    assert project.asked == []


async def test_writing_asks_first_and_replaces_whole(project: Project) -> None:
    project.answer = False
    assert "No permission" in (await project.call("write_file", path="a.txt", content="x")).text
    assert not (project.root / "a.txt").exists()
    project.answer = True
    script = project.root / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    await project.call("write_file", path="run.sh", content="new")
    await project.call("write_file", path="deep/er/a.txt", content="你好")
    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o755
    assert (project.root / "deep/er/a.txt").read_text(encoding="utf-8") == "你好"
    target = str(project.root.resolve() / "deep/er/a.txt")
    assert project.asked[-1] == PermissionRequest(
        "write", "deep/er/a.txt", target=target, before=None, after="你好"
    )
    assert (project.asked[-2].before, project.asked[-2].after) == ("old", "new")
    assert sorted(path.name for path in (project.root / "deep/er").iterdir()) == ["a.txt"]


async def test_without_a_permit_nothing_is_written_or_run(project: Project) -> None:
    project.workspace = Workspace(project.root)
    assert (await project.call("write_file", path="a.txt", content="x")).is_error
    assert (await project.call("run_command", argv=["true"])).is_error
    assert not (await project.call("read_file", path="notes.txt")).is_error


async def test_edit_file_replaces_what_is_there_once(project: Project) -> None:
    notes = project.root / "notes.txt"
    notes.write_bytes(b"one\r\ntwo\r\none\r\n")
    assert "2 times" in (await project.call("edit_file", path="notes.txt", old="one", new="1")).text
    assert (
        "was not found"
        in (await project.call("edit_file", path="notes.txt", old="four", new="4")).text
    )
    await project.call("edit_file", path="notes.txt", old="two", new="2")
    await project.call("edit_file", path="notes.txt", old="one", new="1", replace_all=True)
    assert notes.read_bytes() == b"1\r\n2\r\n1\r\n"


@pytest.mark.parametrize("ripgrep", [False, True])
async def test_search_finds_lines_but_no_secrets(
    project: Project, ripgrep: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if ripgrep:
        # What ripgrep would print, by a program of its name: the machine may not have it.
        program = tmp_path / "bin" / "rg"
        program.parent.mkdir()
        program.write_text(
            "#!/bin/sh\n"
            "printf './.env\\0001:KEY=hunter2\\n'\n"
            "printf './a:b/.env\\0001:KEY=hunter2\\n'\n"
            "printf '3:KEY=hunter2, the end of a line that was cut\\n'\n"
            "printf \"./src/main.py\\0002:print('hello')\\n\"\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    else:
        monkeypatch.setenv("PATH", "")
    (project.root / "node_modules").mkdir()
    (project.root / "node_modules" / "x.js").write_text("hello hunter2")
    found = await project.call("search", pattern="h(ello|unter2)")
    assert found.text == "src/main.py:2:print('hello')"


async def test_search_is_bounded_and_says_so(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    (project.root / "many.txt").write_text("hit\n" * (MATCHES_MAX + 5))
    lines = (await project.call("search", pattern="hit")).text.splitlines()
    assert len(lines) == MATCHES_MAX + 1
    assert "narrow" in lines[-1]
    assert (await project.call("search", pattern="hit", glob="*.py")).text == "No match."
    assert (await project.call("search", pattern="(")).is_error


async def test_run_command_gives_output_and_exit_code_without_a_shell(project: Project) -> None:
    code = "import os, sys; print(sys.argv[1:], os.getcwd()); sys.exit(3)"
    result = await project.call("run_command", argv=[sys.executable, "-c", code, "$HOME; ls"])
    assert result.text == f"['$HOME; ls'] {project.root}\n[exit code 3]"
    assert project.asked[-1].command[0] == sys.executable
    assert "no program" in (await project.call("run_command", argv=["no-such-program"])).text
    assert (await project.call("run_command", argv=[])).is_error
    assert (await project.call("run_command", argv=["ls"], directory="..")).is_error


LEAKS = ("SOME_API_KEY", "GH_PAT", "DATABASE_URL", "NPM_CONFIG__AUTH", "SENTRY_DSN", "COOKIE")


@pytest.mark.spec("SE-303")
async def test_a_command_gets_harmless_variables_and_those_that_are_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in LEAKS:
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("LANG", "C")
    monkeypatch.setenv("FOR_THE_TESTS", "yes")
    code = "import os; print('hunter2' in os.environ.values(), os.environ.get('FOR_THE_TESTS'))"
    project.workspace = Workspace(project.root, permit=allow_all)
    result = await project.call("run_command", argv=[sys.executable, "-c", code])
    assert result.text.startswith("False None")
    project.workspace = Workspace(
        project.root, permit=allow_all, environment=program_environment(["FOR_THE_TESTS"])
    )
    result = await project.call("run_command", argv=[sys.executable, "-c", code])
    assert result.text.startswith("False yes")


async def test_a_commands_output_is_bounded_at_both_ends(project: Project) -> None:
    code = "print('begin' + 'x' * 1_000_000 + 'end')"
    text = (await project.call("run_command", argv=[sys.executable, "-c", code])).text
    assert len(text) < OUTPUT_BYTES_MAX + 200
    assert text.startswith("begin")
    assert "end\n[exit code 0]" in text


FAMILY = """
import fcntl, subprocess, sys
child = "import fcntl, sys, time; f = open('lock', 'w'); fcntl.flock(f, 2); "
child += "print('locked', flush=True); time.sleep(600)"
subprocess.Popen([sys.executable, '-c', child])
import time; time.sleep(600)
"""


def take_lock(path: Path) -> None:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.slow
@pytest.mark.spec("AG-110")
@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_a_commands_whole_process_group_is_killed(project: Project, how: str) -> None:
    lock = project.root / "lock"
    argv = [sys.executable, "-c", FAMILY]
    call = call_tool("run_command", argv=argv, timeout_s=1 if how == "timeout" else 600)
    run = Agent(ScriptedModel([call, "ok"]), project.workspace.tools()).run("go")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run.wait)
            if how == "cancel":
                await anyio.to_thread.run_sync(wait_until_locked, lock)
                run.cancel()
        # Only a dead grandchild lets go of its lock.
        await anyio.to_thread.run_sync(take_lock, lock, abandon_on_cancel=True)
    if how == "timeout":
        assert "timed out" in run.result.messages[2].text
    else:
        assert run.result.stop_reason == "cancelled"


def wait_until_locked(path: Path) -> None:
    while True:
        if path.exists():
            with path.open("r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
                fcntl.flock(file, fcntl.LOCK_UN)
        os.sched_yield()


async def test_a_child_left_behind_is_not_waited_for(project: Project) -> None:
    with anyio.fail_after(60):
        argv = ["sh", "-c", "sleep 600 & echo hi"]
        left = await project.call("run_command", argv=argv, timeout_s=600)
        argv = ["sh", "-c", "setsid sleep 3 & echo hi"]
        away = await project.call("run_command", argv=argv, timeout_s=600)
    assert left.text == away.text == "hi\n[exit code 0]"


async def test_a_command_in_a_missing_directory_is_an_error(project: Project) -> None:
    result = await project.call("run_command", argv=["true"], directory="nowhere")
    assert "nowhere" in result.text
    assert not project.asked


async def test_writing_a_directory_touches_nothing_beside_it(project: Project) -> None:
    beside = os.stat(project.root.parent).st_mtime_ns
    assert "directory" in (await project.call("write_file", path=".", content="x")).text
    assert os.stat(project.root.parent).st_mtime_ns == beside


async def test_the_longest_name_can_be_written(project: Project) -> None:
    name = "n" * 255
    assert not (await project.call("write_file", path=name, content="x")).is_error
    assert (project.root / name).read_text() == "x"


async def test_a_long_line_is_cut_and_the_next_has_its_number(project: Project) -> None:
    (project.root / "long.txt").write_text("x" * 10_000 + "\n\n" + "y" * LINE_CHARS_MAX + "\nz")
    lines = (await project.call("read_file", path="long.txt")).text.split("\n")
    assert lines == [f"1\t{'x' * LINE_CHARS_MAX}", "2\t", f"3\t{'y' * LINE_CHARS_MAX}", "4\tz"]


@pytest.mark.slow
async def test_a_pattern_that_never_ends_does_not_block_the_event_loop(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("taskloom.agent.workspace.search.TIMEOUT_S", 1.0)
    (project.root / "a.txt").write_text("a" * 60 + "!")
    with anyio.fail_after(30):
        result = await project.call("search", pattern="(a+)+$")
    assert result.is_error


@pytest.mark.spec("AG-605")
def test_the_tools_speak_both_languages(project: Project) -> None:
    for name in EN.__struct_fields__:
        english, chinese = getattr(EN, name), getattr(ZH, name)
        fields = [
            {field for _, field, _, _ in string.Formatter().parse(text) if field}
            for text in (english, chinese)
        ]
        assert fields[0] == fields[1], name
    read = Workspace(project.root, language="zh").tools()[0]
    assert "读取" in read.info.description
    assert "文件路径" in read.info.parameters["properties"]["path"]["description"]

"""A workspace over more directories than one, and over another's files and programs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from taskloom.agent import Agent, Message, ScriptedModel, call_tool
from taskloom.agent.workspace import Finished, PermissionRequest, Workspace, allow_all


class Editor:
    """Files that were changed and not saved, and a terminal of its own."""

    sandbox = ""

    def __init__(self) -> None:
        self.texts: dict[Path, str] = {}
        self.ran: list[list[str]] = []

    async def read(self, path: Path) -> str:
        if path not in self.texts:
            raise FileNotFoundError(f"no {path.name}")
        return self.texts[path]

    async def write(self, path: Path, text: str) -> None:
        self.texts[path] = text

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
        outside_sandbox: bool = False,
    ) -> Finished:
        self.ran.append([*command, str(directory)])
        return Finished(3, "from the terminal", timed_out=False, left_out_bytes=0)


async def call(workspace: Workspace, name: str, **arguments: object) -> Message:
    model = ScriptedModel([call_tool(name, **arguments), "ok"])
    return (await Agent(model, workspace.tools()).invoke("go")).messages[2]


async def test_other_directories_are_used_by_their_whole_paths(tmp_path: Path) -> None:
    for name in ("main", "other", "third"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"hello {name}\n")
    other = tmp_path / "other"
    workspace = Workspace(tmp_path / "main", permit=allow_all, also=[other])

    assert (await call(workspace, "read_file", path="a.txt")).text == "1\thello main"
    assert (await call(workspace, "read_file", path=str(other / "a.txt"))).text == "1\thello other"
    found = await call(workspace, "search", pattern="hello", path=str(other))
    assert found.text == f"{other / 'a.txt'}:1:hello other"
    await call(workspace, "write_file", path=str(other / "b.txt"), content="new")
    assert (other / "b.txt").read_text() == "new"
    for outside in (tmp_path / "third" / "a.txt", tmp_path / "a.txt"):
        assert "outside" in (await call(workspace, "read_file", path=str(outside))).text


async def test_a_secret_in_another_directory_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".env").write_text("hunter2")
    workspace = Workspace(tmp_path / "main", also=[tmp_path / "other"])

    refused = await call(workspace, "read_file", path=str(tmp_path / "other" / ".env"))
    assert refused.is_error
    assert "hunter2" not in refused.text


async def test_a_client_can_provide_texts_and_programs(tmp_path: Path) -> None:
    editor = Editor()
    file = tmp_path / "a.txt"
    file.write_text("saved\n")
    editor.texts[file] = "one\r\ntwo, not saved\r\n"
    asked: list[PermissionRequest] = []

    async def permit(request: PermissionRequest) -> bool:
        asked.append(request)
        return True

    workspace = Workspace(tmp_path, permit=permit, files=editor, commands=editor)

    assert (await call(workspace, "read_file", path="a.txt", offset=2)).text == "2\ttwo, not saved"
    await call(workspace, "edit_file", path="a.txt", old="two", new="2")
    assert editor.texts[file] == "one\r\n2, not saved\r\n"
    assert (asked[0].before, asked[0].after) == ("one\r\ntwo, not saved\r\n", editor.texts[file])
    await call(workspace, "write_file", path="new.txt", content="x")
    assert editor.texts[tmp_path / "new.txt"] == "x"
    assert file.read_text() == "saved\n"
    ran = await call(workspace, "run_command", argv=["make", "all"])
    assert ran.text == "from the terminal\n[exit code 3]"
    assert editor.ran == [["make", "all", str(tmp_path)]]
    assert (await call(workspace, "read_file", path="gone.txt")).is_error


async def test_an_edit_is_applied_to_the_text_after_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one two\n")

    async def permit(_: PermissionRequest) -> bool:
        file.write_text("zero one two\n")  # The person edits too while they are asked.
        return True

    await call(Workspace(tmp_path, permit=permit), "edit_file", path="a.txt", old="two", new="2")
    assert file.read_text() == "zero one 2\n"


@pytest.mark.parametrize("old", ["hunter2", "no such text"])
async def test_an_edit_reveals_nothing_about_a_secret_before_the_answer(
    tmp_path: Path, old: str
) -> None:
    (tmp_path / ".env").write_text("hunter2")

    refused = await call(Workspace(tmp_path), "edit_file", path=".env", old=old, new="x")
    assert "No permission" in refused.text


async def test_a_very_long_text_is_written_without_being_shown(tmp_path: Path) -> None:
    asked: list[PermissionRequest] = []

    async def permit(request: PermissionRequest) -> bool:
        asked.append(request)
        return True

    (tmp_path / "a.txt").write_text("a" * 1_500_000)
    workspace = Workspace(tmp_path, permit=permit)
    await call(workspace, "edit_file", path="a.txt", old="a" * 1_500_000, new="b")
    await call(workspace, "write_file", path="b.txt", content="b" * 1_500_000)

    assert [(request.before, request.after) for request in asked] == [(None, None)] * 2

"""The permission policy: what is asked, what an answer covers, and what no answer allows."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from taskloom.agent import Agent, ScriptedModel, call_tool
from taskloom.agent.workspace import PermissionRequest, Workspace
from taskloom.session import Answer, PermissionPolicy, Question, ToolRequest


class Person:
    """Answers every question the same way, and keeps the questions."""

    def __init__(self, answer: Answer = "no") -> None:
        self.answer: Answer = answer
        self.asked: list[str] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.text)
        return self.answer


def run(*command: str) -> PermissionRequest:
    return PermissionRequest("run", command=command)


def write(path: str, *, secret: bool = False) -> PermissionRequest:
    return PermissionRequest("write", path, secret=secret, target=f"/nowhere/{path}")


SECRET = PermissionRequest("read_secret", ".env", secret=True)


async def test_an_answer_for_the_session_covers_what_it_says_and_nothing_else() -> None:
    policy, person = PermissionPolicy(), Person("session")
    requests = [
        run("make", "test"), run("make", "test"), run("make", "clean"), run("make"),
        write("a.txt"), write("b/c.txt"), ToolRequest("files_delete"), ToolRequest("files_delete"),
        ToolRequest("files_move"),
    ]  # fmt: skip  # pairs side by side
    for request in requests:
        assert await policy.decide("ann", request, person)
    assert person.asked == [
        "ann wants to run: make test",
        "ann wants to run: make clean",
        "ann wants to run: make",
        "ann wants to write a.txt",
        "ann wants to call the tool files_delete",
        "ann wants to call the tool files_move",
    ]


@pytest.mark.parametrize("request_", [SECRET, write(".env", secret=True)])
async def test_a_secret_is_asked_about_every_time(request_: PermissionRequest) -> None:
    def everything(_: PermissionRequest) -> bool:
        return True

    policy, person = PermissionPolicy(allows=everything, allow_all=True), Person("once")
    for _ in range(2):
        assert await policy.decide("ann", request_, person)
    assert len(person.asked) == 2
    assert Question(who="ann", request=request_).for_session == ""
    assert not await policy.decide("ann", request_, Person("session"))  # It was not offered.
    assert not await policy.decide("ann", request_, None)


async def test_without_a_person_the_configuration_decides() -> None:
    policy = PermissionPolicy(allows=lambda request: request.command == ("make",))
    assert await policy.decide("ann", run("make"), None)
    assert not await policy.decide("ann", run("make", "test"), None)
    assert not await policy.decide("ann", ToolRequest("files_delete"), None)


async def test_a_question_names_the_step_of_the_worker() -> None:
    policy, person = PermissionPolicy(), Person()
    policy.find_step = {"ann": "tests"}.__getitem__
    assert not await policy.decide("ann", run("make"), person)
    assert person.asked == ["ann (step tests) wants to run: make"]


async def test_one_question_at_a_time_and_its_answer_covers_those_that_waited() -> None:
    policy, release = PermissionPolicy(), anyio.Event()
    asked: list[str] = []

    class Slow:
        async def ask(self, question: Question) -> Answer:
            asked.append(question.text)
            await release.wait()
            return "session"

    allowed: list[bool] = []

    async def decide(who: str) -> None:
        allowed.append(await policy.decide(who, run("make"), Slow()))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for who in ("ann", "bob", "eve"):
                tasks.start_soon(decide, who)
            while not asked:
                await anyio.lowlevel.checkpoint()
            release.set()
    assert asked == ["ann wants to run: make"]
    assert allowed == [True, True, True]


def write_with_every_permission(project: Path, state: str, path: str) -> bool:
    """Have a worker that may do anything write a file; tell whether it could."""
    policy = PermissionPolicy(allow_all=True, state_dir=project / state)
    tools = Workspace(project, permit=policy.permit("worker", None)).tools()
    model = ScriptedModel([call_tool("write_file", path=path, content="changed"), "Done."])
    result = Agent(model, tools).invoke_sync("Write it.")
    (answer,) = [message for message in result.messages if message.role == "tool"]
    return not answer.is_error


def plain(project: Path) -> None:
    (project / ".taskloom").mkdir()
    (project / "link").symlink_to(".taskloom")


def linked(project: Path) -> None:
    (project / "elsewhere").mkdir()
    (project / ".taskloom").symlink_to("elsewhere")


def not_there_yet(_project: Path) -> None: ...


@pytest.mark.parametrize(
    ("prepare", "state", "path"),
    [
        (plain, ".taskloom", ".taskloom/tasks/s/t.wal.jsonl"),
        (plain, ".taskloom", "src/../.taskloom/x"),
        (plain, ".taskloom", "link/x"),
        (linked, ".taskloom", ".taskloom/x"),
        (linked, ".taskloom", "elsewhere/tasks/x"),
        (not_there_yet, ".taskloom", ".taskloom/x"),
        (not_there_yet, "var/state", "var/state/x"),
    ],
)
def test_no_tool_writes_to_the_state_directory_by_any_name(
    tmp_path: Path, prepare: Callable[[Path], None], state: str, path: str
) -> None:
    prepare(tmp_path)
    assert not write_with_every_permission(tmp_path, state, path)
    assert not (tmp_path / path).exists()


def test_what_only_looks_like_the_state_directory_may_be_written(tmp_path: Path) -> None:
    plain(tmp_path)
    assert write_with_every_permission(tmp_path, ".taskloom", "src/taskloom/x")
    assert write_with_every_permission(tmp_path, ".taskloom", ".taskloom-notes")


@pytest.mark.spec("SE-104", "SE-105")
@pytest.mark.parametrize("path", ["taskloom.toml", ".git/hooks/pre-commit", ".vscode/tasks.json"])
async def test_a_protected_file_is_asked_about_whatever_was_allowed(
    tmp_path: Path, path: str
) -> None:
    def request(path: str) -> PermissionRequest:
        return PermissionRequest("write", path, target=str(tmp_path / path))

    policy = PermissionPolicy(
        allows=lambda _: True, allow_all=True, state_dir=tmp_path / ".taskloom"
    )
    person = Person("session")
    assert await policy.decide("ann", request("notes.txt"), None)
    assert not await policy.decide("ann", request(path), person), "the answer was not offered"
    person.answer = "once"
    assert await policy.decide("ann", request(path), person)
    assert person.asked == [f"ann wants to write {path} (which decides what runs here)"] * 2
    decision = await policy.answer("ann", request(path), None)
    assert not decision
    assert "Nobody could be asked" in decision.reason


@pytest.mark.spec("SE-104")
async def test_a_command_is_granted_in_its_directory_alone() -> None:
    policy, person = PermissionPolicy(), Person("session")
    for directory in (".", "vendor", "."):
        request = PermissionRequest("run", command=("./test.sh",), directory=directory)
        assert await policy.decide("ann", request, person)
    assert person.asked == [
        "ann wants to run: ./test.sh",
        "ann wants to run in vendor: ./test.sh",
    ]


@pytest.mark.spec("SE-204")
async def test_a_command_in_a_sandbox_needs_no_question_and_leaving_it_does() -> None:
    policy, person = PermissionPolicy(), Person("once")
    command = ("make", "test")
    inside = PermissionRequest("run", command=command, sandbox="bubblewrap")
    assert await policy.decide("ann", inside, person)
    assert person.asked == []
    outside = PermissionRequest("run", command=command, leaves_sandbox=True)
    assert await policy.decide("ann", outside, person)
    assert person.asked == ["ann wants to run outside the sandbox: make test"]

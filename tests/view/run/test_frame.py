"""The live part of the screen, as text; and that it never outgrows the screen."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom import CreateTask, Durability, StepStatus, UpdateStep, open_board
from taskloom.view.run.frame import draw_frame, draw_last, question_lines, steps_room
from taskloom.view.run.model import Asked, RunView, StreamView, WorkerRunView
from taskloom.view.run.output import Line
from taskloom.view.run.task_window import TaskWindow, look_at
from tests.view.boards import Stage, diamond, step
from tests.view.golden import as_text, check

GOLDEN = Path(__file__).parents[1] / "golden"
ORCHESTRATOR = WorkerRunView(
    run_id="orchestrator",
    name="orchestrator",
    step_id=None,
    age=timedelta(seconds=72),
    last="▸ agent.wait_workers",
)
ANN = WorkerRunView(
    run_id="ann-1", name="ann", step_id="b", age=timedelta(seconds=12.7), last="12 passed"
)
BOB = WorkerRunView(
    run_id="bob-1", name="bob", step_id=None, age=timedelta(hours=2), last="", stopping=True
)


def look(stage: Stage, task_id: str, most: int) -> TaskWindow:
    async def read() -> TaskWindow:
        board = open_board(stage.project, session="s1", clock=stage.clock)
        async with board:
            return await board.read(task_id, look_at(most), board.orchestrator("o", run_id="o-1"))

    return anyio.run(read)


def seen(*tasks: TaskWindow, **more: Any) -> RunView:  # noqa: ANN401 - any field of a frame
    given: dict[str, Any] = {"runs": (ORCHESTRATOR, ANN, BOB), "selected": "ann-1", **more}
    return RunView(
        goal="Tidy up the parser",
        session_id="20260101-000000-abc",
        elapsed=timedelta(seconds=75),
        tasks=tasks,
        **given,
    )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def drawn(what: RunView, *, width: int = 90, height: int = 24) -> str:
    return as_text(draw_frame(what, width, height), width=width)


def test_a_frame(stage: Stage) -> None:
    diamond(stage)
    check(drawn(seen(look(stage, "diamond", 50))), GOLDEN / "run_frame.txt")


def test_a_frame_that_asks(stage: Stage) -> None:
    diamond(stage)
    asked = Asked(
        text="ann wants to run: sh -c 'make\nrm -rf /' \x1b[8m",
        for_session="this command: sh -c 'make\nrm -rf /' \x1b[8m",
        waiting=2,
    )
    check(drawn(seen(look(stage, "diamond", 50), asked=asked)), GOLDEN / "run_asked.txt")


def test_one_runs_words(stage: Stage) -> None:
    diamond(stage)
    lines = (
        Line("thinking", "Where is the test?"),
        Line("tool", "▸ run_command command=pytest"),
        Line("output", "\x1b[31mFAILED\x1b[0m tests/test_parser.py::" + "x" * 60),
        Line("text", "I see."),
    )
    stream = StreamView(lines=lines, below=3)
    page = seen(look(stage, "diamond", 50), stream=stream, paused=True)
    check(drawn(page, width=60, height=12), GOLDEN / "run_stream.txt")


def test_how_it_ended(stage: Stage) -> None:
    diamond(stage)
    check(as_text(draw_last(seen(look(stage, "diamond", 50), runs=()))), GOLDEN / "run_last.txt")


def test_what_is_done_and_what_is_in_the_way_is_shown_before_what_waits(stage: Stage) -> None:
    stage.create("big", [step("first"), *(step(f"s{at}", "first") for at in range(300))])
    stage.complete("big", "first")
    stage.claim("big", "s250", "ann")
    bob = stage.claim("big", "s100", "bob")
    blocked = StepStatus.BLOCKED
    stage.send(UpdateStep(task_id="big", step_id="s100", status=blocked, reason="no key"), bob)
    found = look(stage, "big", 4)
    assert [each.step_id for each in found.steps] == ["s0", "s1", "s100", "s250"]
    assert found.hidden == {"completed": 1, "ready": 296}
    text = drawn(seen(found))
    assert "  … and 297 more steps: 296 ready, 1 completed" in text


def test_what_is_being_done_is_seen_however_low_the_screen(stage: Stage) -> None:
    stage.create("t", [step("first"), *(step(f"s{at}", "first") for at in range(30))])
    stage.complete("t", "first")
    stage.claim("t", "s29", "ann")
    found = look(stage, "t", 50)
    assert found.hidden == {}
    text = drawn(seen(found), height=12)
    assert "● s29  running" in text
    ready = 29 - text.count("Do s")
    assert f"  … and {ready + 1} more steps: {ready} ready, 1 completed" in text


@given(
    width=st.integers(8, 200),
    height=st.integers(3, 60),
    runs=st.integers(0, 40),
    steps=st.integers(1, 80),
    asking=st.booleans(),
    reading=st.booleans(),
)
def test_no_frame_is_higher_or_wider_than_there_is_room(
    many: TaskWindow, width: int, height: int, runs: int, steps: int, asking: bool, reading: bool
) -> None:
    workers = [
        WorkerRunView(
            run_id=f"r{at}", name=f"worker{at}", step_id="b", age=timedelta(), last="x" * 300
        )
        for at in range(runs)
    ]
    task = TaskWindow(
        task_id=many.task_id, title=many.title, status=many.status, counts=many.counts,
        stalled=False, completeable=False, outcome="", steps=many.steps[:steps], hidden={},
    )  # fmt: skip  # a Task like the other, with fewer steps
    asked = Asked(text="漢字" * 200, for_session="x" * 500, waiting=1) if asking else None
    stream = StreamView(lines=(Line("text", "漢字" * 300),) * 50) if reading else None
    page = seen(
        task, task, runs=(ORCHESTRATOR, *workers), asked=asked, stream=stream, selected="r7"
    )
    lines = drawn(page, width=width, height=height).splitlines()
    assert len(lines) <= height
    if runs > 7 and height > 20 and width > 20 and not reading and not asking:
        assert any("▸ 8 worker7" in line for line in lines), "whoever is selected is seen"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> TaskWindow:
    stage = Stage(tmp_path_factory.mktemp("many"))
    stage.create("many", [step(f"step{at}") for at in range(80)])
    return look(stage, "many", 100)


def test_a_question_loses_nothing_however_narrow_the_screen() -> None:
    asked = Asked(text="w wants to run: " + "ab" * 300, for_session="this command: " + "cd" * 300)
    lines = question_lines(asked, 31)
    assert all(len(line) <= 31 for line in lines)
    assert "".join(lines) == f"? {asked.text}  a allows for this session: {asked.for_session}"


async def test_a_frame_of_ten_thousand_steps_costs_what_is_shown(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    board = open_board(tmp_path, session="s1", durability=Durability.OS)
    async with board:
        actor = board.orchestrator("o", run_id="o-1")
        steps = [step("s0"), *(step(f"s{at}", f"s{(at - 1) // 3}") for at in range(1, 10_000))]
        await board.send(
            CreateTask(task_id="big", wal_name="big", title="Big", steps=tuple(steps)), actor
        )
        room = steps_room(50, 3, 1)
        found = await board.read("big", look_at(room), actor)
        began = process_time()
        for _ in range(10):
            found = await board.read("big", look_at(room), actor)
            as_text(draw_frame(seen(found), 120, 50), width=120)
        figure(f"{(process_time() - began) * 100:.1f} ms of processor time a frame")
    assert len(found.steps) == room
    assert sum(found.counts.values()) == 10_000

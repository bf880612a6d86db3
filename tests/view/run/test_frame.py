"""The live region as text; it never outgrows the screen."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom import Durability, StepStatus, open_board
from taskloom.board import CreateTask, UpdateStep
from taskloom.view.run.frame import draw_final, draw_frame, question_lines, steps_limit
from taskloom.view.run.model import OutputView, QuestionView, RunView, WorkerRunView
from taskloom.view.run.output import Line
from taskloom.view.run.task_window import TaskWindow, window_reader
from tests.view.golden import as_text, check
from tests.view.sample_boards import SampleBoard, diamond, step

GOLDEN = Path(__file__).parents[1] / "golden"
ORCHESTRATOR = WorkerRunView(
    run_id="orchestrator",
    name="orchestrator",
    step_id=None,
    age=timedelta(seconds=72),
    last_line="▸ agent.wait_workers",
)
ANN = WorkerRunView(
    run_id="ann-1", name="ann", step_id="b", age=timedelta(seconds=12.7), last_line="12 passed"
)
BOB = WorkerRunView(
    run_id="bob-1", name="bob", step_id=None, age=timedelta(hours=2), last_line="", is_stopping=True
)


def window(sample: SampleBoard, task_id: str, steps: int) -> TaskWindow:
    async def read() -> TaskWindow:
        board = open_board(sample.project, session="s1", clock=sample.clock)
        async with board:
            return await board.read(
                task_id, window_reader(steps), board.orchestrator("o", run_id="o-1")
            )

    return anyio.run(read)


def view(*tasks: TaskWindow, **more: Any) -> RunView:  # noqa: ANN401 - any field of a frame
    fields: dict[str, Any] = {"runs": (ORCHESTRATOR, ANN, BOB), "selected": "ann-1", **more}
    return RunView(
        goal="Tidy up the parser",
        session_id="20260101-000000-abc",
        elapsed=timedelta(seconds=75),
        tasks=tasks,
        **fields,
    )


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    return SampleBoard(tmp_path)


def drawn(page: RunView, *, width: int = 90, height: int = 24) -> str:
    return as_text(draw_frame(page, width, height), width=width)


def test_a_frame(sample: SampleBoard) -> None:
    diamond(sample)
    check(drawn(view(window(sample, "diamond", 50))), GOLDEN / "run_frame.txt")


def test_a_frame_with_a_question(sample: SampleBoard) -> None:
    diamond(sample)
    question = QuestionView(
        text="ann wants to run: sh -c 'make\nrm -rf /' \x1b[8m",
        for_session="this command: sh -c 'make\nrm -rf /' \x1b[8m",
        waiting=2,
    )
    check(
        drawn(view(window(sample, "diamond", 50), question=question)), GOLDEN / "run_question.txt"
    )


def test_the_output_of_one_run(sample: SampleBoard) -> None:
    diamond(sample)
    lines = (
        Line("thinking", "Where is the test?"),
        Line("tool", "▸ run_command command=pytest"),
        Line("output", "\x1b[31mFAILED\x1b[0m tests/test_parser.py::" + "x" * 60),
        Line("text", "I see."),
    )
    output = OutputView(lines=lines, below=3)
    page = view(window(sample, "diamond", 50), output=output, is_paused=True)
    check(drawn(page, width=60, height=12), GOLDEN / "run_output.txt")


def test_the_final_board(sample: SampleBoard) -> None:
    diamond(sample)
    check(
        as_text(draw_final(view(window(sample, "diamond", 50), runs=()))), GOLDEN / "run_final.txt"
    )


def test_running_and_blocked_steps_are_shown_before_waiting_ones(sample: SampleBoard) -> None:
    sample.create("big", [step("first"), *(step(f"s{at}", "first") for at in range(300))])
    sample.complete("big", "first")
    sample.claim("big", "s250", "ann")
    bob = sample.claim("big", "s100", "bob")
    blocked = StepStatus.BLOCKED
    sample.send(UpdateStep(task_id="big", step_id="s100", status=blocked, reason="no key"), bob)
    found = window(sample, "big", 4)
    assert [each.step_id for each in found.steps] == ["s0", "s1", "s100", "s250"]
    assert found.hidden == {"completed": 1, "ready": 296}
    text = drawn(view(found))
    assert "  … and 297 more steps: 296 ready, 1 completed" in text


def test_running_steps_are_shown_on_the_lowest_screen(sample: SampleBoard) -> None:
    sample.create("t", [step("first"), *(step(f"s{at}", "first") for at in range(30))])
    sample.complete("t", "first")
    sample.claim("t", "s29", "ann")
    found = window(sample, "t", 50)
    assert found.hidden == {}
    text = drawn(view(found), height=12)
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
def test_no_frame_is_larger_than_the_screen(
    many: TaskWindow, width: int, height: int, runs: int, steps: int, asking: bool, reading: bool
) -> None:
    workers = [
        WorkerRunView(
            run_id=f"r{at}", name=f"worker{at}", step_id="b", age=timedelta(), last_line="x" * 300
        )
        for at in range(runs)
    ]
    task = TaskWindow(
        task_id=many.task_id, title=many.title, status=many.status, counts=many.counts,
        stalled=False, completeable=False, outcome="", steps=many.steps[:steps], hidden={},
    )  # fmt: skip  # a Task like the other, with fewer steps
    question = QuestionView(text="漢字" * 200, for_session="x" * 500, waiting=1) if asking else None
    output = OutputView(lines=(Line("text", "漢字" * 300),) * 50) if reading else None
    page = view(
        task, task, runs=(ORCHESTRATOR, *workers), question=question, output=output, selected="r7"
    )
    lines = drawn(page, width=width, height=height).splitlines()
    assert len(lines) <= height
    if runs > 7 and height > 20 and width > 20 and not reading and not asking:
        assert any("▸ 8 worker7" in line for line in lines), "the selected run is shown"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> TaskWindow:
    sample = SampleBoard(tmp_path_factory.mktemp("many"))
    sample.create("many", [step(f"step{at}") for at in range(80)])
    return window(sample, "many", 100)


def test_a_question_is_shown_whole_on_the_narrowest_screen() -> None:
    question = QuestionView(
        text="w wants to run: " + "ab" * 300, for_session="this command: " + "cd" * 300
    )
    lines = question_lines(question, 31)
    assert all(len(line) <= 31 for line in lines)
    assert "".join(lines) == f"? {question.text}  a allows for this session: {question.for_session}"


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
        limit = steps_limit(50, 3, 1)
        found = await board.read("big", window_reader(limit), actor)
        began = process_time()
        for _ in range(10):
            found = await board.read("big", window_reader(limit), actor)
            as_text(draw_frame(view(found), 120, 50), width=120)
        figure(f"{(process_time() - began) * 100:.1f} ms of processor time a frame")
    assert len(found.steps) == limit
    assert sum(found.counts.values()) == 10_000

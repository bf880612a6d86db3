"""What one call costs as the plan grows: decided, encoded and applied, on a log in memory."""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import TypeVar

from bench.boards import ORCHESTRATOR, RESULT, TASK, create, dag, worker
from bench.table import Row
from taskloom import MemoryLog, StepStatus, UpdateFields, UpdateStepContent
from taskloom.board import ClaimStep, QuerySteps, UpdateBoard, UpdateStep, query_steps
from taskloom.runtime import TaskWriter, TaskWriters

_T = TypeVar("_T")

SIZES = (100, 1_000, 10_000, 100_000)
ROUNDS = 60
"""Fewer than a plan of 100 steps has ready at its start."""


def run() -> Iterator[Row]:
    """Measure."""
    costs = {size: _measure(size) for size in SIZES}
    for name in costs[SIZES[0]]:
        first, last = costs[SIZES[0]][name], costs[SIZES[-1]][name]
        steps = ", ".join(f"{costs[size][name] * 1e6:.0f}" for size in SIZES)
        yield Row(
            f"{name} at 100 / 1k / 10k / 100k steps: {steps} us",
            f"{last * 1e6:.1f} us",
            f"{first * 1e6:.1f} us",
            last / first,
            2.0,
        )


def _measure(size: int) -> dict[str, float]:
    writer = create(TaskWriters(MemoryLog(), "s1"), dag(size))
    times: dict[str, list[float]] = {"claim": [], "complete": [], "query of 5": [], "update": []}
    for number in range(ROUNDS):
        query = QuerySteps(task_id=TASK, statuses=[StepStatus.READY], limit=5)
        actor = worker(number)
        page = _timed(
            times["query of 5"],
            lambda: writer.ask(lambda task, _: query_steps(task, query, actor), actor),  # noqa: B023 - called at once
        )
        step_id = page.steps[0].step_id
        _send(writer, times["claim"], ClaimStep(task_id=TASK, step_id=step_id), number)
        done = UpdateStep(
            task_id=TASK, step_id=step_id, status=StepStatus.COMPLETED, result_summary=RESULT
        )
        _send(writer, times["complete"], done, number)
        change = UpdateStepContent(
            step_id=f"step-{size - 1 - number % 10}",
            fields=UpdateFields(title=f"Another title {number}"),
        )
        update = UpdateBoard(task_id=TASK, operations=(change,))
        _timed(times["update"], lambda: writer.send(update, ORCHESTRATOR))  # noqa: B023 - called at once
    return {name: median(found) for name, found in times.items()}


def _send(
    writer: TaskWriter, times: list[float], command: ClaimStep | UpdateStep, number: int
) -> None:
    _timed(times, lambda: writer.send(command, worker(number)))


def _timed(times: list[float], call: Callable[[], _T]) -> _T:
    start = perf_counter()
    answer = call()
    times.append(perf_counter() - start)
    return answer

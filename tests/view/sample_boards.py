"""Sample boards: real ones on disk, with a clock that the test moves."""

import json
from collections.abc import Iterable
from pathlib import Path

from taskloom import (
    Durability,
    NewStep,
    StepStatus,
    SyncBoard,
    UpdateFields,
    UpdateStepContent,
    open_board,
)
from taskloom.board import Actor, ClaimStep, Command, CreateTask, UpdateBoard, UpdateStep
from taskloom.testing import FakeClock

SESSION = "s1"


class SampleBoard:
    """A session of a project, and short ways to change it."""

    def __init__(self, project: Path, session_id: str = SESSION) -> None:
        self.project = project
        self.clock = FakeClock()
        board = open_board(project, session=session_id, clock=self.clock, durability=Durability.OS)
        self.board = SyncBoard(board.writers)
        self.orchestrator = board.orchestrator("orc", run_id="orc-1")
        self._make_worker = board.worker
        self.directory = project / ".taskloom" / "tasks" / session_id

    def wal(self, name: str) -> Path:
        return self.directory / f"{name}.wal.jsonl"

    def worker(self, task_id: str, name: str, run: int = 1) -> Actor:
        return self._make_worker(name, run_id=f"{name}-{run}", task_id=task_id)

    def send(self, command: CreateTask | Command, actor: Actor | None = None) -> int:
        """Send a command one second later; return the fence of a claim, or 0."""
        self.clock.move(1)
        return self.board.send(command, actor or self.orchestrator).fence or 0

    def create(self, task_id: str, steps: Iterable[NewStep], title: str = "A plan") -> Path:
        self.send(CreateTask(task_id=task_id, wal_name=task_id, title=title, steps=tuple(steps)))
        return self.wal(task_id)

    def complete(self, task_id: str, step_id: str, result: str | None = None) -> None:
        status = StepStatus.COMPLETED
        self.send(
            UpdateStep(task_id=task_id, step_id=step_id, status=status, result_summary=result)
        )

    def claim(self, task_id: str, step_id: str, name: str) -> Actor:
        worker = self.worker(task_id, name)
        fence = self.send(ClaimStep(task_id=task_id, step_id=step_id), worker)
        running = StepStatus.RUNNING
        self.send(UpdateStep(task_id=task_id, step_id=step_id, status=running, fence=fence), worker)
        return worker


def step(step_id: str, *after: str, title: str = "", required: bool = True) -> NewStep:
    return NewStep(
        step_id=step_id,
        title=title or f"Do {step_id}",
        depends_on_step_ids=after,
        required=required,
    )


def diamond(sample: SampleBoard) -> Path:
    """a, then b and c, then d. Last line 11: a is done, ann runs b, c is blocked."""
    path = sample.create(
        "diamond", [step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")]
    )
    sample.complete("diamond", "a", "fetched 12 pages")
    sample.claim("diamond", "b", "ann")
    bob = sample.claim("diamond", "c", "bob")
    blocked = StepStatus.BLOCKED
    sample.send(
        UpdateStep(task_id="diamond", step_id="c", status=blocked, reason="no key", fence=None), bob
    )
    return path


def change_after_dispatch(sample: SampleBoard) -> None:
    """Change the text of the step that ann runs."""
    fields = UpdateFields(title="Do b well", summary="All 12 pages, not 10.")
    change = UpdateStepContent(step_id="b", fields=fields)
    sample.send(UpdateBoard(task_id="diamond", operations=(change,)))


def reference_wal(path: Path) -> Path:
    """A log as the reference implementation writes it."""
    ids = {"task_id": "Old.Task", "session_id": "old", "actor_agent_id": "main"}
    steps: list[dict[str, object]] = [
        {"step_id": "A.1", "title": "First", "summary": "", "status": "ready", "required": True,
         "depends_on_step_ids": [], "worker_pool_id": "default", "artifact_ids": []},
        {"step_id": "B.2", "title": "Second", "summary": "", "status": "pending", "required": True,
         "depends_on_step_ids": ["A.1"], "worker_pool_id": "default", "artifact_ids": []},
    ]  # fmt: skip  # a step is two lines to the eye
    task: dict[str, object] = {
        "task_id": "Old.Task", "wal_name": path.name, "title": "From elsewhere", "summary": "",
        "status": "running", "steps": steps, "root_step_ids": ["A.1"],
    }  # fmt: skip  # as above
    holder = {"claimed_by_agent_id": "w", "claimed_by_run_id": "w-1"}
    lease = {"lease_expires_at": "2026-01-01T00:05:00+00:00"}
    events: list[tuple[str, str | None, dict[str, object]]] = [
        ("task_created", None, {"task": task}),
        ("task_step_ready", "A.1", {"previous_status": "pending", "status": "ready"}),
        ("task_running", None, {"previous_status": "pending", "status": "running"}),
        ("task_step_claimed", "A.1", {"previous_status": "ready", **holder, **lease}),
        ("task_step_completed", "A.1", {"previous_status": "claimed", "result_summary": "done",
                                        "artifact_ids": []}),
        ("task_step_ready", "B.2", {"previous_status": "pending", "status": "ready"}),
    ]  # fmt: skip  # an event is a line to the eye
    lines = [
        {"wal_seq": seq, "event_id": f"task_evt_{seq}", "event_type": kind, "step_id": about,
         "actor_run_id": "run-1", **ids, "payload": payload,
         "created_at": f"2026-01-01T00:00:0{seq}+00:00"}
        for seq, (kind, about, payload) in enumerate(events, 1)
    ]  # fmt: skip  # as above
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path

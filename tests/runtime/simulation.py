"""A board lived through from a seed: an Orchestrator, 16 workers, several processes, one disk.

The real board, codec, log and runtime run on a clock that is moved by hand and a disk in memory.
Chance decides who acts next, whose acknowledgement gets lost, when the clock jumps, which process
dies at which call of the disk, and when the power goes. The same seed is the same life: two
runs leave the same bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from random import Random
from typing import Final, TypeVar

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    EndRun,
    FailTask,
    NewStep,
    QuerySteps,
    Receipt,
    RenewLease,
    RunOutcome,
    StepStatus,
    StepView,
    TaskView,
    UpdateStep,
)
from taskloom.errors import RefusedError
from taskloom.log import Disk, JsonlLog
from taskloom.runtime import SyncBoard, TaskWriters
from taskloom.testing import Crashed, FakeClock, Fault, FaultyDisk, MemoryDisk
from tests.crash.acknowledgements import SESSION, Acknowledgements
from tests.crash.known_logs import BOSS, updating, worker

_T = TypeVar("_T")

WORKERS: Final = 16
PROCESSES: Final = 3


class Process:
    """One process with a session of its own; it may die and be started again."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.start()

    def start(self) -> None:
        self.disk = self._world.disk.another_process()
        self.use(self.disk)
        self.board.writers.resume()

    def use(self, disk: Disk) -> None:
        world = self._world
        log = JsonlLog(SESSION, disk=disk)
        session = TaskWriters(log, "s1", clock=world.clock, new_prefix=world.new_prefix)
        self.board = SyncBoard(session)

    def fail_at(self, call: int, fault: Fault) -> None:
        """Begin again on a disk that will end this process at some call."""
        self.disk.kill()
        self.disk = self._world.disk.another_process()
        self.use(FaultyDisk(self.disk, fault, at=call))

    def restart(self) -> None:
        self.disk.kill()
        self.start()


@dataclass
class Claim:
    """What a worker holds, as far as it knows."""

    actor: Actor
    task_id: str
    step_id: str
    fence: int | None


class World:
    """One life."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.clock = FakeClock()
        self.disk = MemoryDisk()
        self.account = Acknowledgements()
        self.runs: dict[str, str] = {}
        """Who sent which command: asked again, it must be the same run."""
        self._prefixes = count()
        self._names = count()
        self.claims: dict[int, Claim] = {}
        self.tasks: list[str] = []
        self.seen: dict[str, int] = {}
        self.processes = [Process(self) for _ in range(PROCESSES)]

    def new_prefix(self) -> str:
        return f"e{next(self._prefixes)}"

    @property
    def events(self) -> int:
        return sum(self.seen.values())

    def live(self, events: int) -> None:
        """Go on until the logs hold so many events."""
        ways = (self._work, self._plan, self._let_time_pass, self._die)
        while self.events < events:
            [act] = self.chance.choices(ways, (80, 14, 5, 0.3))
            act()

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt | None:
        """Send through some process; ask again where the acknowledgement was lost."""
        command = replace(command, command_id=f"c{next(self._names)}")
        process = self.chance.choice(self.processes)
        if self.chance.random() < 0.002:
            fault = self.chance.choice((Fault.CRASH_BEFORE, Fault.CRASH_AFTER))
            process.fail_at(self.chance.randint(1, 25), fault)
        try:
            receipt = process.board.send(command, actor)
        except RefusedError:
            return None
        except Crashed:
            process.restart()
            if self.chance.random() < 0.1:
                self._cut_power()
            return self._send_again(command, actor)
        if self.chance.random() < 0.02:
            again = self._send_again(command, actor)
            assert again is not None
            assert again.event_ids == receipt.event_ids
            assert again.fence == receipt.fence
        return self._note(command, receipt)

    def _send_again(self, command: CreateTask | Command, actor: Actor) -> Receipt | None:
        try:
            receipt = self.chance.choice(self.processes).board.send(command, actor)
        except Crashed:
            self._restart_all()
            return self._send_again(command, actor)
        except RefusedError:
            return None
        return self._note(command, receipt)

    def _note(self, command: CreateTask | Command, receipt: Receipt) -> Receipt:
        if receipt.event_ids:
            self.account.note(command.command_id or "", receipt)
        self.seen[receipt.task_id] = max(self.seen.get(receipt.task_id, 0), receipt.seq)
        return receipt

    # What may happen.

    def _work(self) -> None:
        number = self.chance.randrange(WORKERS)
        claim = self.claims.get(number)
        if claim is None:
            self._look_for_work(number)
        else:
            self._go_on(number, claim)

    def _look_for_work(self, number: int) -> None:
        if not self.tasks:
            return
        task_id = self.chance.choice(self.tasks)
        actor = worker(f"w{number}-{next(self._names)}", task_id)
        query = QuerySteps(task_id=task_id, statuses=(StepStatus.READY,))
        page = self._ask(lambda board: board.query(query, actor))
        if page is None or not page.steps:
            return
        step: StepView = self.chance.choice(page.steps)
        receipt = self.send(ClaimStep(task_id=task_id, step_id=step.step_id), actor)
        if receipt is not None:
            self.claims[number] = Claim(actor, task_id, step.step_id, receipt.fence)

    def _go_on(self, number: int, claim: Claim) -> None:
        task_id, step_id = claim.task_id, claim.step_id

        def update(
            status: StepStatus | None = None, result: str | None = None, reason: str | None = None
        ) -> Command:
            return UpdateStep(
                task_id=task_id,
                step_id=step_id,
                status=status,
                result_summary=result,
                reason=reason,
                fence=claim.fence,
            )

        endings: list[Command | None] = [
            update(StepStatus.COMPLETED, result="done"),
            update(StepStatus.FAILED, reason="it did not work"),
            update(StepStatus.BLOCKED, reason="I need help"),
            EndRun(task_id=task_id, outcome=RunOutcome.FAILED),
            None,  # The worker is gone; its lease will run out.
        ]
        on_the_way: list[Command] = [
            update(StepStatus.RUNNING),
            update(result="half of it"),
            RenewLease(task_id=task_id, step_id=step_id, fence=claim.fence),
        ]
        if self.chance.random() < 0.35:
            self.send(self.chance.choice(on_the_way), claim.actor)
            return
        [ending] = self.chance.choices(endings, (80, 6, 4, 4, 6))
        del self.claims[number]
        if ending is not None:
            self.send(ending, claim.actor)

    def _plan(self) -> None:
        if len(self.tasks) < 2 or self.chance.random() < 0.03:
            self._create()
            return
        task_id = self.chance.choice(self.tasks)
        task = self._ask(lambda board: board.get(task_id, BOSS))
        if task is None:
            return
        if task.completeable and self.chance.random() < 0.5:
            self._end(CompleteTask(task_id=task_id, result_summary="well done"))
        elif self.chance.random() < 0.02:
            kind = self.chance.choice((FailTask, CancelTask))
            self._end(kind(task_id=task_id, reason="enough"))
        else:
            self.send(updating(*self._operations(task), task_id=task_id), BOSS)

    def _operations(self, task: TaskView) -> list[dict[str, object]]:
        chance = self.chance
        if task.status == "blocked":
            return [{"op": "update_task", "status": "pending"}]
        stuck = [each.step_id for each in task.steps if each.status in ("blocked", "failed")]
        if stuck:
            return [{"op": "reopen_step", "step_id": chance.choice(stuck)}]
        if chance.random() < 0.1:
            return [{"op": "update_task", "status": "blocked", "reason": "wait"}]
        some = chance.choice(task.steps).step_id
        other = chance.choice(task.steps).step_id
        new = f"n{next(self._names)}"
        ways: list[list[dict[str, object]]] = [
            [{"op": "add_step", "step": _new_step(new, some)}],
            [{"op": "add_step", "step": _new_step(new)}],
            [{"op": "add_dependency", "step_id": some, "depends_on_step_id": other}],
            [{"op": "cancel_step", "step_id": some}],
            [{"op": "update_step", "step_id": some, "fields": {"title": new, "required": False}}],
        ]
        return chance.choices(ways, (4, 6, 1, 1, 1))[0]

    def _create(self) -> None:
        chance = self.chance
        task_id = f"task-{next(self._names)}"
        steps: list[NewStep] = []
        for number in range(chance.randint(6, 40)):
            before = [step.step_id for step in steps]
            needs = chance.sample(before, min(len(before), chance.choice((0, 0, 1, 2))))
            steps.append(NewStep(step_id=f"s{number}", title="S", depends_on_step_ids=tuple(needs)))
        command = CreateTask(task_id=task_id, wal_name=task_id, title="T", steps=tuple(steps))
        if self.send(command, BOSS) is not None:
            self.tasks.append(task_id)

    def _end(self, command: CompleteTask | FailTask | CancelTask) -> None:
        if self.send(command, BOSS) is not None:
            self.tasks.remove(command.task_id)

    def _let_time_pass(self) -> None:
        seconds = self.chance.choices((1, 30, 400, -600, 0), (50, 30, 14, 5, 1))[0]
        self.clock.move(timedelta(seconds=seconds))

    def _die(self) -> None:
        self.chance.choice(self.processes).restart()
        if self.chance.random() < 0.1:
            self._cut_power()

    def _cut_power(self) -> None:
        self.disk = self.disk.power_cut(self.chance, block_bytes=512)
        self._restart_all()

    def _restart_all(self) -> None:
        for process in self.processes:
            process.restart()

    def _ask(self, ask: Callable[[SyncBoard], _T]) -> _T | None:
        process = self.chance.choice(self.processes)
        try:
            return ask(process.board)
        except RefusedError:
            return None
        except Crashed:
            process.restart()
            return None


def _new_step(step_id: str, *depends_on: str) -> dict[str, object]:
    return {"step_id": step_id, "title": "New", "depends_on_step_ids": list(depends_on)}

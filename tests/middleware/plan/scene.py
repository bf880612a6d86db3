"""What the tests of planning need: calls through a real agent, a list looked at from outside."""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from taskloom.agent import Agent, CustomEvent, Message, ScriptedModel, ToolResult, call_tool
from taskloom.files import FileInfo, MemoryFiles
from taskloom.middleware import PlanChanged, PlanItem, PlanTasks

BASE = "plans/s1"


class Answer(Struct, frozen=True):
    """What a call gave the model."""

    text: str
    is_error: bool = False


class Played(Struct, frozen=True):
    """What came of a run."""

    answers: list[Answer]
    changes: list[PlanChanged]


async def play(plan: PlanTasks, *replies: Message | str, **options: object) -> Played:
    """Let a model make these calls, one reply after the other."""
    agent = Agent(
        ScriptedModel([*replies, "done"]),
        middleware=[plan],
        max_iterations=10_000,
        **options,  # type: ignore[arg-type]  # whatever a test wants
    )
    answers: list[Answer] = []
    changes: list[PlanChanged] = []
    async for event in agent.run("go"):
        if isinstance(event, ToolResult):
            answers.append(Answer(event.message.text, event.message.is_error))
        elif isinstance(event, CustomEvent) and isinstance(event.data, PlanChanged):
            changes.append(event.data)
    return Played(answers, changes)


async def ask(plan: PlanTasks, name: str, **arguments: object) -> Answer:
    """Make one call, in a run of its own."""
    (answer,) = (await play(plan, call_tool(name, **arguments))).answers
    return answer


async def refused(plan: PlanTasks, name: str, **arguments: object) -> str:
    """Make a call that is a mistake; return what the model is told."""
    answer = await ask(plan, name, **arguments)
    assert answer.is_error, answer.text
    return answer.text


async def done(plan: PlanTasks, name: str, **arguments: object) -> str:
    """Make a call that is right; return what the model is told."""
    answer = await ask(plan, name, **arguments)
    assert not answer.is_error, answer.text
    return answer.text


async def planned(plan: PlanTasks, count: int) -> None:
    """Add tasks, called `task 1` and so on."""
    for number in range(count):
        await done(plan, "TaskCreate", subject=f"task {number + 1}", description="do it")


async def by_id(plan: PlanTasks) -> dict[str, PlanItem]:
    return {item.id: item for item in await plan.tasks()}


def check_edges(files: Mapping[str, Mapping[str, Any]]) -> None:
    """Every edge stands on both sides, leads to a task that is there, and closes no circle."""
    for id_, task in files.items():
        assert task["id"] == id_
        for other in task["blocks"]:
            assert id_ in files[other]["blockedBy"], (id_, other)
        for other in task["blockedBy"]:
            assert id_ in files[other]["blocks"], (id_, other)
        assert len(set(task["blocks"])) == len(task["blocks"])
    left = dict(files)
    while left:
        free = [id_ for id_, task in left.items() if not left.keys() & set(task["blockedBy"])]
        assert free, f"a circle among {sorted(left)}"
        for id_ in free:
            del left[id_]


async def stored(files: MemoryFiles, base: str = BASE) -> dict[str, dict[str, Any]]:
    """The task files as they are in the storage."""
    infos = await files.ls_info(base)
    names = [info.path for info in infos if info.path.rpartition("/")[2][0] != "."]
    texts = {
        name.rpartition("/")[2].removesuffix(".json"): await files.read(name) for name in names
    }
    return {id_: json.loads(text) for id_, text in texts.items()}


class Faulty:
    """A storage that fails as disks and servers do: at some writes, or from one on.

    It offers the four methods and the lock, and passes everything else on to files in memory.
    """

    def __init__(self, inner: MemoryFiles, failing: Iterable[int], *, lands: bool = False) -> None:
        self.inner = inner
        self.failing = failing
        self.lands = lands
        self.writes = 0
        self.reads = 0
        self.listings = 0

    async def ls_info(self, path: str) -> list[FileInfo]:
        self.listings += 1
        return await self.inner.ls_info(path)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        self.reads += 1
        return await self.inner.read(path, offset, limit)

    async def write(self, path: str, content: str) -> None:
        fails = self._fails()
        if not fails or self.lands:
            await self.inner.write(path, content)
        if fails:
            raise OSError("the disk is full")

    async def delete(self, path: str) -> None:
        fails = self._fails()
        if not fails or self.lands:
            await self.inner.delete(path)
        if fails:
            raise OSError("the disk is full")

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        async with self.inner.lock(path):
            yield

    async def version(self, path: str) -> str:
        return await self.inner.version(path)

    def _fails(self) -> bool:
        self.writes += 1
        return self.writes in self.failing

"""Helpers for tests of planning: tool calls through a real agent, and the stored files."""

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
    """The result of one tool call."""

    text: str
    is_error: bool = False


class ScriptRun(Struct, frozen=True):
    """The results and plan events of a run."""

    answers: list[Answer]
    changes: list[PlanChanged]


async def run_script(plan: PlanTasks, *replies: Message | str, **options: object) -> ScriptRun:
    """Run an agent whose model makes these replies."""
    agent = Agent(
        ScriptedModel([*replies, "done"]),
        middleware=[plan],
        max_iterations=10_000,
        **options,  # type: ignore[arg-type]  # any option of Agent
    )
    answers: list[Answer] = []
    changes: list[PlanChanged] = []
    async for event in agent.run("go"):
        if isinstance(event, ToolResult):
            answers.append(Answer(event.message.text, event.message.is_error))
        elif isinstance(event, CustomEvent) and isinstance(event.data, PlanChanged):
            changes.append(event.data)
    return ScriptRun(answers, changes)


async def call(plan: PlanTasks, name: str, **arguments: object) -> Answer:
    """Make one call in its own run."""
    (answer,) = (await run_script(plan, call_tool(name, **arguments))).answers
    return answer


async def call_error(plan: PlanTasks, name: str, **arguments: object) -> str:
    """Make a call that must fail; return the error text."""
    answer = await call(plan, name, **arguments)
    assert answer.is_error, answer.text
    return answer.text


async def call_ok(plan: PlanTasks, name: str, **arguments: object) -> str:
    """Make a call that must succeed; return its text."""
    answer = await call(plan, name, **arguments)
    assert not answer.is_error, answer.text
    return answer.text


async def add_tasks(plan: PlanTasks, count: int) -> None:
    """Create tasks with the subjects `task 1`, `task 2` and so on."""
    for number in range(count):
        await call_ok(plan, "TaskCreate", subject=f"task {number + 1}", description="do it")


async def tasks_by_id(plan: PlanTasks) -> dict[str, PlanItem]:
    return {item.id: item for item in await plan.tasks()}


def check_edges(files: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that every edge is on both sides and leads to a task, and that there is no cycle."""
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
        assert free, f"a cycle among {sorted(left)}"
        for id_ in free:
            del left[id_]


async def stored_tasks(files: MemoryFiles, base: str = BASE) -> dict[str, dict[str, Any]]:
    """Return the decoded task files."""
    infos = await files.ls_info(base)
    names = [info.path for info in infos if info.path.rpartition("/")[2][0] != "."]
    texts = {
        name.rpartition("/")[2].removesuffix(".json"): await files.read(name) for name in names
    }
    return {id_: json.loads(text) for id_, text in texts.items()}


class FaultyFiles:
    """Files in memory whose writes of certain numbers fail.

    With `lands` a failing write has its effect all the same.
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

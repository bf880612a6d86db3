"""Random calls by concurrent runs keep the list consistent."""

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.agent import Message, call_tools
from taskloom.files import MemoryFiles
from taskloom.middleware import PlanTasks
from tests.middleware.plan.plan_calls import BASE, check_edges, run_script, stored_tasks

IDS = st.sampled_from([str(number) for number in range(1, 9)])
SOME = st.lists(IDS, max_size=3)
UPDATE = st.fixed_dictionaries(
    {"taskId": IDS},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "completed", "deleted"]),
        "addBlocks": SOME,
        "addBlockedBy": SOME,
        "removeBlocks": SOME,
        "removeBlockedBy": SOME,
        "owner": st.sampled_from(["", "ann"]),
    },
)
CREATE = st.just({"subject": "s", "description": "d"})
CALL = st.one_of(
    st.tuples(st.just("TaskCreate"), CREATE),
    st.tuples(st.just("TaskUpdate"), UPDATE),
    st.tuples(st.just("TaskUpdate"), UPDATE),
)
RUNS = st.lists(
    st.lists(st.lists(CALL, min_size=1, max_size=3), max_size=6), min_size=1, max_size=3
)


async def keeps_the_list_consistent(
    runs: list[list[list[tuple[str, dict[str, Any]]]]], *, keep: bool, order: bool
) -> None:
    files = MemoryFiles()
    given_ids: list[str] = []

    def plan() -> PlanTasks:
        return PlanTasks(files, BASE, keep_completed=keep, enforce_order=order)

    async def work(replies: list[list[tuple[str, dict[str, Any]]]]) -> None:
        messages: list[Message] = [call_tools(*calls) for calls in replies]
        for answer in (await run_script(plan(), *messages)).answers:
            if "created" in answer.text:
                given_ids.append(answer.text.split()[1])
            check_edges(await stored_tasks(files))

    await work([[("TaskCreate", {"subject": "s", "description": "d"})] * 5])
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for replies in runs:
                group.start_soon(work, replies)
    assert len(set(given_ids)) == len(given_ids)
    found = await stored_tasks(files)
    check_edges(found)
    seen = {item.id: item for item in await plan().tasks()}
    assert {id_: (task["status"], tuple(task["blocks"])) for id_, task in found.items()} == {
        id_: (item.status, item.blocks) for id_, item in seen.items()
    }
    highest = int(await files.read(f"{BASE}/.highwatermark"))
    assert highest == max(int(id_[1:]) for id_ in given_ids)


@pytest.mark.spec("PT-104", "PT-305", "PT-202", "PT-306")
@settings(max_examples=100)
@given(RUNS, st.booleans(), st.booleans())
def test_calls_of_several_runs_keep_the_list_consistent(
    runs: list[list[list[tuple[str, dict[str, Any]]]]], keep: bool, order: bool
) -> None:
    async def check() -> None:
        await keeps_the_list_consistent(runs, keep=keep, order=order)

    anyio.run(check)


@pytest.mark.deep
@given(RUNS, st.booleans(), st.booleans())
def test_many_more_calls_keep_the_list_consistent(
    runs: list[list[list[tuple[str, dict[str, Any]]]]], keep: bool, order: bool
) -> None:
    async def check() -> None:
        await keeps_the_list_consistent(runs, keep=keep, order=order)

    anyio.run(check)

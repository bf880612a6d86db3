"""The ACP interface: a plan on the wire, the cost of a big plan, and ten thousand turns."""

import asyncio
import resource
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.table import Row
from taskloom import NewStep, StepStatus, open_board
from taskloom.acp import AcpOptions, ItemsPlan, PlanEntry, PlanPublisher, serve
from taskloom.acp.plans.board_feed import BoardFeed
from taskloom.acp.plans.client_state import ClientPlanState
from taskloom.acp.plans.encoding import PlanFormat, plan_update
from taskloom.acp.protocol.jsonrpc_transport import JsonRpcTransport, encode
from taskloom.agent import Message, ScriptedModel
from taskloom.board import ClaimStep, CreateTask, UpdateStep

CHANGES = 40
ENTRIES = 1_000
ROUNDS = 50
TURNS = 10_000
WARM = 2_000
"""Turns before memory is first looked at: by then the history is as long as it gets."""


def run() -> Iterator[Row]:
    """Measure all three."""
    with tempfile.TemporaryDirectory() as folder:
        waits = asyncio.run(_board_to_wire(Path(folder)))
    worst = max(waits) * 1000
    yield Row(
        f"acp: board change to plan update on the wire, worst of {len(waits)}",
        f"{worst:.0f} ms",
        "200 ms",
        worst,
        200,
    )
    yield Row(
        "acp: the same, median (150 ms of it is the joining)", f"{median(waits) * 1000:.0f} ms", ""
    )
    cost = _big_plan() * 1000
    yield Row(
        f"acp: update of a plan of {ENTRIES} entries, CPU", f"{cost:.2f} ms", "20 ms", cost, 20
    )
    with tempfile.TemporaryDirectory() as folder:
        grown, spent = asyncio.run(_turns(Path(folder)))
    yield Row(
        f"acp: memory after {TURNS} turns beside after {WARM}",
        f"{grown[1] / 1024:.0f} MiB",
        f"{grown[0] / 1024:.0f} MiB",
        grown[1] / grown[0],
        1.05,
    )
    yield Row("acp: one such turn, two records made durable", f"{spent * 1000:.1f} ms", "")


async def _board_to_wire(folder: Path) -> list[float]:
    """Let a worker go through steps, and take the time from each change to its line on a socket."""
    ours, theirs = socket.socketpair()
    reader, _ = await asyncio.open_connection(sock=ours)
    source, sink = await asyncio.open_connection(sock=theirs)
    transport = JsonRpcTransport(source, sink)

    async def send(update: dict[str, Any]) -> None:
        await transport.send({"jsonrpc": "2.0", "method": "session/update", "params": update})

    publisher = PlanPublisher(send, {"plan": {}})
    waits: list[float] = []
    async with open_board(folder, session="s1") as board:
        planner = board.orchestrator("planner", run_id="r1")
        steps = tuple(NewStep(step_id=f"s{n}", title=f"Step {n}") for n in range(CHANGES))
        await board.send(CreateTask(task_id="t", wal_name="t", title="T", steps=steps), planner)
        feed = BoardFeed(board, publisher)
        feed.start()
        await reader.readline()
        for number in range(CHANGES // 2):
            worker = board.worker("ann", run_id=f"w{number}", task_id="t")
            step = f"s{number}"
            await board.send(ClaimStep(task_id="t", step_id=step), worker)
            begun = time.perf_counter()
            await _until(reader, number, "in_progress")
            waits.append(time.perf_counter() - begun)
            for status in (StepStatus.RUNNING, StepStatus.COMPLETED):
                await board.send(UpdateStep(task_id="t", step_id=step, status=status), worker)
            begun = time.perf_counter()
            await _until(reader, number, "completed")
            waits.append(time.perf_counter() - begun)
        await feed.stop()
        await publisher.aclose()
    sink.close()
    return waits


async def _until(reader: asyncio.StreamReader, number: int, status: str) -> None:
    while True:
        update = msgspec.json.decode(await reader.readline())
        if update["params"]["plan"]["entries"][number]["status"] == status:
            return


def _big_plan() -> float:
    """Return the CPU time from a changed plan to its line on the wire."""
    plans = [
        ItemsPlan(
            "big",
            tuple(
                PlanEntry(
                    f"Step {n} of the plan",
                    "completed" if n < done else "pending",
                    details={"stepId": f"s{n}", "state": "ready", "worker": "ann"},
                )
                for n in range(ENTRIES)
            ),
        )
        for done in range(ROUNDS)
    ]
    state = ClientPlanState(PlanFormat.CURRENT)
    begun = time.process_time()
    for plan in plans:
        for update in state.take_updates(state.put(plan)):
            encode({"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}})
    assert plan_update(plans[0], PlanFormat.CURRENT)
    return (time.process_time() - begun) / ROUNDS


async def _turns(folder: Path) -> tuple[list[int], float]:
    """Return the memory in use after some turns of one session and after all, and a turn's time."""

    def answer(messages: Sequence[Message]) -> Message:
        return Message.assistant(f"You said {messages[-1].text}")

    model = ScriptedModel(answer)
    options = AcpOptions(
        make_model=lambda _: model, index_dir=folder / "index", context_tokens=20_000
    )
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    source, sink = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(serve(options, JsonRpcTransport(source, sink)))

    async def ask(id_: int, method: str, **params: object) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        writer.write(msgspec.json.encode(message) + b"\n")
        while True:
            answered = msgspec.json.decode(await reader.readline())
            if answered.get("id") == id_:
                return answered["result"]

    await ask(0, "initialize", protocolVersion=1)
    session = (await ask(1, "session/new", cwd=str(folder), mcpServers=[]))["sessionId"]
    grown: list[int] = []
    begun = time.perf_counter()
    for number in range(TURNS):
        block = {"type": "text", "text": f"turn {number}, and some words to make it longer"}
        await ask(number + 2, "session/prompt", sessionId=session, prompt=[block])
        model.requests.clear()  # A scripted model keeps what it was asked; a real one does not.
        if number + 1 in (WARM, TURNS):
            grown.append(_resident_kib())
    spent = (time.perf_counter() - begun) / TURNS
    writer.close()
    await serving
    return grown, spent


def _resident_kib() -> int:
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(fields[1]) * resource.getpagesize() // 1024

"""Programs as workers: real ones, that lie, hang, flood, leave children and are killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from taskloom.errors import ConfigError
from taskloom.orchestrator import Executor, Outcome, ProgramExecutor, ProgramWorkerError
from taskloom.orchestrator.executors.program_protocol import LINE_BYTES_MAX, OUTPUT_CHARS_MAX
from tests.orchestrator.jobs import Heard, a_job

HEAD = "import json, os, signal, subprocess, sys, time\n"


def python(code: str, *, grace_s: float = 5.0) -> ProgramExecutor:
    return ProgramExecutor([sys.executable, "-c", HEAD + code], grace_s=grace_s)


async def run(executor: Executor, **job: str) -> tuple[Outcome, list[Any]]:
    heard = Heard()
    with anyio.fail_after(30):
        return await executor.begin(a_job(**job), heard).result(), heard.lines


async def until_gone(pid: int) -> None:
    """Wait until a process is no more; a dead one that nobody has waited for counts as gone."""
    while is_alive(pid):
        await anyio.lowlevel.checkpoint()


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.spec("TB-914")
async def test_a_program_gets_the_job_and_gives_output_and_a_result() -> None:
    code = (
        "job = json.loads(sys.stdin.readline())\n"
        "assert sys.stdin.read() == ''\n"
        "print('plain words'); print('{\"broken\": ')\n"
        "print(json.dumps({'type': 'output', 'text': job['step']['title']}))\n"
        "print(json.dumps({'type': 'result', 'text': job['inputs']['s0'],\n"
        "    'data': job, 'artifact_ids': ['a.txt']}))\n"
        "print('{\"type\": \"chatter\"}', end='')\n"
    )
    outcome, lines = await run(python(code))
    assert lines == ["plain words", '{"broken": ', "First", '{"type": "chatter"}']
    assert (outcome.text, outcome.artifact_ids) == ("what came before", ("a.txt",))
    for key, value in {"task_id": "t1", "instruction": "Do it.", "run_id": "r1"}.items():
        assert outcome.data[key] == value
    assert outcome.data["step"]["status"] == "running"


async def test_a_program_that_knows_nothing_of_us_works_as_well(tmp_path: Path) -> None:
    outcome, lines = await run(ProgramExecutor(["sh", "-c", "pwd; echo $WHO"], cwd=tmp_path,
                                               env={"WHO": "me"}))  # fmt: skip  # short enough
    assert lines == [str(tmp_path), "me"]
    assert outcome.text == f"{tmp_path}\nme"


async def test_keys_of_this_process_are_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    outcome, _ = await run(python("print(os.environ.get('SOME_API_KEY'))"))
    assert outcome.text == "None"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.exit('it broke')", ["exit code 1", "it broke"]),
        ("print('only this'); sys.exit(3)", ["exit code 3", "only this"]),
        ("os.kill(os.getpid(), 9)", ["exit code 137"]),
        ("print(json.dumps({'type': 'error', 'message': 'too hard'}))", ["too hard"]),
        ("print(json.dumps({'type': 'result', 'text': 7}))", ["wrong", "text", "Fix"]),
        ("sys.stderr.write('x' * 10_000_000 + 'the end'); sys.exit(1)", ["the end"]),
    ],
)
async def test_a_program_that_fails_says_why(code: str, words: list[str]) -> None:
    with pytest.raises(ProgramWorkerError) as failed:
        await run(python(code))
    for word in words:
        assert word in str(failed.value)
    assert len(str(failed.value)) < 10_000


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramWorkerError, match=r"cannot start no-such-program: No such file"):
        await run(ProgramExecutor(["no-such-program"]))
    with pytest.raises(ProgramWorkerError, match="`cwd`"):
        await run(ProgramExecutor(["true"], cwd=tmp_path / "nowhere"))
    for wrong in (list[str](), "sh -c true"):
        with pytest.raises(ConfigError, match="must be a list"):
            ProgramExecutor(wrong)


async def test_endless_lines_and_bytes_that_are_no_text_are_bounded() -> None:
    code = (
        "out = sys.stdout.buffer\n"
        f"out.write(b'x' * {LINE_BYTES_MAX + 500_000} + b'\\n')\n"
        "out.write(b'\\xff\\xfe\\n' + b'[' * 100_000 + b'\\n')\n"
        'out.write(b\'{"type":"output","text":"\' + b\'y\' * 100_000 + b\'"}\\n\')\n'
    )
    _, lines = await run(python(code))
    assert len(lines) == 4
    assert all(len(line) < OUTPUT_CHARS_MAX + 200 for line in lines)
    assert lines[1] == "\ufffd\ufffd"


async def test_a_flood_with_a_slow_reader_and_a_huge_job_does_not_hang() -> None:
    """Both pipes are full at once: it writes before it reads, and what it is sent is long."""
    code = (
        "for n in range(2000): print('line', n, 'x' * 200); sys.stderr.write('e' * 200)\n"
        "sys.stdout.flush()\n"
        "job = json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'type': 'result', 'text': str(len(job['instruction']))}))\n"
    )
    count = 0

    async def slow(_: object) -> None:
        nonlocal count
        count += 1
        for _ in range(20):
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(60):
        outcome = await python(code).begin(a_job("i" * 3_000_000), slow).result()
    assert (outcome.text, count) == ("3000000", 2000)


async def test_a_child_that_was_left_behind_is_ended(tmp_path: Path) -> None:
    code = (
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(json.dumps({'type': 'result', 'data': child.pid}))\n"
    )
    outcome, _ = await run(python(code))
    with anyio.fail_after(10):
        await until_gone(outcome.data)


async def started(executor: ProgramExecutor, how: str) -> tuple[str, list[int]]:
    """Run until both processes have said their number, end it, and tell what came of it."""
    pids: list[int] = []
    said = anyio.Event()

    async def listen(line: object) -> None:
        pids.extend(int(word) for word in str(line).split())
        said.set()

    work = executor.begin(a_job(), listen)
    ended = ""

    async def follow() -> None:
        nonlocal ended
        try:
            ended = (await work.result()).text
        except ProgramWorkerError as error:
            ended = str(error)
        except anyio.get_cancelled_exc_class():
            ended = "cancelled"
            raise

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await said.wait()
            if how == "stop":
                work.stop()
            else:
                group.cancel_scope.cancel()
        for pid in pids:
            await until_gone(pid)
    return ended, pids


FAMILY = (
    "child = subprocess.Popen(['sleep', '1000'])\n"
    "print(os.getpid(), child.pid, flush=True)\n"
    "while True: signal.pause()\n"
)
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_asking_it_to_end_reaches_its_whole_family(how: str) -> None:
    ended, pids = await started(python(FAMILY), how)
    assert len(pids) == 2
    assert ("was ended" if how == "stop" else "cancelled") in ended


async def test_a_program_that_will_not_end_is_killed() -> None:
    ended, pids = await started(python(STUBBORN + FAMILY, grace_s=0.05), "cancel")
    assert (ended, len(pids)) == ("cancelled", 2)


async def test_a_program_may_tidy_up_before_it_ends() -> None:
    code = (
        "def end(*_):\n"
        "    print(json.dumps({'type': 'result', 'text': 'tidied'}), flush=True); os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print(os.getpid(), flush=True)\n"
        "while True: signal.pause()\n"
    )
    ended, _ = await started(python(code), "stop")
    assert ended == "tidied"


HOST = f"""
import anyio, sys
from taskloom.orchestrator.executors.program import ProgramExecutor
from tests.orchestrator.jobs import a_job

async def show(line):
    print(line, flush=True)

async def main():
    command = [sys.executable, "-c", {HEAD + STUBBORN + FAMILY!r}]
    await ProgramExecutor(command).begin(a_job(), show).result()

anyio.run(main)
"""


def killed_host() -> list[int]:
    """Start a process that has a program at work, kill it, and return whom it had started."""
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", HOST],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as host:
        assert host.stdout is not None
        pids = [int(word) for word in host.stdout.readline().split()]
        host.send_signal(signal.SIGKILL)
    return pids


async def test_nothing_is_left_when_this_process_is_killed() -> None:
    pids = await anyio.to_thread.run_sync(killed_host)
    assert len(pids) == 2
    with anyio.fail_after(10):
        for pid in pids:
            await until_gone(pid)


async def test_many_run_side_by_side_each_with_its_own_pipe() -> None:
    code = "print(json.dumps({'type': 'result', 'text': json.loads(input())['instruction']}))"
    executor = python(code)
    results: list[str] = []

    async def one(number: int) -> None:
        work = executor.begin(a_job(str(number)), Heard())
        results.append((await work.result()).text)

    before = set(os.listdir("/proc/self/fd"))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(one, number)
    assert sorted(results) == [str(number) for number in range(6)]
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1

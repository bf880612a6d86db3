"""Other agents as workers, over the Agent Client Protocol: real processes on real pipes."""

import sys
from pathlib import Path

import anyio
import pytest

from taskloom.orchestrator import AcpWorkerError, Executor
from taskloom.orchestrator.executors.acp import AcpExecutor
from tests.orchestrator.jobs import Heard, a_job

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, str(Path(__file__).with_name("acp_agent.py")))


async def yes(_: str) -> bool:
    return True


@pytest.mark.spec("TB-914")
async def test_the_step_is_prompted_and_the_last_words_are_the_result(tmp_path: Path) -> None:
    executor: Executor = AcpExecutor(COMMAND, cwd=tmp_path)
    heard = Heard()
    with anyio.fail_after(30):
        outcome = await executor.begin(a_job(), heard).result()
    assert outcome.text == f"Done in {tmp_path.name}"  # What it said before the call is no result.
    assert heard.lines == ["I look around. ", "> Look", "Done in ", tmp_path.name]


async def test_an_agent_that_dies_fails_the_run(tmp_path: Path) -> None:
    executor = AcpExecutor(COMMAND, cwd=tmp_path)
    with anyio.fail_after(30), pytest.raises(AcpWorkerError):
        await executor.begin(a_job("DIE"), Heard()).result()


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    executor = AcpExecutor(["no-such-agent"], cwd=tmp_path)
    with anyio.fail_after(30), pytest.raises(AcpWorkerError, match="no-such-agent"):
        await executor.begin(a_job(), Heard()).result()


async def test_it_stops_when_it_is_asked_to(tmp_path: Path) -> None:
    working = AcpExecutor(COMMAND, cwd=tmp_path).begin(a_job("WAIT"), Heard())
    working.stop()
    with anyio.fail_after(30), pytest.raises(AcpWorkerError, match="cancelled"):
        await working.result()


@pytest.mark.parametrize(("permit", "answer"), [(None, "no"), (yes, "yes")])
async def test_only_a_clear_yes_allows_and_never_for_good(
    tmp_path: Path, permit: object, answer: str
) -> None:
    executor = AcpExecutor(COMMAND, cwd=tmp_path)
    if permit is not None:
        executor = AcpExecutor(COMMAND, cwd=tmp_path, permit=yes)
    with anyio.fail_after(30):
        outcome = await executor.begin(a_job("ASK"), Heard()).result()
    assert outcome.text == f"allowed: {answer}"

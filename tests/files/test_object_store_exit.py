"""A program that used an object store exits normally."""

import subprocess
import sys

import pytest

_PROGRAM = """
import anyio
from obstore.store import MemoryStore
from taskloom.files.object_store import ObjectFiles

async def main():
    files = ObjectFiles(MemoryStore())
    await files.create("plan/1.json", "{}")
    await files.ls_info("plan")

anyio.run(main)
"""


@pytest.mark.slow
@pytest.mark.spec("PT-103")
def test_a_program_that_ends_right_after_its_last_call_is_not_aborted() -> None:
    # With obstore's own coroutines two of five such programs are.
    programs = [subprocess.Popen([sys.executable, "-c", _PROGRAM]) for _ in range(12)]
    assert [program.wait(timeout=60) for program in programs] == [0] * len(programs)

"""Importing the first-level API loads what the board needs and nothing else."""

import subprocess
import sys

import pytest

HEAVY = (
    *("rich", "pydantic", "pydantic_ai", "mcp", "acp", "obstore", "splintr", "httpx"),
    *("opentelemetry", "inspect", "subprocess", "multiprocessing"),
    *("taskloom.agent", "taskloom.orchestrator", "taskloom.cli", "taskloom.acp", "taskloom.view"),
)
"""Modules that cost milliseconds each, and that a board on a local disk does not use."""

IMPORT = """
import asyncio, sys
before = set(sys.modules)
from taskloom import open_board
print("\\n".join(sorted(set(sys.modules) - before)))
"""


@pytest.mark.spec("LB-404")
def test_the_board_is_imported_without_the_rest_of_the_product() -> None:
    # The milliseconds themselves are measured by `make bench`.
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "taskloom.runtime" in loaded
    assert loaded.isdisjoint(HEAVY)

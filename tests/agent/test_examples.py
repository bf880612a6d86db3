"""The programs in `examples` that show the agent run as they say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_with_tools_prints_its_events() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "agent_with_tools.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[word_count: 4]\nThat is four words.\n(completed)\n"

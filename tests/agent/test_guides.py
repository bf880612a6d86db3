"""The examples in the agent's guides run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = ["middleware", "tools", "models", "from-langchain"]


def blocks(guide: str) -> list[str]:
    text = (ROOT / "docs" / "guide" / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES)
def test_the_guides_examples_run(guide: str) -> None:
    found = blocks(guide)
    assert found
    for block in found:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_example_with_tools_tells_what_happens() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "agent_with_tools.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[word_count: 4]\nThat is four words.\n(completed)\n"

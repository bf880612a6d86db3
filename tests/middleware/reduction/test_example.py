"""The example runs and prints how much the model read."""

import subprocess
import sys

import pytest

from tests.conventions.tree import ROOT


@pytest.mark.slow
def test_the_example_finds_the_error_without_reading_the_log() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "examples/reduction_of_long_results.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer, figures = done.stdout.splitlines()
    assert answer == "It is this: 12344 error: module_12344 does not compile"
    assert figures.startswith("(548904 characters of log, 1")

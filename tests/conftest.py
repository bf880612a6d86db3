"""What holds for every test: the event loop, how hard Hypothesis looks, and the spec marks."""

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from scripts.spec import catalogue, misquoted

KNOWN = catalogue()
DEEP = os.environ.get("TASKLOOM_DEEP") == "1"

# The gate gives the same answer for the same tree; looking for the new is the deep run's work.
settings.register_profile(
    "gate",
    derandomize=True,
    database=None,
    deadline=None,  # Machines differ in speed; time is what `make bench` measures.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deep" if DEEP else "gate")


@pytest.fixture(scope="session")
def deep() -> bool:
    """Whether this is the deep run, for tests that choose their own size."""
    return DEEP


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Taskloom is anyio over asyncio, so async tests run there."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A test that cites an ID which docs/spec does not have is an error of its file."""
    report = yield
    items = [node for node in report.result or () if isinstance(node, pytest.Item)]
    wrong = misquoted(items, KNOWN)
    if wrong:
        report.outcome = "failed"
        report.longrepr = "\n".join(wrong)
    return report

"""Settings of all tests: event loop, Hypothesis profiles, figures, spec marks."""

import os
from collections.abc import Callable, Generator

import pytest
from hypothesis import HealthCheck, settings

from scripts.spec import catalogue, unknown_citations

KNOWN = catalogue()
DEEP = os.environ.get("TASKLOOM_DEEP") == "1"

# The gate is deterministic; the deep run searches for new failures.
settings.register_profile(
    "gate",
    derandomize=True,
    database=None,
    deadline=None,  # Machines differ in speed; `make bench` measures time.
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
    """Return whether this is the deep run, for tests that choose their size."""
    return DEEP


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, as Taskloom does."""
    return "asyncio"


@pytest.fixture
def figure(
    record_property: Callable[[str, object], None], request: pytest.FixtureRequest
) -> Callable[[str], None]:
    """Record a sentence with a figure of the test, printed at the end of the run."""

    def record(sentence: str) -> None:
        record_property("figure", f"{request.node.name}: {sentence}")

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of all tests, also of xdist workers."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    figures = [
        value for each in reports for name, value in each.user_properties if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
        for sentence in figures:
            terminalreporter.line(str(sentence))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the collection of a file that cites an ID which docs/spec does not have."""
    report = yield
    items = [node for node in report.result or () if isinstance(node, pytest.Item)]
    wrong = unknown_citations(items, KNOWN)
    if wrong:
        report.outcome = "failed"
        report.longrepr = "\n".join(wrong)
    return report

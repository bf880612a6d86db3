"""What holds for every test: the event loop, how hard Hypothesis looks, and the spec marks."""

import os
from collections.abc import Callable, Generator

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


@pytest.fixture
def figure(
    record_property: Callable[[str, object], None], request: pytest.FixtureRequest
) -> Callable[[str], None]:
    """Say how much a test saw, in a sentence that is printed at the end of the run."""

    def note(sentence: str) -> None:
        record_property("figure", f"{request.node.name}: {sentence}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of all tests, those of xdist's workers included."""
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
    """A test that cites an ID which docs/spec does not have is an error of its file."""
    report = yield
    items = [node for node in report.result or () if isinstance(node, pytest.Item)]
    wrong = misquoted(items, KNOWN)
    if wrong:
        report.outcome = "failed"
        report.longrepr = "\n".join(wrong)
    return report

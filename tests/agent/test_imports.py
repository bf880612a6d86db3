"""The agent knows no board, and the model library is loaded only when a model is opened by name."""

from collections.abc import Iterator

from tests.conventions.imports import imports
from tests.conventions.tree import Source, python, sample

ADAPTER = "taskloom.agent.providers."
LIBRARY = ("pydantic_ai", "pydantic", "openai", "anthropic", "httpx2", "google")


def reaches_too_far(source: Source) -> Iterator[str]:
    adapter = "providers" in source.path.parts and source.path.name != "open_model.py"
    for found in imports(source):
        whole = f"{found.module}.{found.name}" if found.name else found.module
        if whole.startswith(("taskloom.board", "taskloom.runtime")):
            yield f"{source.at(found.node)}: the agent does not know {found.module}"
        if not adapter and found.module.partition(".")[0] in LIBRARY:
            yield f"{source.at(found.node)}: {found.module} belongs in agent/providers"
        if not adapter and whole.startswith(ADAPTER) and "open_model" not in whole:
            yield f"{source.at(found.node)}: only open_model loads it, when it is needed"


def test_the_agent_imports_no_higher_layer() -> None:
    agent = [source for source in python("src") if source.package == "agent"]
    assert len(agent) > 30
    assert [c for source in agent for c in reaches_too_far(source)] == []


def test_reaching_too_far_is_reported() -> None:
    path = "src/taskloom/agent/sample.py"
    for line in (
        "from taskloom.board import Task",
        "import taskloom.runtime",
        "import pydantic_ai",
        "from taskloom.agent.providers.model import provider_model",
        "from taskloom.agent.providers import model",
    ):
        assert len(list(reaches_too_far(sample(line, path)))) == 1, line
    adapter = "src/taskloom/agent/providers/sample.py"
    assert list(reaches_too_far(sample("import pydantic_ai", adapter))) == []

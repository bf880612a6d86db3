"""The reference pages are what the source says now."""

import ast
import re

import pytest

from scripts.reference import PAGES, page, pages, signature


@pytest.mark.spec("LB-403")
def test_the_reference_pages_are_what_the_source_says() -> None:
    wanted = pages()
    committed = {path: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    stale = [path.name for path, text in wanted.items() if committed.get(path) != text]
    assert stale == [], "run `make reference` and look at what changed"
    assert set(committed) == set(wanted)


@pytest.mark.spec("LB-403")
def test_a_page_shows_signatures_docstrings_fields_and_members() -> None:
    agent = page("taskloom.agent")
    for text in (
        "\n## Agent\n",
        "class Agent(\n    model: ChatModel | str,",
        "- `max_iterations`: model calls of one run, retries not counted.",
        "### Agent.invoke\n\n```py\nasync def invoke(",
        "    iterations: int = 0\n",
        "### Result.text\n\n```py\ntext: str\n```\n",
        "Language: TypeAlias = Literal[",
    ):
        assert text in agent, text
    assert not re.search(r"0x[0-9a-f]{6}", "".join(pages().values()))


def test_a_name_of_two_packages_is_described_on_one_page() -> None:
    assert "See [taskloom.agent](taskloom.agent.md)." in page("taskloom.agent.tools")


@pytest.mark.parametrize(
    "shown",
    ["def f(a: int, /, b=1, *, c: str = 'x') -> None", "async def f(*a: int, **b: str)"],
)
def test_a_signature_is_shown_whole(shown: str) -> None:
    (node,) = ast.parse(f"{shown}: ...").body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    assert signature(node) == shown

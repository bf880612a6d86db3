"""The built-in texts, in English and Chinese."""

import string
from collections.abc import Iterator

import pytest

from taskloom.agent import Agent, ScriptedModel, call_tool, set_language
from taskloom.agent.model_texts import EN, ZH
from tests.agent.samples import add


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    set_language("en")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.spec("AG-605")
def test_each_text_fills_in_the_same_in_both_languages() -> None:
    for name in EN.__struct_fields__:
        english, chinese = getattr(EN, name), getattr(ZH, name)
        assert fields(english) == fields(chinese), name
        assert any("一" <= char <= "鿿" for char in chinese), name


@pytest.mark.spec("AG-605")
async def test_the_language_is_set_per_agent_with_a_process_default(restored: None) -> None:
    async def refusal(**options: object) -> str:
        agent = Agent(ScriptedModel([call_tool("nope"), "ok"]), [add], **options)  # type: ignore[arg-type]  # test options
        return (await agent.invoke("go")).messages[2].text

    assert "There is no tool" in await refusal()
    assert "没有" in await refusal(language="zh")
    set_language("zh")
    assert "没有" in await refusal()
    assert "There is no tool" in await refusal(language="en")
    with pytest.raises(ValueError, match="en, zh"):
        set_language("xx")  # type: ignore[arg-type]  # that is the point

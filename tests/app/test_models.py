"""From configuration to a model, or to a sentence that says what to set."""

from pathlib import Path

import pytest

from taskloom.agent import Message, ModelRequest
from taskloom.agent.providers.model import ProviderModel
from taskloom.app import chat_model
from taskloom.app.models import ModelWithSettings
from taskloom.config import Config, ModelConfig
from taskloom.errors import ConfigError
from tests.agent.provider_server import OpenAI, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def config(name: str, *, base_url: str = "", api_key_env: str = "") -> Config:
    return Config(model=ModelConfig(name=name, base_url=base_url, api_key_env=api_key_env))


def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(ConfigError) as refused:
        chat_model(Config(), {})
    for word in ("TASKLOOM_MODEL=", "ANTHROPIC_API_KEY", "taskloom.toml", "taskloom init",
                 "taskloom demo"):  # fmt: skip  # words side by side
        assert word in refused.value.message


@pytest.mark.parametrize(
    ("name", "more", "environ", "words"),
    [
        ("openai:gpt-x", {}, {}, ["OPENAI_API_KEY"]),
        ("openai:gpt-x", {}, {"OPENAI_API_KEY": ""}, ["OPENAI_API_KEY"]),
        ("anthropic:claude-x", {}, {"OPENAI_API_KEY": "k"}, ["ANTHROPIC_API_KEY"]),
        ("google:gemini-x", {}, {}, ["GOOGLE_API_KEY or GEMINI_API_KEY"]),
        ("openai:x", {"api_key_env": "MINE"}, {"OPENAI_API_KEY": "k"}, ["MINE"]),
        ("gpt-x", {}, {}, ["provider:model"]),
        ("openai:", {}, {"OPENAI_API_KEY": "k"}, ["provider:model"]),
        (":x", {}, {}, ["provider:model"]),
        ("nope:x", {}, {}, ["nope"]),
        ("script:nowhere.json", {}, {}, ["nowhere.json"]),
    ],
)
def test_what_is_missing_is_named_before_anything_starts(
    name: str, more: dict[str, str], environ: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as refused:
        chat_model(config(name, **more), environ)
    for word in words:
        assert word in refused.value.message


async def test_address_and_key_reach_the_provider() -> None:
    async with serving([OpenAI.whole("one"), OpenAI.whole("two")]) as server:
        settings = config("openai:x", base_url=server.base_url + "/v1", api_key_env="MINE")
        for name in ("", "openai:other"):
            model = chat_model(settings, {"MINE": "my-key"}, name=name)
            assert isinstance(model, ProviderModel)
            async with model:
                await model.generate(ModelRequest([Message.user("hi")]))
        assert [asked["model"] for asked in server.asked] == ["x", "other"]
        assert {each["authorization"] for each in server.headers} == {"Bearer my-key"}


def test_a_key_goes_to_its_own_provider_alone() -> None:
    settings = config("openai:x", base_url="http://127.0.0.1:9", api_key_env="MINE")
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        chat_model(settings, {"MINE": "k"}, name="anthropic:claude-x")


async def test_a_script_needs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "play.json"
    path.write_text('["hello"]', encoding="utf-8")
    model = chat_model(config(f"script:{path}"), {})
    assert (await model.generate(ModelRequest([Message.user("hi")]))).text == "hello"


async def test_the_settings_are_handed_to_each_call_of_every_model() -> None:
    async with serving([OpenAI.whole("one"), OpenAI.whole("two")]) as server:
        model = ModelConfig(
            name="openai:x",
            base_url=server.base_url + "/v1",
            settings={"temperature": 0.5, "max_tokens": 7},
        )
        for name in ("", "openai:y"):
            opened = chat_model(Config(model=model), {}, name=name)
            assert isinstance(opened, ModelWithSettings)
            async with opened:
                request = ModelRequest([Message.user("hi")], settings={"max_tokens": 9})
                await opened.generate(request)
        for asked, name in zip(server.asked, ("x", "y"), strict=True):
            assert (asked["model"], asked["temperature"]) == (name, 0.5)
            assert 9 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))

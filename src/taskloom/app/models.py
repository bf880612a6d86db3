"""From configuration to a chat model, or an error that says what to set."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, Self, cast

from msgspec import structs

from taskloom.agent import ChatModel, Message, ModelError, ModelRequest, open_model
from taskloom.config import FILE_NAME, MODEL_VARIABLE, Config, ModelConfig
from taskloom.errors import ConfigError

KEY_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
}
"""The variables of each provider's key, so that a missing key is reported before a run starts."""

_ADDRESS_VARIABLES: Final = {"openai": "OPENAI_BASE_URL", "openai-chat": "OPENAI_BASE_URL"}
"""The variables of a server's address; a server of your own may need no key."""

NO_MODEL: Final = (
    "No model is configured. Set one of these:\n"
    f"  {MODEL_VARIABLE}=anthropic:claude-… with ANTHROPIC_API_KEY, or openai:gpt-… with "
    "OPENAI_API_KEY, or google:gemini-… with GOOGLE_API_KEY\n"
    f'  [model] name = "provider:model" in {FILE_NAME}; `taskloom init` writes one\n'
    "Without a model or a key, `taskloom demo` shows a run."
)


def chat_model(
    config: Config, environ: Mapping[str, str] | None = None, *, name: str = ""
) -> ChatModel:
    """Return the configured model, or the one of this `name`.

    Raises:
        ConfigError: none is configured, its key is missing, or it cannot be opened.
    """
    variables = os.environ if environ is None else environ
    model = _chosen(config.model, name)
    if not model.name:
        raise ConfigError(NO_MODEL, variable=MODEL_VARIABLE)
    provider, _, rest = model.name.partition(":")
    if not provider or not rest:
        raise ConfigError(
            f"{model.name!r} is not a model: write `provider:model`, such as "
            "`anthropic:claude-…`, or `script:PATH`.",
            model=model.name,
        )
    key = _key(model, variables)
    try:
        opened = open_model(model.name, base_url=model.base_url, api_key=key)
    except ModelError as error:
        raise ConfigError(error.message, model=model.name, kind=error.kind) from error
    return ModelWithSettings(opened, model.settings) if model.settings else opened


class ModelWithSettings:
    """A model with settings of its own, under those of each call."""

    def __init__(self, model: ChatModel, settings: Mapping[str, Any]) -> None:
        """Take the model and its default settings."""
        self._model = model
        self._settings = settings

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def generate(self, request: ModelRequest) -> Message:
        """Call the model with the settings."""
        settings = {**self._settings, **request.settings}
        return await self._model.generate(request.replace(settings=settings))

    async def __aenter__(self) -> Self:
        """Open the model's connections."""
        if isinstance(self._model, AbstractAsyncContextManager):
            await cast("AbstractAsyncContextManager[object]", self._model).__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        if isinstance(self._model, AbstractAsyncContextManager):
            inner = cast("AbstractAsyncContextManager[object]", self._model)
            await inner.__aexit__(kind, error, trace)


def _chosen(model: ModelConfig, name: str) -> ModelConfig:
    if not name or name == model.name:
        return model
    if name.partition(":")[0] == model.name.partition(":")[0]:
        return structs.replace(model, name=name)
    return ModelConfig(name=name, settings=model.settings)


def _key(model: ModelConfig, environ: Mapping[str, str]) -> str:
    """Return the key; empty if none is needed."""
    provider = model.name.partition(":")[0]
    if model.api_key_env:
        key = environ.get(model.api_key_env, "")
        if not key:
            raise _no_key(model.name, (model.api_key_env,))
        return key
    known = KEY_VARIABLES.get(provider, ())
    key = next((environ[name] for name in known if environ.get(name)), "")
    own_server = model.base_url or environ.get(_ADDRESS_VARIABLES.get(provider, ""))
    if known and not key and not own_server:
        raise _no_key(model.name, known)
    return key


def _no_key(model: str, names: tuple[str, ...]) -> ConfigError:
    return ConfigError(
        f"{model} needs a key: set the environment variable {' or '.join(names)}. Another "
        f"variable can be named as `api_key_env` under [model] in {FILE_NAME}.",
        model=model,
        variables=list(names),
    )

"""Opens a model by its name; the only place that imports the optional model library.

    openai:gpt-…   anthropic:claude-…   google:gemini-…   ollama:…   and more
    script:PATH    a script in a file, without the library and without a network

The library takes most of a second to import, so the first model that needs it imports it.
"""

import importlib
from typing import Any, Final

from taskloom.agent.chat_model import ChatModel
from taskloom.agent.errors import ModelError
from taskloom.agent.scripted.script_file import PREFIX, script_model

_ADAPTER: Final = "taskloom.agent.providers.model"


def open_model(name: str, *, base_url: str = "", api_key: str = "") -> ChatModel:
    """Return the model that a string such as `openai:gpt-…` names.

    Args:
        name: provider and model, with a colon between.
        base_url: the address of a local or compatible server.
        api_key: the key; by default from the provider's environment variable.

    Raises:
        ModelError: the library is missing, or it does not know the name.
    """
    if name.startswith(PREFIX):
        return script_model(name)
    try:
        adapter: Any = importlib.import_module(_ADAPTER)
    except ImportError as error:
        raise ModelError(
            f"Models by name need the extra `models`: pip install 'taskloom[models]' ({error}).",
            kind="missing_extra",
            retryable=False,
        ) from error
    model: ChatModel = adapter.provider_model(name, base_url=base_url, api_key=api_key)
    return model

"""Real providers through pydantic-ai's direct interface. Only `open_model` imports this.

`openai:` means the chat-completions interface, which every compatible server has; OpenAI's own
newer one is `openai-responses:`.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, cast

from pydantic_ai import direct
from pydantic_ai import messages as library
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from taskloom.agent.chat_model import Delta, DeltaSink, ModelRequest, ToolInfo
from taskloom.agent.messages import Message
from taskloom.agent.providers.errors import explained, not_opened
from taskloom.agent.providers.messages import from_library, to_library
from taskloom.agent.providers.tool_names import ToolNames

TIMEOUT_S: Final = 300.0
"""How long to wait for a silent server; the setting `timeout` changes it."""

_NAMES: Final = {"openai": "openai-chat"}


def provider_model(name: str, *, base_url: str = "", api_key: str = "") -> "ProviderModel":
    """Open the model that `provider:model` names."""
    provider, _, model = name.partition(":")
    options = {"base_url": base_url, "api_key": api_key}

    def make(provider_name: str) -> Provider[Any]:
        known = {key: value for key, value in options.items() if value}
        return infer_provider_class(provider_name)(**known)

    try:
        opened = infer_model(f"{_NAMES.get(provider, provider)}:{model}", make)
    except (UserError, ValueError, TypeError, ImportError) as error:
        raise not_opened(name, error) from error
    skip_request_transform(opened)
    return ProviderModel(opened, name)


class ProviderModel:
    """A `ChatModel` that calls a model of the library."""

    def __init__(self, model: Model, name: str = "") -> None:
        self._model = model
        self._name = name or model.model_name
        self._offered: _OfferedTools | None = None

    @property
    def name(self) -> str:
        """The string it was opened with."""
        return self._name

    async def __aenter__(self) -> Self:
        """Enter a block; the connections are closed at its end."""
        await self._model.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self._model.__aexit__(kind, error, trace)

    async def generate(self, request: ModelRequest) -> Message:
        """Send the request to the provider; pass each chunk to `on_delta` if there is one."""
        # Connections belong to an event loop; a program that starts a second one needs new ones.
        # The library does this for its own agents, under this private name only.
        refresh = getattr(self._model, "_refresh_http_client", None)
        if refresh is not None:
            refresh()
        with explained(self._name):
            offered = self._offer(request.tools)
            messages = to_library(request.messages, request.instruction, offered.names)
            settings = _settings(request.settings)
            if request.on_delta is None:
                response = await direct.model_request(
                    self._model,
                    messages,
                    model_settings=settings,
                    model_request_parameters=offered.parameters,
                )
                return from_library(response, offered.names)
            async with direct.model_request_stream(
                self._model,
                messages,
                model_settings=settings,
                model_request_parameters=offered.parameters,
            ) as stream:
                await _send_chunks(stream, request.on_delta, offered.names)
                response = stream.get()
                if not response.parts and response.finish_reason is None:
                    raise ValueError("the stream ended without a reply")
                return from_library(response, offered.names)

    def _offer(self, tools: Sequence[ToolInfo]) -> "_OfferedTools":
        """Return the tool definitions; convert them only when the tools have changed."""
        if self._offered is None or self._offered.tools is not tools:
            names = ToolNames(tool.name for tool in tools)
            definitions = [
                ToolDefinition(
                    name=names.sent(tool.name),
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                )
                for tool in tools
            ]
            parameters = ModelRequestParameters(function_tools=definitions)
            self._offered = _OfferedTools(tools, names, parameters)
        return self._offered


class _OfferedTools(NamedTuple):
    """The tools of a request, as the provider gets them."""

    tools: Sequence[ToolInfo]
    names: ToolNames
    parameters: ModelRequestParameters


def _settings(settings: Mapping[str, Any]) -> ModelSettings:
    return cast("ModelSettings", {"timeout": TIMEOUT_S, **settings})


async def _send_chunks(stream: Any, on_delta: DeltaSink, names: ToolNames) -> None:
    """Pass each chunk to `on_delta`; `indexes` maps a part's index to its tool call's."""
    indexes: dict[int, int] = {}
    async for event in stream:
        if isinstance(event, library.PartStartEvent):
            delta = _first_chunk(event, indexes, names)
        elif isinstance(event, library.PartDeltaEvent):
            delta = _next_chunk(event, indexes)
        else:
            continue
        if delta is not None:
            await on_delta(delta)


def _first_chunk(
    event: library.PartStartEvent, indexes: dict[int, int], names: ToolNames
) -> Delta | None:
    part = event.part
    if isinstance(part, library.TextPart):
        return Delta(text=part.content) if part.content else None
    if isinstance(part, library.ThinkingPart):
        return Delta(thinking=part.content) if part.content else None
    if isinstance(part, library.ToolCallPart):
        index = indexes.setdefault(event.index, len(indexes))
        arguments = part.args_as_json_str() if part.args else ""
        name = names.received(part.tool_name)
        return Delta(call_index=index, tool_name=name, arguments=arguments)
    return None


def _next_chunk(event: library.PartDeltaEvent, indexes: dict[int, int]) -> Delta | None:
    delta = event.delta
    if isinstance(delta, library.TextPartDelta):
        return Delta(text=delta.content_delta)
    if isinstance(delta, library.ThinkingPartDelta):
        return Delta(thinking=delta.content_delta) if delta.content_delta else None
    if isinstance(delta, library.ToolCallPartDelta) and isinstance(delta.args_delta, str):
        return Delta(call_index=indexes.get(event.index, 0), arguments=delta.args_delta)
    return None


def skip_request_transform(model: Model) -> None:
    """Pass `messages` to OpenAI's client as part of the body.

    The client converts every message through its schema at each request, which for a long history
    takes longer than everything else together. The body it sends is the same.
    """
    completions = getattr(
        getattr(getattr(model, "client", None), "chat", None), "completions", None
    )
    if completions is None:
        return
    create = completions.create

    async def quick(*, messages: object, extra_body: object = None, **options: Any) -> Any:
        body = {**extra_body} if isinstance(extra_body, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # any JSON
        return await create(messages=[], extra_body={**body, "messages": messages}, **options)

    completions.create = quick

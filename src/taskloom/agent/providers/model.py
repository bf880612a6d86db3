"""Real providers through pydantic-ai's direct interface. Loaded only by `open_model`.

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
from taskloom.agent.providers.errors import explained, not_set_up
from taskloom.agent.providers.messages import from_library, to_library
from taskloom.agent.providers.tool_names import ToolNames

TIMEOUT_S: Final = 300.0
"""A server that says nothing for this long will not say anything; `settings` may change it."""

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
        raise not_set_up(name, error) from error
    skip_request_transform(opened)
    return ProviderModel(opened, name)


class ProviderModel:
    """A `ChatModel` over any model of the library."""

    def __init__(self, model: Model, name: str = "") -> None:
        """Wrap a model of the library."""
        self._model = model
        self._name = name or model.model_name
        self._offer: _Offer | None = None

    @property
    def name(self) -> str:
        """The string it was opened by."""
        return self._name

    async def __aenter__(self) -> Self:
        """Enter a block at whose end the connections are closed."""
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
        """Ask the provider; tell the pieces if somebody listens."""
        # Connections belong to an event loop; a program that starts a second one needs new ones.
        # The library does this for its own agents, and has no other name for it.
        refresh = getattr(self._model, "_refresh_http_client", None)
        if refresh is not None:
            refresh()
        with explained(self._name):
            offer = self._offered(request.tools)
            messages = to_library(request.messages, request.instruction, offer.names)
            settings = _settings(request.settings)
            if request.on_delta is None:
                response = await direct.model_request(
                    self._model,
                    messages,
                    model_settings=settings,
                    model_request_parameters=offer.parameters,
                )
                return from_library(response, offer.names)
            async with direct.model_request_stream(
                self._model,
                messages,
                model_settings=settings,
                model_request_parameters=offer.parameters,
            ) as stream:
                await _tell(stream, request.on_delta, offer.names)
                response = stream.get()
                if not response.parts and response.finish_reason is None:
                    raise ValueError("the stream held no reply")
                return from_library(response, offer.names)

    def _offered(self, tools: Sequence[ToolInfo]) -> "_Offer":
        """Return the tool definitions, made anew only when the tools are others."""
        if self._offer is None or self._offer.tools is not tools:
            names = ToolNames(tool.name for tool in tools)
            definitions = [
                ToolDefinition(
                    name=names.sent(tool.name),
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                )
                for tool in tools
            ]
            self._offer = _Offer(tools, names, ModelRequestParameters(function_tools=definitions))
        return self._offer


class _Offer(NamedTuple):
    """The tools of a request, as the provider is told of them."""

    tools: Sequence[ToolInfo]
    names: ToolNames
    parameters: ModelRequestParameters


def _settings(settings: Mapping[str, Any]) -> ModelSettings:
    return cast("ModelSettings", {"timeout": TIMEOUT_S, **settings})


async def _tell(stream: Any, on_delta: DeltaSink, names: ToolNames) -> None:
    """Hand over each piece; tool calls are counted by their place among the calls."""
    places: dict[int, int] = {}
    async for event in stream:
        if isinstance(event, library.PartStartEvent):
            delta = _first(event, places, names)
        elif isinstance(event, library.PartDeltaEvent):
            delta = _more(event, places)
        else:
            continue
        if delta is not None:
            await on_delta(delta)


def _first(event: library.PartStartEvent, places: dict[int, int], names: ToolNames) -> Delta | None:
    part = event.part
    if isinstance(part, library.TextPart):
        return Delta(text=part.content) if part.content else None
    if isinstance(part, library.ThinkingPart):
        return Delta(thinking=part.content) if part.content else None
    if isinstance(part, library.ToolCallPart):
        place = places.setdefault(event.index, len(places))
        written = part.args_as_json_str() if part.args else ""
        name = names.received(part.tool_name)
        return Delta(call_index=place, tool_name=name, arguments=written)
    return None


def _more(event: library.PartDeltaEvent, places: dict[int, int]) -> Delta | None:
    delta = event.delta
    if isinstance(delta, library.TextPartDelta):
        return Delta(text=delta.content_delta)
    if isinstance(delta, library.ThinkingPartDelta):
        return Delta(thinking=delta.content_delta) if delta.content_delta else None
    if isinstance(delta, library.ToolCallPartDelta) and isinstance(delta.args_delta, str):
        return Delta(call_index=places.get(event.index, 0), arguments=delta.args_delta)
    return None


def skip_request_transform(model: Model) -> None:
    """Hand `messages` to OpenAI's client as part of the body.

    The client walks all of them through its schema at each request, which for a long history
    takes longer than everything else together; the body that is sent is the same.
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

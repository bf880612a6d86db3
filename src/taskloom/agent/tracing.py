"""Spans for a run, a model call and a tool call, under the GenAI names of OpenTelemetry.

The names are written here by hand, since their package still changes. Whoever wants traces
has imported the API and set a provider; as long as nobody has, nothing is imported and no
span is made. What people and models say is never put into a span.
"""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

OPERATION: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"


def active_tracer() -> "Tracer | None":
    """Return a tracer if somebody listens, else None."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
        return None
    return cast("Tracer", api.get_tracer("taskloom.agent"))


@contextmanager
def span(
    tracer: "Tracer", operation: str, subject: str, attributes: Mapping[str, str]
) -> "Generator[Span]":
    """Run the block inside a span; an exception is noted by its type and goes on."""
    with tracer.start_as_current_span(
        f"{operation} {subject}", attributes={OPERATION: operation, **attributes}
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute(ERROR_TYPE, type(error).__qualname__)
            raise

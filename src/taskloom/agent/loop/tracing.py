"""Spans for a run, a model call and a tool call, with OpenTelemetry's GenAI names.

The names are written here by hand, because the package that defines them still changes. A
program that wants traces has imported the API and set a provider; otherwise nothing is imported
and no span is made. Prompts, replies and tool results never go into a span.
"""

import sys
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, cast

from taskloom.agent.messages import Usage

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

_NO_SPAN: Final = nullcontext()


def active_tracer() -> "Tracer | None":
    """Return a tracer if a provider is set, else None."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
        return None
    return cast("Tracer", api.get_tracer("taskloom.agent"))


def span(
    tracer: "Tracer | None", operation: str, subject: str, attributes: Mapping[str, str]
) -> "AbstractContextManager[Span | None]":
    """Run a block inside a span, or as it is without a tracer."""
    return _NO_SPAN if tracer is None else _span(tracer, operation, subject, attributes)


@contextmanager
def _span(
    tracer: "Tracer", operation: str, subject: str, attributes: Mapping[str, str]
) -> "Generator[Span]":
    with tracer.start_as_current_span(
        f"{operation} {subject}", attributes={OPERATION: operation, **attributes}
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute(ERROR_TYPE, type(error).__qualname__)
            raise


def set_usage(current: "Span | None", usage: Usage | None) -> None:
    """Add the token counts of a reply to its span."""
    if current is not None and usage is not None:
        current.set_attribute(INPUT_TOKENS, usage.input_tokens)
        current.set_attribute(OUTPUT_TOKENS, usage.output_tokens)

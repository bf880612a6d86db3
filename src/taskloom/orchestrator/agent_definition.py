"""What kind of agent a worker is: its name, what it is good for, and how it works."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """A kind of worker. In a project it is a Markdown file; `body` is the text below its head.

    `tools` are those it is given besides its Task tools: None is every working tool there is.
    `executor` says that it is no chat-model agent, and what it is instead.
    """

    id: str
    name: str
    description: str
    body: str = ""
    model: str = ""
    """Such as `openai:gpt-…`; empty is the model of the house."""
    tools: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    executor: Mapping[str, Any] | None = None
    source: str = ""
    """The file it came from, for messages to people."""

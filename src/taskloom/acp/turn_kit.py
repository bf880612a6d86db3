"""What the agent of one turn is given: tools, hooks, and words."""

from collections.abc import Mapping

from msgspec import Struct

from taskloom.acp.event_updates import Heard
from taskloom.agent import Middleware, Tool


class TurnAgent(Struct, frozen=True, kw_only=True):
    """The equipment of one turn."""

    tools: list[Tool]
    middleware: list[Middleware]
    instruction: str
    kinds: Mapping[str, str]
    """The kinds of tools that are not the house's own, by name."""
    heard: Heard
    """Takes what tools and hooks send as events of their own."""

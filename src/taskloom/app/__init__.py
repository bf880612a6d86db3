"""The composition root: from configuration to a session host or an ACP server."""

from taskloom.app.models import chat_model
from taskloom.app.pools import build_pools

__all__ = ["build_pools", "chat_model"]

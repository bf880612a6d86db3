"""The composition root: from configuration to a running house."""

from taskloom.app.models import chat_model
from taskloom.app.pools import build_pools

__all__ = ["build_pools", "chat_model"]

"""Models of real providers, by name; importing this does not load the model library."""

from taskloom.agent.providers.open_model import open_model

__all__ = ["open_model"]

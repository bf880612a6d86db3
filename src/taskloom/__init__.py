"""Taskloom: a durable task board for agents."""

__all__: list[str] = []

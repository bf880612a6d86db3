"""The board as text for prompts and tool results, and the texts for agents."""

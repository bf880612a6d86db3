"""The board in the prompt, and the texts for workers."""

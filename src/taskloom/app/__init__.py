"""The composition root: from configuration to a running house."""

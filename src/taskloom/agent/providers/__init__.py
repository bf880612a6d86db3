"""Chat models of real providers."""

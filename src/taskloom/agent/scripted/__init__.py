"""Chat models that follow a script."""

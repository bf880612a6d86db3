"""Scripts of the project, importable by its tests."""

"""Tools: definition, schema, validation and calls."""

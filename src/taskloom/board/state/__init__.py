"""A Task's state: steps, dependencies, indexes, and how events change them."""

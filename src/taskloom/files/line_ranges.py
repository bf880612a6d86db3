"""A slice of a text by lines, the same for every backend."""


def slice_lines(text: str, offset: int = 0, limit: int | None = None) -> str:
    """Return `limit` lines of a text from line `offset` on; only a newline ends a line."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit are numbers of lines and cannot be negative")
    start = 0
    for _ in range(offset):
        start = text.find("\n", start) + 1
        if start == 0:
            return ""
    if limit is None:
        return text[start:]
    end = start
    for _ in range(limit):
        found = text.find("\n", end) + 1
        if found == 0:
            return text[start:]
        end = found
    return text[start:end]

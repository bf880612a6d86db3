"""Encoding, slicing and path rules that every backend shares."""

import errno


def to_bytes(text: str) -> bytes:
    """Encode a text, including lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes, path: str) -> str:
    """Decode the content of a file.

    Raises:
        OSError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"`{path}` is not UTF-8 text: {error.reason}") from None


def slice_lines(text: str, offset: int = 0, limit: int | None = None) -> str:
    """Return `limit` lines of a text from line `offset` on; only LF ends a line."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit must not be negative")
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


def normalize_path(path: str) -> str:
    """Return a path without `.`, empty parts and leading or trailing slashes.

    Raises:
        PermissionError: it leaves the storage.
        ValueError: it cannot name a file.
    """
    if "\0" in path:
        raise ValueError(f"{path!r} contains a zero byte and cannot name a file.")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PermissionError(f"`{path}` leaves the storage with `..`.")
    return "/".join(parts)


def normalize_file_path(path: str) -> str:
    """Return the normalized path of a file.

    Raises:
        IsADirectoryError: it is the root of the storage.
    """
    name = normalize_path(path)
    if not name:
        raise IsADirectoryError(f"`{path}` does not name a file.")
    return name

"""Text to bytes and back, the same for every backend, and paths that stay inside a storage."""

import errno


def to_bytes(text: str) -> bytes:
    """Return the bytes of a text; every string has some, a lone surrogate too."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes, path: str) -> str:
    """Return the text of the bytes of a file.

    Raises:
        OSError: they are not text.
    """
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"`{path}` is not UTF-8 text: {error.reason}") from None


def clean_path(path: str) -> str:
    """Return a path as its parts joined by `/`, without a slash at either end.

    Raises:
        PermissionError: it leads out of the storage.
        ValueError: it cannot be the name of a file.
    """
    if "\0" in path:
        raise ValueError(f"{path!r} holds a zero byte and cannot name a file.")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PermissionError(f"`{path}` leads out of the storage with `..`.")
    return "/".join(parts)


def clean_file(path: str) -> str:
    """Return a cleaned path that names something.

    Raises:
        IsADirectoryError: it is the storage itself.
    """
    name = clean_path(path)
    if not name:
        raise IsADirectoryError(f"`{path}` names no file.")
    return name

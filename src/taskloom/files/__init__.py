"""Storage for plan files and saved content: a small protocol and its backends.

`taskloom.files.object_store` has one more, `ObjectFiles`, for object stores (extra `objects`).
"""

from taskloom.files.local import LocalFiles
from taskloom.files.memory import MemoryFiles
from taskloom.files.protocol import Backend, Creating, FileInfo, Gathering, Locking, Versioning

__all__ = [
    "Backend",
    "Creating",
    "FileInfo",
    "Gathering",
    "LocalFiles",
    "Locking",
    "MemoryFiles",
    "Versioning",
]

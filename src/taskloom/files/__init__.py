"""Storage for plan files and offloaded content: a small protocol and its backends.

`taskloom.files.object_store` has `ObjectFiles` for object stores; it needs the extra `objects`.
"""

from taskloom.files.cross_loop_lock import CrossLoopLock
from taskloom.files.local import LocalFiles
from taskloom.files.memory import MemoryFiles
from taskloom.files.protocol import (
    Backend,
    FileInfo,
    SupportsCreate,
    SupportsLock,
    SupportsVersions,
)
from taskloom.files.text import slice_lines

__all__ = [
    "Backend",
    "CrossLoopLock",
    "FileInfo",
    "LocalFiles",
    "MemoryFiles",
    "SupportsCreate",
    "SupportsLock",
    "SupportsVersions",
    "slice_lines",
]

"""Storage for plan files and saved content: a small protocol and its backends."""

from taskloom.files.memory import MemoryFiles
from taskloom.files.protocol import Backend, Creating, FileInfo, Locking

__all__ = ["Backend", "Creating", "FileInfo", "Locking", "MemoryFiles"]

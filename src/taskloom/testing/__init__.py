"""What stands in for the world in tests, and what logs and files must pass; for users too."""

from taskloom.testing.clock import FakeClock
from taskloom.testing.faulty_disk import Crashed, Fault, FaultyDisk
from taskloom.testing.files_contract import FilesContract
from taskloom.testing.log_contract import LogContract
from taskloom.testing.memory_disk import MemoryDisk

__all__ = [
    "Crashed",
    "FakeClock",
    "Fault",
    "FaultyDisk",
    "FilesContract",
    "LogContract",
    "MemoryDisk",
]

"""Test doubles for clocks and disks, and contract tests for logs and files."""

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

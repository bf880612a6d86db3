"""What stands in for the world in tests, and what every log must pass. For users' tests too."""

from taskloom.testing.clock import FakeClock
from taskloom.testing.faulty_disk import Crashed, Fault, FaultyDisk
from taskloom.testing.log_contract import LogContract
from taskloom.testing.memory_disk import MemoryDisk

__all__ = ["Crashed", "FakeClock", "Fault", "FaultyDisk", "LogContract", "MemoryDisk"]

"""Where the lines of a log are kept."""

from taskloom.log.disk import Disk, Entry, OsDisk
from taskloom.log.jsonl import Durability, JsonlLog
from taskloom.log.jsonl_wal import JsonlWal
from taskloom.log.memory import MemoryLog
from taskloom.log.protocol import START, Log, Position, TornTail, Wal, WalInfo
from taskloom.log.reader import Reader
from taskloom.log.record_log import RecordLog
from taskloom.log.sync_policy import SyncPolicy

__all__ = [
    "START",
    "Disk",
    "Durability",
    "Entry",
    "JsonlLog",
    "JsonlWal",
    "Log",
    "MemoryLog",
    "OsDisk",
    "Position",
    "Reader",
    "RecordLog",
    "SyncPolicy",
    "TornTail",
    "Wal",
    "WalInfo",
]

"""Logs on disk and in memory: the write-ahead logs of a board, and logs of records."""

from taskloom.log.disk import READ_WRITE, Disk, Entry, OsDisk
from taskloom.log.durable_append import JsonlWal
from taskloom.log.jsonl import Durability, JsonlLog
from taskloom.log.memory import MemoryLog
from taskloom.log.protocol import START, Log, Position, TornTail, Wal, WalInfo, read_chunk
from taskloom.log.read_only_log import NO_TRANSACTION, Progress, ReadOnlyLog
from taskloom.log.reader import Reader
from taskloom.log.record_log import RecordLog
from taskloom.log.sync_policy import SyncPolicy

__all__ = [
    "NO_TRANSACTION",
    "READ_WRITE",
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
    "Progress",
    "ReadOnlyLog",
    "Reader",
    "RecordLog",
    "SyncPolicy",
    "TornTail",
    "Wal",
    "WalInfo",
    "read_chunk",
]

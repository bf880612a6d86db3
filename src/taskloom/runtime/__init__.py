"""The board's life: everything that waits, locks or asks what time it is."""

from taskloom.runtime.board import Board, open_board, session_dir
from taskloom.runtime.clock import Clock, SystemClock
from taskloom.runtime.desk import Desk
from taskloom.runtime.follow import Record, record_of
from taskloom.runtime.listing import ListTasks
from taskloom.runtime.restore import restore
from taskloom.runtime.session import Session
from taskloom.runtime.sync_board import SyncBoard

__all__ = [
    "Board",
    "Clock",
    "Desk",
    "ListTasks",
    "Record",
    "Session",
    "SyncBoard",
    "SystemClock",
    "open_board",
    "record_of",
    "restore",
    "session_dir",
]

"""The board's life: everything that waits, locks or asks what time it is."""

from taskloom.runtime.board import Board
from taskloom.runtime.change_signal import ChangeSignal
from taskloom.runtime.clock import Clock, SystemClock
from taskloom.runtime.follow import Record, record_of
from taskloom.runtime.handles import (
    Claim,
    StepResult,
    SyncClaim,
    SyncTaskHandle,
    TaskHandle,
    step,
)
from taskloom.runtime.log_reader import (
    Finding,
    Health,
    Inspection,
    ListTasks,
    SessionLogs,
    inspect,
    restore,
    verify,
)
from taskloom.runtime.open import (
    DEFAULT_SESSION,
    STATE_DIR,
    open_board,
    open_board_sync,
    session_dir,
)
from taskloom.runtime.sync_board import SyncBoard
from taskloom.runtime.task_writer import TaskWriter
from taskloom.runtime.task_writers import TaskWriters

__all__ = [
    "DEFAULT_SESSION",
    "STATE_DIR",
    "Board",
    "ChangeSignal",
    "Claim",
    "Clock",
    "Finding",
    "Health",
    "Inspection",
    "ListTasks",
    "Record",
    "SessionLogs",
    "StepResult",
    "SyncBoard",
    "SyncClaim",
    "SyncTaskHandle",
    "SystemClock",
    "TaskHandle",
    "TaskWriter",
    "TaskWriters",
    "inspect",
    "open_board",
    "open_board_sync",
    "record_of",
    "restore",
    "session_dir",
    "step",
    "verify",
]

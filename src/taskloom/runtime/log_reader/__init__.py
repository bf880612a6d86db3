"""Reads the logs of a session for list, show, verify and recent changes, without writing.

The writers restore their Tasks with it too, so what a viewer sees is what a writer decides on.
"""

from taskloom.runtime.log_reader.index import LogEntry, LogIndex
from taskloom.runtime.log_reader.inspection import Finding, Health, Inspection, inspect, verify
from taskloom.runtime.log_reader.listing import ListTasks, SessionLogs, list_tasks
from taskloom.runtime.log_reader.recent_changes import RecentChanges
from taskloom.runtime.log_reader.restore import gc_paused, restore

__all__ = [
    "Finding",
    "Health",
    "Inspection",
    "ListTasks",
    "LogEntry",
    "LogIndex",
    "RecentChanges",
    "SessionLogs",
    "gc_paused",
    "inspect",
    "list_tasks",
    "restore",
    "verify",
]

"""Taskloom: plans that survive. A durable task board for an Orchestrator and its workers.

Names are loaded when they are first used: importing the package takes almost no time, and a
program that shows its help does not load an event loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from taskloom.board import (
        Actor,
        AddDependency,
        AddStep,
        CancelStep,
        CancelTask,
        ClaimStep,
        CompleteTask,
        CreateTask,
        DeleteStep,
        EndRun,
        EventType,
        FailTask,
        NewStep,
        QuerySteps,
        Receipt,
        RemoveDependency,
        RenewLease,
        ReopenStep,
        Role,
        Rules,
        RunOutcome,
        Scope,
        StepPage,
        StepStatus,
        StepView,
        TaskLine,
        TaskPage,
        TaskStatus,
        TaskView,
        UpdateBoard,
        UpdateFields,
        UpdateStep,
        UpdateStepContent,
        UpdateTask,
    )
    from taskloom.errors import Code, RefusedError, StorageError, TaskloomError, UnavailableError
    from taskloom.log import Durability, MemoryLog
    from taskloom.runtime import (
        Board,
        Clock,
        ListTasks,
        Record,
        SyncBoard,
        open_board,
        open_board_sync,
    )

__version__ = "0.1.0"

__all__ = [
    "Actor",
    "AddDependency",
    "AddStep",
    "Board",
    "CancelStep",
    "CancelTask",
    "ClaimStep",
    "Clock",
    "Code",
    "CompleteTask",
    "CreateTask",
    "DeleteStep",
    "Durability",
    "EndRun",
    "EventType",
    "FailTask",
    "ListTasks",
    "MemoryLog",
    "NewStep",
    "QuerySteps",
    "Receipt",
    "Record",
    "RefusedError",
    "RemoveDependency",
    "RenewLease",
    "ReopenStep",
    "Role",
    "Rules",
    "RunOutcome",
    "Scope",
    "StepPage",
    "StepStatus",
    "StepView",
    "StorageError",
    "SyncBoard",
    "TaskLine",
    "TaskPage",
    "TaskStatus",
    "TaskView",
    "TaskloomError",
    "UnavailableError",
    "UpdateBoard",
    "UpdateFields",
    "UpdateStep",
    "UpdateStepContent",
    "UpdateTask",
    "open_board",
    "open_board_sync",
]

_PACKAGES: Final = {
    "taskloom.board": (
        "Actor",
        "AddDependency",
        "AddStep",
        "CancelStep",
        "CancelTask",
        "ClaimStep",
        "CompleteTask",
        "CreateTask",
        "DeleteStep",
        "EndRun",
        "EventType",
        "FailTask",
        "NewStep",
        "QuerySteps",
        "Receipt",
        "RemoveDependency",
        "RenewLease",
        "ReopenStep",
        "Role",
        "Rules",
        "RunOutcome",
        "Scope",
        "StepPage",
        "StepStatus",
        "StepView",
        "TaskLine",
        "TaskPage",
        "TaskStatus",
        "TaskView",
        "UpdateBoard",
        "UpdateFields",
        "UpdateStep",
        "UpdateStepContent",
        "UpdateTask",
    ),
    "taskloom.errors": (
        "Code",
        "RefusedError",
        "StorageError",
        "TaskloomError",
        "UnavailableError",
    ),
    "taskloom.log": (
        "Durability",
        "MemoryLog",
    ),
    "taskloom.runtime": (
        "Board",
        "Clock",
        "ListTasks",
        "Record",
        "SyncBoard",
        "open_board",
        "open_board_sync",
    ),
}
"""Where each name lives; a test compares it with the imports above."""


def __getattr__(name: str) -> object:
    for package, names in _PACKAGES.items():
        if name in names:
            value = getattr(import_module(package), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'taskloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

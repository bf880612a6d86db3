"""The core: Tasks, the commands that change them, and the events that record the changes.

Standard library only; no clock, no loop, no disk. `decide` accepts or refuses a command, `evolve`
is the only place that changes state.
"""

from taskloom.board.actor import Actor, Role, Scope, require_orchestrator, require_sight
from taskloom.board.claimable import Claimable, find_claimable
from taskloom.board.commands import (
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    EndRun,
    ExpireLeases,
    FailTask,
    RenewLease,
    RunOutcome,
    UpdateBoard,
    UpdateStep,
)
from taskloom.board.decide.command import authorise, check_command, decide, decide_authorised
from taskloom.board.decide.create import decide_create
from taskloom.board.events import (
    PAYLOADS,
    Event,
    Payload,
    StepCompleted,
    StepSnapshot,
    TaskCreated,
    TaskSnapshot,
)
from taskloom.board.operations import (
    AddDependency,
    AddStep,
    CancelStep,
    DeleteStep,
    NewStep,
    Operation,
    RemoveDependency,
    ReopenStep,
    UpdateFields,
    UpdateStepContent,
    UpdateTask,
)
from taskloom.board.query import QuerySteps, query_steps
from taskloom.board.rules import DEFAULT_RULES, Rules
from taskloom.board.state.evolve import ImpossibleEventError, Recorded, create, evolve, evolve_all
from taskloom.board.state.reference_events import force_step, force_task, task_from_snapshot
from taskloom.board.state.step import Step
from taskloom.board.state.task import Done, Task
from taskloom.board.status import (
    STEP_NEXT,
    TASK_NEXT,
    TASK_TERMINAL,
    TERMINAL_EVENTS,
    EventType,
    StepStatus,
    TaskStatus,
)
from taskloom.board.summary import Summary, summarise
from taskloom.board.views import (
    Receipt,
    StepPage,
    StepView,
    TaskLine,
    TaskPage,
    TaskView,
    count_steps,
    view_line,
    view_step,
    view_task,
)

__all__ = [
    "DEFAULT_RULES",
    "PAYLOADS",
    "STEP_NEXT",
    "TASK_NEXT",
    "TASK_TERMINAL",
    "TERMINAL_EVENTS",
    "Actor",
    "AddDependency",
    "AddStep",
    "CancelStep",
    "CancelTask",
    "ClaimStep",
    "Claimable",
    "Command",
    "CompleteTask",
    "CreateTask",
    "DeleteStep",
    "Done",
    "EndRun",
    "Event",
    "EventType",
    "ExpireLeases",
    "FailTask",
    "ImpossibleEventError",
    "NewStep",
    "Operation",
    "Payload",
    "QuerySteps",
    "Receipt",
    "Recorded",
    "RemoveDependency",
    "RenewLease",
    "ReopenStep",
    "Role",
    "Rules",
    "RunOutcome",
    "Scope",
    "Step",
    "StepCompleted",
    "StepPage",
    "StepSnapshot",
    "StepStatus",
    "StepView",
    "Summary",
    "Task",
    "TaskCreated",
    "TaskLine",
    "TaskPage",
    "TaskSnapshot",
    "TaskStatus",
    "TaskView",
    "UpdateBoard",
    "UpdateFields",
    "UpdateStep",
    "UpdateStepContent",
    "UpdateTask",
    "authorise",
    "check_command",
    "count_steps",
    "create",
    "decide",
    "decide_authorised",
    "decide_create",
    "evolve",
    "evolve_all",
    "find_claimable",
    "force_step",
    "force_task",
    "query_steps",
    "require_orchestrator",
    "require_sight",
    "summarise",
    "task_from_snapshot",
    "view_line",
    "view_step",
    "view_task",
]

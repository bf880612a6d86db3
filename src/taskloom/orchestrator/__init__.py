"""Orchestrator mode: an agent plans on the board, and dispatches workers that carry it out."""

from taskloom.orchestrator.agent_definition import AgentDefinition
from taskloom.orchestrator.event_bus import EventBus, Listener, RunOutput
from taskloom.orchestrator.events import RunEvent, SessionEvent
from taskloom.orchestrator.executors.agent import AgentExecutor
from taskloom.orchestrator.executors.executor import Emit, Executor, Job, Outcome, WorkerHandle
from taskloom.orchestrator.executors.function import FunctionExecutor, FunctionWorkerError
from taskloom.orchestrator.executors.program import ProgramExecutor, ProgramWorkerError
from taskloom.orchestrator.orchestrator import Orchestrator
from taskloom.orchestrator.plan_runner import PlanReport
from taskloom.orchestrator.pool import Pool, Worker, check_pools
from taskloom.orchestrator.prompt.middleware import BoardInPrompt, board_text
from taskloom.orchestrator.settings import Settings
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.orchestrator.worker_slots import WorkerSlot

__all__ = [
    "AgentDefinition",
    "AgentExecutor",
    "BoardInPrompt",
    "Emit",
    "EventBus",
    "Executor",
    "FunctionExecutor",
    "FunctionWorkerError",
    "Job",
    "Listener",
    "Orchestrator",
    "Outcome",
    "PlanReport",
    "Pool",
    "ProgramExecutor",
    "ProgramWorkerError",
    "RunEvent",
    "RunOutput",
    "RunReport",
    "SessionEvent",
    "Settings",
    "Worker",
    "WorkerHandle",
    "WorkerRun",
    "WorkerSlot",
    "board_text",
    "check_pools",
]

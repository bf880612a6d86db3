"""Orchestrator mode: an agent plans on the board, and dispatches workers that carry it out."""

from taskloom.orchestrator.agent_definition import AgentDefinition
from taskloom.orchestrator.event_bus import (
    EventBus,
    Listener,
    RunEvent,
    RunOutput,
    SessionEvent,
)
from taskloom.orchestrator.executors.agent import AgentExecutor
from taskloom.orchestrator.executors.executor import Emit, Executor, Job, Outcome, WorkerHandle
from taskloom.orchestrator.executors.function import FunctionExecutor, FunctionWorkerError
from taskloom.orchestrator.executors.program import ProgramExecutor, ProgramWorkerError
from taskloom.orchestrator.orchestrator import ORCHESTRATOR, Orchestrator
from taskloom.orchestrator.plan_runner import PlanReport
from taskloom.orchestrator.pool import Pool, Worker, check_pools
from taskloom.orchestrator.prompt.middleware import BoardInPrompt, board_text
from taskloom.orchestrator.settings import Settings
from taskloom.orchestrator.worker_run import RunInfo, RunReport
from taskloom.orchestrator.worker_slots import WorkerInfo

__all__ = [
    "ORCHESTRATOR",
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
    "RunInfo",
    "RunOutput",
    "RunReport",
    "SessionEvent",
    "Settings",
    "Worker",
    "WorkerHandle",
    "WorkerInfo",
    "board_text",
    "check_pools",
]

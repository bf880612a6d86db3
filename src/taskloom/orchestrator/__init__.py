"""Orchestrator mode: an agent plans on the board and dispatches workers that carry out the plan."""

from taskloom.orchestrator.errors import (
    AcpWorkerError,
    FunctionWorkerError,
    InvalidResultError,
    ProgramWorkerError,
    RunStoppedError,
    WorkerError,
)
from taskloom.orchestrator.event_bus import (
    ORCHESTRATOR,
    Listener,
    RunEvent,
    RunOutput,
    SessionEvent,
)
from taskloom.orchestrator.executors.agent import AgentExecutor, MakeTools
from taskloom.orchestrator.executors.executor import (
    AgentDefinition,
    Emit,
    Executor,
    Job,
    Outcome,
    ReceivesMessages,
    WorkerHandle,
)
from taskloom.orchestrator.executors.function import FunctionExecutor
from taskloom.orchestrator.executors.program import ProgramExecutor
from taskloom.orchestrator.inbox import MessageDelivered
from taskloom.orchestrator.orchestrator import Orchestrator
from taskloom.orchestrator.plan_runner import PlanReport
from taskloom.orchestrator.pool import DEFAULT_SETTINGS, Pool, Settings, Worker, check_pools
from taskloom.orchestrator.prompt.board_in_prompt import BoardInPrompt, board_text
from taskloom.orchestrator.prompt.texts import built_in_agent
from taskloom.orchestrator.worker_run import RunInfo, RunReport
from taskloom.orchestrator.worker_slots import WorkerInfo
from taskloom.orchestrator.workers import (
    acp_executor,
    acp_worker,
    agent_worker,
    function_worker,
    program_worker,
)

__all__ = [
    "DEFAULT_SETTINGS",
    "ORCHESTRATOR",
    "AcpWorkerError",
    "AgentDefinition",
    "AgentExecutor",
    "BoardInPrompt",
    "Emit",
    "Executor",
    "FunctionExecutor",
    "FunctionWorkerError",
    "InvalidResultError",
    "Job",
    "Listener",
    "MakeTools",
    "MessageDelivered",
    "Orchestrator",
    "Outcome",
    "PlanReport",
    "Pool",
    "ProgramExecutor",
    "ProgramWorkerError",
    "ReceivesMessages",
    "RunEvent",
    "RunInfo",
    "RunOutput",
    "RunReport",
    "RunStoppedError",
    "SessionEvent",
    "Settings",
    "Worker",
    "WorkerError",
    "WorkerHandle",
    "WorkerInfo",
    "acp_executor",
    "acp_worker",
    "agent_worker",
    "board_text",
    "built_in_agent",
    "check_pools",
    "function_worker",
    "program_worker",
]

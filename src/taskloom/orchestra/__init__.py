"""Orchestrator mode: an agent plans on the board, and dispatches workers that carry it out."""

from taskloom.orchestra.agent_executor import AgentExecutor
from taskloom.orchestra.board_prompt import BoardInPrompt, board_text
from taskloom.orchestra.callable_executor import CallableExecutor, CallableFailed
from taskloom.orchestra.carry_out import CarriedOut
from taskloom.orchestra.child import Child, Ending
from taskloom.orchestra.definition import AgentDefinition
from taskloom.orchestra.executor import Emit, Executor, Job, Outcome, Working
from taskloom.orchestra.happening import Happening, RunEvent
from taskloom.orchestra.hub import Hub, Listener, Said
from taskloom.orchestra.orchestration import Orchestration
from taskloom.orchestra.pool import ConfigError, Pool, Worker, check_pools
from taskloom.orchestra.process_executor import ProcessExecutor, ProcessFailed
from taskloom.orchestra.roster import Seat
from taskloom.orchestra.settings import Settings

__all__ = [
    "AgentDefinition",
    "AgentExecutor",
    "BoardInPrompt",
    "CallableExecutor",
    "CallableFailed",
    "CarriedOut",
    "Child",
    "ConfigError",
    "Emit",
    "Ending",
    "Executor",
    "Happening",
    "Hub",
    "Job",
    "Listener",
    "Orchestration",
    "Outcome",
    "Pool",
    "ProcessExecutor",
    "ProcessFailed",
    "RunEvent",
    "Said",
    "Seat",
    "Settings",
    "Worker",
    "Working",
    "board_text",
    "check_pools",
]

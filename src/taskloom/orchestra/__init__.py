"""Orchestrator mode: an agent plans on the board, and dispatches workers that carry it out."""

from taskloom.orchestra.definition import AgentDefinition
from taskloom.orchestra.executor import Emit, Executor, Job, Outcome, Working
from taskloom.orchestra.happening import Happening, RunEvent
from taskloom.orchestra.pool import ConfigError, Pool, Worker, check_pools
from taskloom.orchestra.settings import Settings

__all__ = [
    "AgentDefinition",
    "ConfigError",
    "Emit",
    "Executor",
    "Happening",
    "Job",
    "Outcome",
    "Pool",
    "RunEvent",
    "Settings",
    "Worker",
    "Working",
    "check_pools",
]

"""Configuration: `taskloom.toml`, agent definitions, and the environment, checked and typed."""

from taskloom.config.config import (
    DEFAULT_ORCHESTRATOR,
    DEFAULT_WORKER,
    FILE_NAME,
    AcpConfig,
    AcpExecutorConfig,
    AgentsConfig,
    AllowConfig,
    CallableConfig,
    Config,
    ContextConfig,
    ExecutorConfig,
    ModelConfig,
    PoolConfig,
    ProcessConfig,
    RunConfig,
    TaskConfig,
    WorkerConfig,
    is_allowed,
)
from taskloom.config.definitions import (
    built_in_definitions,
    find_definition,
    load_definitions,
    read_definition,
)
from taskloom.config.hints import suggest
from taskloom.config.load import MODEL_VARIABLE, load_config

__all__ = [
    "DEFAULT_ORCHESTRATOR",
    "DEFAULT_WORKER",
    "FILE_NAME",
    "MODEL_VARIABLE",
    "AcpConfig",
    "AcpExecutorConfig",
    "AgentsConfig",
    "AllowConfig",
    "CallableConfig",
    "Config",
    "ContextConfig",
    "ExecutorConfig",
    "ModelConfig",
    "PoolConfig",
    "ProcessConfig",
    "RunConfig",
    "TaskConfig",
    "WorkerConfig",
    "built_in_definitions",
    "find_definition",
    "is_allowed",
    "load_config",
    "load_definitions",
    "read_definition",
    "suggest",
]

"""Workers for `Orchestrator(workers=[…])`: functions, chat-model agents, programs, ACP agents.

Each function returns a pool with `count` workers; pools with the same id are one pool.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from taskloom.agent import ChatModel, Language, Middleware, Retry, ToolLike
from taskloom.board import DEFAULT_POOL
from taskloom.errors import ConfigError
from taskloom.ids import PoolId
from taskloom.orchestrator.executors.agent import MAX_ITERATIONS, AgentExecutor
from taskloom.orchestrator.executors.executor import AgentDefinition, Executor
from taskloom.orchestrator.executors.function import FunctionExecutor
from taskloom.orchestrator.executors.program import ProgramExecutor
from taskloom.orchestrator.pool import Pool, Worker
from taskloom.session import RETRY

_ACP_EXECUTOR: Final = "taskloom.orchestrator.executors.acp"


def function_worker(
    name: str,
    function: Callable[..., object],
    *,
    count: int = 1,
    pool: PoolId = DEFAULT_POOL,
    tags: Sequence[str] = (),
    description: str = "",
) -> Pool:
    """Return workers that call a function for each step.

        async def greet(step, inputs):
            return f"{step.title}: done"

    The function gets the arguments that its parameters name: `step`, `inputs` (the results of the
    steps it depends on, by step id), `emit`, `should_stop`, `job`. It returns text, JSON data or an
    `Outcome`; an exception fails the step. A function that is not async runs in a thread.

    Raises:
        ConfigError: the function has other parameters, or the name cannot be a worker's id.
    """
    text = description or _first_line(function)
    return _pool(name, FunctionExecutor(function), text, count, pool, tags)


def agent_worker(
    name: str,
    model: ChatModel | str,
    *,
    tools: Sequence[ToolLike] = (),
    instruction: str = "",
    count: int = 1,
    pool: PoolId = DEFAULT_POOL,
    tags: Sequence[str] = (),
    description: str = "",
    middleware: Sequence[Middleware] = (),
    retry: Retry | None = RETRY,
    max_iterations: int = MAX_ITERATIONS,
    language: Language = "en",
) -> Pool:
    """Return workers that are chat-model agents.

    Args:
        name: the worker's id; with a count the ids are `name-1`, `name-2`, …
        model: a model, or a string such as `openai:gpt-…`.
        tools: its working tools, beside the Task tools.
        instruction: instead of the built-in one; it must say how to claim and report a step.
        count: how many workers.
        pool: the pool whose steps they take.
        tags: shown to the Orchestrator's model.
        description: what they do, shown to the Orchestrator's model.
        middleware: of every run.
        retry: when a failed model call is made again.
        max_iterations: model calls of one run.
        language: of the built-in texts.
    """
    executor = AgentExecutor(
        model,
        tools,
        middleware=lambda _: middleware,
        language=language,
        retry=retry,
        max_iterations=max_iterations,
    )
    text = description or f"A chat-model agent with the tools {', '.join(executor.tools) or 'none'}"
    return _pool(name, executor, text, count, pool, tags, instruction)


def program_worker(
    name: str,
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    messages: bool = False,
    count: int = 1,
    pool: PoolId = DEFAULT_POOL,
    tags: Sequence[str] = (),
    description: str = "",
) -> Pool:
    """Return workers that start a program for each step; see `ProgramExecutor`.

    With `messages` the program's standard input stays open and receives messages of people as
    lines `{"type": "message", "text": …}`.
    """
    executor = ProgramExecutor(command, cwd=cwd, env=env, messages=messages)
    return _pool(name, executor, description or f"Runs {command[0]}", count, pool, tags)


def acp_worker(
    name: str,
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] = ".",
    env: Mapping[str, str] | None = None,
    permit: Callable[[str], Awaitable[bool]] | None = None,
    count: int = 1,
    pool: PoolId = DEFAULT_POOL,
    tags: Sequence[str] = (),
    description: str = "",
) -> Pool:
    """Return workers that give each step to an agent that speaks ACP; needs the extra `acp`.

    `permit` answers the agent's permission requests; without it all are refused.

    Raises:
        ConfigError: the extra is not installed.
    """
    options = {} if permit is None else {"permit": permit}
    executor = acp_executor(command, cwd=cwd, env=env, **options)
    return _pool(name, executor, description or f"The agent {command[0]}", count, pool, tags)


def acp_executor(command: Sequence[str], **options: Any) -> Executor:
    """Return an `AcpExecutor`; the module is loaded here because it needs the extra `acp`.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        module: Any = import_module(_ACP_EXECUTOR)
    except ImportError as error:
        raise ConfigError(
            "Workers that speak ACP need the extra `acp`: pip install 'taskloom[acp]'."
        ) from error
    executor: Executor = module.AcpExecutor(command, **options)
    return executor


def _pool(
    name: str,
    executor: Executor,
    description: str,
    count: int,
    pool: PoolId,
    tags: Sequence[str],
    instruction: str = "",
) -> Pool:
    if count < 1:
        raise ConfigError(f"Worker {name!r}: `count` must be at least 1; got {count}.")
    definition = AgentDefinition(
        id=name, name=name, description=description, body=instruction, tags=tuple(tags)
    )
    ids = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    workers = (Worker(definition=definition, executor=executor, worker_id=id_) for id_ in ids)
    return Pool(pool_id=pool, workers=tuple(workers))


def _first_line(function: Callable[..., object]) -> str:
    text = (function.__doc__ or "").strip()
    return text.splitlines()[0] if text else f"Calls {getattr(function, '__name__', 'a function')}"

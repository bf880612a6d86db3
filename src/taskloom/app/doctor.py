"""Checks that a project is set up: one check per thing a run needs, each says how to fix it."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final, cast

import anyio
from msgspec import Struct

from taskloom.agent import ChatModel, Message, ModelError, ModelRequest
from taskloom.agent.workspace import Workspace, program_environment
from taskloom.app.models import chat_model
from taskloom.app.pools import build_pools
from taskloom.config import (
    FILE_NAME,
    AcpExecutorConfig,
    CallableConfig,
    Config,
    ExecutorConfig,
    load_config,
    load_definitions,
)
from taskloom.errors import ConfigError, TaskloomError
from taskloom.ids import WAL_SUFFIX
from taskloom.orchestrator import AgentDefinition, Emit, Executor, Job, Pool, WorkerHandle
from taskloom.runtime import Health, verify
from taskloom.text import join_limited

MODEL_TIMEOUT_S: Final = 60.0
"""Long enough for a local model that is loaded first."""
DISK_BYTES_MIN: Final = 100_000_000
_DAMAGED: Final = (Health.DAMAGED, Health.UNREADABLE, Health.NOT_A_FILE)
_SHOWN_MAX: Final = 5
_MODEL_ADVICE: Final = (
    f"Check TASKLOOM_MODEL, its key, and [model] in {FILE_NAME}. --offline skips this check."
)


class Status(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    """It works now and may fail soon."""
    FAIL = "fail"
    SKIPPED = "skipped"


class Check(Struct, frozen=True, kw_only=True):
    """One check and its result."""

    name: str
    status: Status
    message: str
    advice: str = ""


def diagnose(
    project: Path, *, state_dir: str, environ: Mapping[str, str], offline: bool
) -> Iterator[Check]:
    """Yield the checks in order; those that need a failed one are left out."""
    config, check = _configuration(project, environ)
    yield check
    if config is not None:
        definitions, check = _definitions(project, config)
        yield check
        if definitions is not None:
            pools, check = _pools(project, config, definitions)
            yield check
            yield from _executors(project, config)
            yield from _models(config, environ, _own_models(config, definitions, pools), offline)
    yield _state(project, state_dir)
    yield _logs(project / state_dir / "tasks")


def _configuration(project: Path, environ: Mapping[str, str]) -> tuple[Config | None, Check]:
    path = project / FILE_NAME
    try:
        config = load_config(project, environ=environ)
    except TaskloomError as error:
        return None, _fail("configuration", error.message, f"Fix {path}.")
    if path.exists():
        return config, _ok("configuration", f"{path} is valid")
    message = f"no {path}, defaults apply; `taskloom init` writes one"
    return config, _ok("configuration", message)


def _definitions(
    project: Path, config: Config
) -> tuple[Mapping[str, AgentDefinition] | None, Check]:
    try:
        found = load_definitions(project, config)
    except TaskloomError as error:
        return None, _fail("definitions", error.message, "Fix the file, or remove it.")
    if config.agents.orchestrator not in found:
        return found, _fail(
            "definitions",
            f"`agents.orchestrator` names {config.agents.orchestrator!r}, which does not exist",
            f"Use one of {', '.join(sorted(found))}.",
        )
    return found, _ok("definitions", ", ".join(sorted(found)))


class _ToolList:
    """An executor that only lists its tools; no check runs a worker."""

    claims = True

    def __init__(self, tools: Sequence[str]) -> None:
        self.tools = tools

    def begin(self, job: Job, emit: Emit) -> WorkerHandle:
        raise AssertionError(f"doctor runs no worker: {job.run_id}, {emit}")


def _pools(
    project: Path, config: Config, definitions: Mapping[str, AgentDefinition]
) -> tuple[tuple[Pool, ...], Check]:
    tools = [tool.name for tool in Workspace(project).tools()]

    def tools_only(_: AgentDefinition) -> Executor:
        return _ToolList(tools)

    def acp_tools_only(_: AcpExecutorConfig, __: Path) -> Executor:
        if find_spec("acp") is None:
            raise ConfigError(
                "Executors of type acp need the extra `acp`: pip install 'taskloom[acp]'."
            )
        return _ToolList(())

    try:
        pools = build_pools(
            config,
            project,
            make_agent_executor=tools_only,
            make_acp_executor=acp_tools_only,
            definitions=definitions,
        )
    except TaskloomError as error:
        return (), _fail("pools", error.message, f"Fix [[pools]] in {FILE_NAME}.")
    counts = ", ".join(f"{pool.pool_id} ({len(pool.workers)})" for pool in pools)
    return pools, _ok("pools", f"workers: {counts}")


def _executors(project: Path, config: Config) -> Iterator[Check]:
    for name, executor in config.executors.items():
        yield _executor(project, f"executors.{name}", executor)


def _executor(project: Path, name: str, executor: ExecutorConfig) -> Check:
    if isinstance(executor, CallableConfig):
        return _ok(name, f"function {executor.target}")
    where = project / executor.cwd
    if not where.is_dir():
        return _fail(name, f"there is no directory {where}", f"Create it, or change {name}.cwd.")
    program = executor.command[0]
    path = {**program_environment(), **executor.env}.get("PATH")
    wanted = str(where / program) if os.sep in program else program
    found = shutil.which(wanted, path=path)
    if found is None:
        return _fail(
            name,
            f"the program {program} does not exist or is not executable",
            f"Install it, or change {name}.command in {FILE_NAME}.",
        )
    return _ok(name, f"program {found}")


def _own_models(
    config: Config, definitions: Mapping[str, AgentDefinition], pools: Sequence[Pool]
) -> list[str]:
    """Return the models that are used besides the default model."""
    used = [worker.definition for pool in pools for worker in pool.workers]
    orchestrator = definitions.get(config.agents.orchestrator)
    own = {each.model for each in [*used, orchestrator] if each and each.executor is None}
    return sorted(own - {"", config.model.name})


def _models(
    config: Config,
    environ: Mapping[str, str],
    own: Sequence[str],
    offline: bool,
) -> Iterator[Check]:
    for name in ["", *own]:
        shown = f"model {name or config.model.name}".strip()
        try:
            model = chat_model(config, environ, name=name)
        except TaskloomError as error:
            yield _fail(shown, error.message, _MODEL_ADVICE)
            continue
        if offline:
            yield Check(name=shown, status=Status.SKIPPED, message="not checked: --offline")
        else:
            yield anyio.run(_ask, shown, model)


async def _ask(name: str, model: ChatModel) -> Check:
    """Send the model a small request, as a run would."""
    request = ModelRequest([Message.user("Answer with the word: ready")])
    try:
        async with AsyncExitStack() as stack:
            if isinstance(model, AbstractAsyncContextManager):
                await stack.enter_async_context(cast("AbstractAsyncContextManager[object]", model))
            with anyio.fail_after(MODEL_TIMEOUT_S):
                await model.generate(request)
    except ModelError as error:
        if error.kind.startswith("script"):
            return _ok(name, "the script is valid")
        return _fail(name, error.message, _MODEL_ADVICE)
    except TimeoutError:
        advice = "Check the address and the network, then try again."
        return _fail(name, f"no answer within {MODEL_TIMEOUT_S:.0f} s", advice)
    except Exception as error:  # noqa: BLE001  # every error is reported
        return _fail(name, f"{type(error).__name__}: {error}", _MODEL_ADVICE)
    return _ok(name, "it answers")


def _state(project: Path, state_dir: str) -> Check:
    """Write and lock a file in the state directory, or where it will be, as a log does."""
    state = project / state_dir
    if os.path.lexists(state) and not state.is_dir():
        return _fail("state", f"{state} is not a directory", "Move it away.")
    where = state if state.is_dir() else project
    advice = f"Make {where} writable, on a local disk."
    try:
        with tempfile.TemporaryDirectory(prefix=".taskloom-probe-", dir=where) as folder:
            if not _locks_work(Path(folder) / "probe"):
                return _fail("state", f"{where}: file locks do not work there", advice)
        free = shutil.disk_usage(where).free
    except OSError as error:
        return _fail("state", f"{where}: {error.strerror or error}", advice)
    if free < DISK_BYTES_MIN:
        message = f"{where}: only {free // 1_000_000} MB free"
        return Check(
            name="state", status=Status.WARNING, message=message, advice="Free some disk space."
        )
    there = "" if where is state else f"; a run creates {state_dir} there"
    return _ok("state", f"{where} is writable and locks work{there}")


def _locks_work(path: Path) -> bool:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    first, second = os.open(path, flags, 0o600), os.open(path, flags, 0o600)
    try:
        os.write(first, b"probe\n")
        os.fsync(first)
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
    finally:
        os.close(second)
        os.close(first)


def _logs(tasks: Path) -> Check:
    try:
        paths = sorted(tasks.glob(f"*/*{WAL_SUFFIX}"))
    except OSError as error:
        return _fail("logs", f"{tasks}: {error.strerror or error}", "Make it readable.")
    findings = [verify(path) for path in paths]
    wrong = [found for found in findings if found.health in _DAMAGED]
    if wrong:
        named = join_limited([f"{found.wal_path} ({found.cause})" for found in wrong], _SHOWN_MAX)
        return _fail(
            "logs",
            f"{len(wrong)} of {len(findings)} damaged or unreadable: {named}",
            "Nothing is appended to them. `taskloom board verify` shows details. Restore them from "
            "a backup, or move them away.",
        )
    if not findings:
        return _ok("logs", "no logs yet")
    torn = sum(found.health is Health.TORN for found in findings)
    more = f", {torn} with an unfinished write at the end, which is harmless" if torn else ""
    return _ok("logs", f"{len(findings)} checked, none damaged{more}")


def _ok(name: str, message: str) -> Check:
    return Check(name=name, status=Status.OK, message=message)


def _fail(name: str, message: str, advice: str) -> Check:
    return Check(name=name, status=Status.FAIL, message=message, advice=advice)

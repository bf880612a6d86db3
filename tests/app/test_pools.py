"""From configuration and definitions to pools: who there is, and what carries out their steps."""

from pathlib import Path

import anyio
import pytest

from taskloom.app import build_pools
from taskloom.config import load_config
from taskloom.errors import ConfigError
from taskloom.orchestrator import AgentDefinition, Executor, FunctionExecutor, Pool, ProgramExecutor
from taskloom.orchestrator.pool import named_workers
from tests.orchestrator.jobs import Heard, a_job

POOLS = """
[[pools]]
pool_id = "default"
[[pools.workers]]
agent = "coder"
count = 2
[[pools.workers]]
agent = "default_worker_agent"
worker_id = "helper"
count = 2
allowed_tools = ["read_file"]
[[pools]]
pool_id = "checks"
[[pools.workers]]
executor = "tests"
[[pools.workers]]
agent = "runner"

[executors.tests]
type = "process"
description = "Runs the tests."
command = ["sh", "-c", "pwd; echo $CI"]
env = { CI = "1" }
cwd = "sub"
[executors.count]
type = "callable"
target = "counting_steps:Counter.count"
"""


class Stand:
    """What stands in for an executor with a chat model: it has tools, and is asked no more."""

    claims = True

    def __init__(self, definition: AgentDefinition) -> None:
        self.definition = definition
        self.tools = ("read_file", "write_file")

    def begin(self, job: object, emit: object) -> object:
        raise NotImplementedError


def build(folder: Path, text: str, made: list[str] | None = None) -> tuple[Pool, ...]:
    (folder / "taskloom.toml").write_text(text, encoding="utf-8")

    def make(definition: AgentDefinition) -> Executor:
        if made is not None:
            made.append(definition.id)
        return Stand(definition)  # type: ignore[return-value]  # it is never begun

    return build_pools(load_config(folder, environ={}), folder, make_agent_executor=make)


def define(folder: Path, name: str, more: str = "") -> None:
    (folder / "agents").mkdir(exist_ok=True)
    text = f"---\nid: {name}\nname: {name}\ndescription: Does.\n{more}---\nWork.\n"
    (folder / "agents" / f"{name}.md").write_text(text, encoding="utf-8")


@pytest.mark.spec("TB-901", "TB-914")
async def test_pools_are_built_with_names_definitions_tools_and_executors(tmp_path: Path) -> None:
    define(tmp_path, "coder", "tools: [write_file]\n")
    define(tmp_path, "runner", "executor: count\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "counting_steps.py").write_text(
        "class Counter:\n    @staticmethod\n    def count(step): return len(step.title)\n",
        encoding="utf-8",
    )
    made: list[str] = []
    default, checks = build(tmp_path, POOLS, made)
    assert made == ["coder", "default_worker_agent"]
    workers = named_workers(default)
    assert [name for name, _ in workers] == [
        *("default_coder_0", "default_coder_1", "helper_0", "helper_1"),
    ]
    assert [worker.allowed_tools for _, worker in workers][1:3] == [None, ("read_file",)]
    tests, runner = checks.workers
    assert (tests.definition.id, tests.definition.description) == ("tests", "Runs the tests.")
    assert isinstance(tests.executor, ProgramExecutor)
    assert isinstance(runner.executor, FunctionExecutor)
    with anyio.fail_after(20):
        ran = await tests.executor.begin(a_job(), Heard()).result()
        counted = await runner.executor.begin(a_job(), Heard()).result()
    assert ran.text == f"{tmp_path / 'sub'}\n1"
    assert counted.data == len("First")


@pytest.mark.spec("TB-901")
def test_names_are_the_same_each_time(tmp_path: Path) -> None:
    names = [[name for name, _ in named_workers(build(tmp_path, "")[0])] for _ in range(2)]
    assert names[0] == names[1] == [f"default_default_worker_agent_{n}" for n in range(3)]


def pool(worker: str, more: str = "") -> str:
    return f"[[pools]]\npool_id = 'default'\n[[pools.workers]]\n{worker}\n{more}"


@pytest.mark.spec("TB-901")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pools = []", ["needs a worker pool"]),
        ("[[pools]]\npool_id = 'default'", ["needs a worker pool"]),
        (pool("agent = 'codr'"), ["pools[0].workers[0]", "'codr'", "Did you mean coder"]),
        (pool("agent = 'coder'\nallowed_tools = ['fly']"), ["'fly'", "read_file, write_file"]),
        (pool("agent = 'coder'\nworker_id = 'A B'"), ["worker_id"]),
        (pool("agent = 'coder'\nworker_id = 'a'", pool("agent = 'coder'")), ["two pools"]),
        (pool("agent = 'lost'"), ["lost.md", "'nobody'", "[executors]"]),
        (pool("executor = 'x'", "[executors.x]\ntype = 'callable'\ntarget = 'no_such:f'"),
         ["no_such:f", "ModuleNotFoundError"]),
        (pool("executor = 'x'", "[executors.x]\ntype = 'callable'\ntarget = 'os:nothing'"),
         ["os:nothing", "AttributeError"]),
        (pool("executor = 'x'", "[executors.x]\ntype = 'callable'\ntarget = 'os:sep'"),
         ["not a function"]),
        (pool("executor = 'x'", "[executors.x]\ntype = 'acp'\ncommand = ['x']"), ["acp"]),
    ],
)  # fmt: skip  # a table reads better
def test_what_cannot_work_is_refused_before_anything_starts(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    define(tmp_path, "coder")
    define(tmp_path, "lost", "executor: nobody\n")
    with pytest.raises(ConfigError) as refused:
        build(tmp_path, text)
    for word in words:
        assert word in refused.value.message

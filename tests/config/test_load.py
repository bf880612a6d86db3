"""taskloom.toml: its keys, its defaults, and the errors for invalid values."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from taskloom.agent.workspace import PermissionRequest
from taskloom.config import (
    AllowConfig,
    CallableConfig,
    Config,
    ProcessConfig,
    is_allowed,
    load_config,
)
from taskloom.errors import ConfigError

WHOLE = """
[model]
name = "openai:gpt-x"
base_url = "http://127.0.0.1:8000/v1"
api_key_env = "MY_KEY"
settings = { temperature = 0, timeout = 60 }

[task]
step_lease_timeout_ms = 5000
steps_max = 50

[agents]
definitions_dir = "definitions"
default_worker_pool = "coders"
default_child_timeout_ms = 1000
child_cancel_timeout_ms = 2000
worker_iterations_max = 7

[context]
task_board_token_budget = 300
task_recent_changes_limit = 5
task_recent_changes_window_minutes = 10
task_result_bytes_max = 4000

[acp]
show_task_board = true

[run]
language = "zh"
max_iterations = 9
allow = { write = ["src/**"], run = ["make test"] }

[[pools]]
pool_id = "coders"
[[pools.workers]]
agent = "coder"
count = 2
allowed_tools = ["read_file"]
[[pools.workers]]
executor = "tests"
worker_id = "tester"

[executors.tests]
type = "process"
command = ["make", "test"]
env = { CI = "1" }
[executors.count]
type = "callable"
target = "counting:count"
"""


def load(folder: Path, text: str, **environ: str) -> Config:
    (folder / "taskloom.toml").write_text(text, encoding="utf-8")
    return load_config(folder, environ=environ)


def test_without_a_file_there_are_three_workers_in_the_default_pool(tmp_path: Path) -> None:
    config = load_config(tmp_path, environ={})
    assert config == Config()
    (pool,) = config.pools
    (worker,) = pool.workers
    assert (pool.pool_id, worker.agent, worker.count) == ("default", "default_worker_agent", 3)
    assert config.rules.lease == timedelta(minutes=5)
    assert (config.acp.show_task_board, config.model.name) == (False, "")
    settings = config.settings
    assert (settings.child_cancel_timeout_ms, settings.default_child_timeout_ms) == (30000, 600000)
    assert (settings.task_board_token_budget, settings.task_recent_changes_limit) == (1200, 20)
    assert settings.task_recent_changes_window_minutes == 30


@pytest.mark.spec("TB-901")
def test_every_section_is_read(tmp_path: Path) -> None:
    config = load(tmp_path, WHOLE)
    assert config.model.settings == {"temperature": 0, "timeout": 60}
    assert config.rules.lease == timedelta(seconds=5)
    assert (config.rules.steps_max, config.rules.default_worker_pool) == (50, "coders")
    settings = config.settings
    assert (settings.default_child_timeout_ms, settings.child_cancel_timeout_ms) == (1000, 2000)
    assert (settings.task_board_token_budget, settings.task_recent_changes_limit) == (300, 5)
    assert settings.task_recent_changes_window_minutes == 10
    assert (config.agents.worker_iterations_max, settings.result_bytes_max) == (7, 4000)
    assert config.acp.show_task_board
    assert (config.run.language, config.run.max_iterations) == ("zh", 9)
    (pool,) = config.pools
    assert [(w.agent, w.executor, w.count) for w in pool.workers] == [
        ("coder", "", 2),
        ("", "tests", 1),
    ]
    assert config.executors["tests"] == ProcessConfig(command=("make", "test"), env={"CI": "1"})
    assert config.executors["count"] == CallableConfig(target="counting:count")


def test_another_default_pool_needs_no_pools_section(tmp_path: Path) -> None:
    config = load(tmp_path, '[agents]\ndefault_worker_pool = "builders"')
    assert [pool.pool_id for pool in config.pools] == ["builders"]


@pytest.mark.parametrize(
    ("text", "key", "parts"),
    [
        ("[tasks]", "tasks", ["Did you mean task?"]),
        ("[task]\nlease = 1", "task.lease", ["Known:", "step_lease_timeout_ms"]),
        ("[agents]\nchild_cancel_timout_ms = 1", "agents.child_cancel_timout_ms",
         ["Did you mean child_cancel_timeout_ms"]),
        ("[run.allow]\nreads = []", "run.allow.reads", ["Known: run, write"]),
        ("[run.allow]\nrun = ['make', 'git \"diff']", "run.allow.run[1]", ["open quote"]),
        ("[run.allow]\nrun = [' ']", "run.allow.run[0]", ["list of words"]),
        ("[run.allow]\nrun = ['**']", "run.allow.run[0]", ["name the program"]),
        ("[[pools]]\npool_id = 'a'\n[[pools.workers]]\nagent_id = 'x'",
         "pools[0].workers[0].agent_id", ["unknown key"]),
        ("[executors.x]\ntype = 'process'\ncommand = ['a']\nargs = []", "executors.x.args", []),
        ("[task]\nstep_lease_timeout_ms = '5'", "task.step_lease_timeout_ms",
         ["expected `int`, got `str`"]),
        ("[task]\nstep_lease_timeout_ms = -1", "task.step_lease_timeout_ms", [">= 1"]),
        ("[task]\nstep_lease_timeout_ms = true", "task.step_lease_timeout_ms", ["`int`"]),
        ("[agents]\ndefault_worker_pool = ''", "agents.default_worker_pool", ["length >= 1"]),
        ("[model]\nbase_url = 'localhost:80'", "model.base_url", ["not a URL"]),
        ("[model]\nbase_url = 'http://x:99999'", "model.base_url", ["not a URL"]),
        ("[model]\nbase_url = 'http://['", "model.base_url", ["not a URL"]),
        ("[model]\nbase_url = 'http://a b'", "model.base_url", ["not a URL"]),
        ("[run]\nlanguage = 'fr'", "run.language", ["fr"]),
        ("[acp]\nshow_task_board = 1", "acp.show_task_board", ["`bool`"]),
        ("[[pools]]\nworkers = []", "pools[0]", ["`pool_id`"]),
        ("pools = 3", "pools", ["`array`"]),
        ("[executors.x]\ncommand = ['a']", "executors.x", ["type"]),
        ("[executors.x]\ntype = 'magic'", "executors.x.type", ["magic"]),
        ("[executors.x]\ntype = 'process'\ncommand = []", "executors.x.command", ["length >= 1"]),
        ("[executors.x]\ntype = 'callable'\ntarget = 'f'", "executors.x.target",
         ["package.module:function"]),
        ("executors = 3", "executors", ["`object`"]),
        ("[[pools]]\npool_id = 'a'", "agents.default_worker_pool", ["Known: a"]),
        ("[[pools]]\npool_id = 'default'\n[[pools.workers]]\ncount = 2", "pools[0].workers[0]",
         ["either `agent`"]),
        ("[[pools]]\npool_id = 'default'\n[[pools.workers]]\nexecutor = 'x'",
         "pools[0].workers[0].executor", ["not an executor", "There are none."]),
    ],
)  # fmt: skip  # a table is easier to read
def test_an_invalid_key_or_value_is_refused_and_named(
    tmp_path: Path, text: str, key: str, parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    error = raised.value
    assert error.code == "config_error"
    assert error.details["key"] == key
    for part in (str(tmp_path / "taskloom.toml"), f"`{key}`", *parts):
        assert part in error.message


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"[task", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"# " + b"x" * 1_000_001, "is longer than"),
        (b"a = " + b"[" * 100_000, "is not TOML"),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, data: bytes, word: str) -> None:
    (tmp_path / "taskloom.toml").write_bytes(data)
    with pytest.raises(ConfigError, match=word):
        load_config(tmp_path, environ={})


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_directory_or_a_pipe_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "taskloom.toml")
    with pytest.raises(ConfigError, match="is not a file"):
        load_config(tmp_path, environ={})


def test_the_environment_chooses_the_model(tmp_path: Path) -> None:
    config = load(tmp_path, WHOLE, TASKLOOM_MODEL="openai:gpt-y")
    assert (config.model.name, config.model.api_key_env) == ("openai:gpt-y", "MY_KEY")
    assert config.model.base_url
    config = load(tmp_path, WHOLE, TASKLOOM_MODEL="anthropic:claude-x")
    # The address and key of one provider are not used with another.
    assert (config.model.base_url, config.model.api_key_env) == ("", "")
    assert config.model.settings == {"temperature": 0, "timeout": 60}
    assert load(tmp_path, WHOLE, TASKLOOM_MODEL="  ").model.name == "openai:gpt-x"


def test_the_path_of_a_script_is_relative_to_the_project(tmp_path: Path) -> None:
    config = load(tmp_path, '[model]\nname = "script:replies.json#orchestrator"')
    assert config.model.name == f"script:{tmp_path / 'replies.json'}#orchestrator"
    chosen = load(tmp_path, "", TASKLOOM_MODEL="script:replies.json")
    assert chosen.model.name == "script:replies.json"


ALLOW = AllowConfig(
    write=("src/**", "*.md", "docs/**/*.txt", "a?.py"),
    run=("make test", ("git", "diff"), ("pytest", "**"), ("ls", "*")),
)


@pytest.mark.parametrize(
    ("request_", "allowed"),
    [
        (PermissionRequest("write", "src/a/b.py"), True),
        (PermissionRequest("write", "src"), False),
        (PermissionRequest("write", "README.md"), True),
        (PermissionRequest("write", "docs/README.md"), False),
        (PermissionRequest("write", "docs/x.txt"), True),
        (PermissionRequest("write", "docs/a/b/x.txt"), True),
        (PermissionRequest("write", "docs/a/b/x.txt.sh"), False),
        (PermissionRequest("write", "ab.py"), True),
        (PermissionRequest("write", "a/.py"), False),
        (PermissionRequest("write", "src/.env", secret=True), False),
        (PermissionRequest("read_secret", "src/.env", secret=True), False),
        (PermissionRequest("run", command=("make", "test")), True),
        (PermissionRequest("run", command=("make", "test"), directory="vendor"), False),
        (PermissionRequest("run", command=("make", "test", "-k", "x")), False),
        (PermissionRequest("run", command=("make", "test", "--eval=$(shell id)")), False),
        (PermissionRequest("run", command=("make", "tests")), False),
        (PermissionRequest("run", command=("make",)), False),
        (PermissionRequest("run", command=("git", "diff")), True),
        (PermissionRequest("run", command=("git", "diff", "--output=/outside")), False),
        (PermissionRequest("run", command=("pytest", "-x", "tests")), True),
        (PermissionRequest("run", command=("ls", "src")), True),
        (PermissionRequest("run", command=("ls", "-la")), False),
        (PermissionRequest("run", command=("sh", "-c", "make test")), False),
        (PermissionRequest("run", command=()), False),
    ],
)
def test_the_allow_list_covers_its_entries_and_no_more(
    request_: PermissionRequest, allowed: bool
) -> None:
    assert is_allowed(ALLOW, request_) is allowed
    assert not is_allowed(AllowConfig(), request_)

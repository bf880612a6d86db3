"""The schema of `taskloom.toml`: every section, every key, its type and its default."""

from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct, structs

from taskloom.agent import Language
from taskloom.agent.workspace import PermissionRequest
from taskloom.board import DEFAULT_POOL, DEFAULT_RULES, Rules
from taskloom.orchestrator import Settings
from taskloom.session import AllowRules, read_rule

FILE_NAME: Final = "taskloom.toml"
"""The name of the configuration file."""

DEFAULT_WORKER: Final = "default_worker_agent"
"""The agent definition of workers without one of their own."""

DEFAULT_ORCHESTRATOR: Final = "default_orchestrator_agent"
"""The agent definition of the Orchestrator."""

_DAY_MS: Final = 86_400_000

Millis: TypeAlias = Annotated[int, Meta(ge=1, le=30 * _DAY_MS)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; unknown keys are refused."""


class ModelConfig(Section, frozen=True):
    """`[model]`: the default model; a definition can override it."""

    name: str = ""
    """`provider:model` or `script:PATH`; the variable TASKLOOM_MODEL overrides it."""
    base_url: str = ""
    api_key_env: str = ""
    """The variable with the API key; empty means the provider's own variable."""
    settings: dict[str, Any] = {}
    """Passed to each call: temperature, max_tokens, timeout and so on."""


class TaskConfig(Section, frozen=True):
    """`[task]`: the rules of the board."""

    step_lease_timeout_ms: Millis = 300_000
    steps_max: Count = DEFAULT_RULES.steps_max
    operations_max: Count = DEFAULT_RULES.operations_max
    dependencies_max: Count = DEFAULT_RULES.dependencies_max
    title_bytes_max: Count = DEFAULT_RULES.title_bytes_max
    summary_bytes_max: Count = DEFAULT_RULES.summary_bytes_max
    result_bytes_max: Count = DEFAULT_RULES.result_bytes_max
    artifacts_max: Count = DEFAULT_RULES.artifacts_max


class AgentsConfig(Section, frozen=True):
    """`[agents]`: definitions, the default pool, and timeouts of workers."""

    definitions_dir: Text = "agents"
    """The directory of the definitions, relative to the project."""
    orchestrator: Text = DEFAULT_ORCHESTRATOR
    """The id of the definition whose text instructs the orchestrator."""
    default_worker_pool: Text = DEFAULT_POOL
    default_child_timeout_ms: Millis = 600_000
    child_cancel_timeout_ms: Millis = 30_000
    worker_iterations_max: Count = 60


class ContextConfig(Section, frozen=True):
    """`[context]`: how much of the board a prompt contains."""

    task_board_token_budget: Count = 1_200
    task_recent_changes_limit: Annotated[int, Meta(ge=0, le=1_000_000)] = 20
    task_recent_changes_window_minutes: Annotated[int, Meta(ge=0, le=10_000_000)] = 30
    task_result_bytes_max: Annotated[int, Meta(ge=1_000, le=100_000_000)] = 16_000


class AcpConfig(Section, frozen=True):
    """`[acp]`: what editors show."""

    show_task_board: bool = False


class AllowConfig(Section, frozen=True):
    """`[run.allow]`: requests that need no confirmation; it never covers secrets."""

    write: tuple[Text, ...] = ()
    """Patterns of files that may be written, such as `src/**` or `*.md`."""
    run: tuple[Text | tuple[Text, ...], ...] = ()
    """Commands that may be run in the project's directory, such as `["make", "test"]`: `*` is one
    more argument that is no option, `**` any further arguments."""


class RunConfig(Section, frozen=True):
    """`[run]`: the settings of `taskloom run`."""

    language: Language = "en"
    max_iterations: Count = 200
    """The maximum number of model calls of the orchestrator."""
    allow: AllowConfig = AllowConfig()


class WorkerConfig(Section, frozen=True):
    """`[[pools.workers]]`: one worker, or `count` equal ones."""

    agent: str = ""
    """The id of a definition."""
    executor: str = ""
    """The name of an executor of `[executors]`, instead of `agent`."""
    worker_id: str = ""
    allowed_tools: tuple[Text, ...] | None = None
    count: Annotated[int, Meta(ge=1, le=1_000)] = 1


class PoolConfig(Section, frozen=True):
    """`[[pools]]`: workers that may take the same steps."""

    pool_id: str
    workers: tuple[WorkerConfig, ...] = ()


class ProcessConfig(Section, frozen=True, tag_field="type", tag="process"):
    """`[executors.NAME]`, `type = "process"`: a program that carries out steps."""

    command: Annotated[tuple[Text, ...], Meta(min_length=1)]
    description: str = ""
    cwd: str = ""
    """Relative to the project; empty means the project's directory."""
    env: dict[str, str] = {}
    """Added to the environment, from which variables that look like secrets are removed."""


class CallableConfig(Section, frozen=True, tag_field="type", tag="callable"):
    """`[executors.NAME]`, `type = "callable"`: a Python function."""

    target: str
    """`package.module:function`."""
    description: str = ""


class AcpExecutorConfig(Section, frozen=True, tag_field="type", tag="acp"):
    """`[executors.NAME]`, `type = "acp"`: another agent, over the Agent Client Protocol."""

    command: Annotated[tuple[Text, ...], Meta(min_length=1)]
    description: str = ""
    cwd: str = ""
    env: dict[str, str] = {}


ExecutorConfig: TypeAlias = ProcessConfig | CallableConfig | AcpExecutorConfig
"""A way to carry out steps without a chat model."""

DEFAULT_POOLS: Final = (
    PoolConfig(pool_id=DEFAULT_POOL, workers=(WorkerConfig(agent=DEFAULT_WORKER, count=3),)),
)


class Config(Section, frozen=True):
    """The whole configuration; `Config()` is the default without a file."""

    model: ModelConfig = ModelConfig()
    task: TaskConfig = TaskConfig()
    agents: AgentsConfig = AgentsConfig()
    context: ContextConfig = ContextConfig()
    acp: AcpConfig = AcpConfig()
    run: RunConfig = RunConfig()
    pools: tuple[PoolConfig, ...] = DEFAULT_POOLS
    executors: dict[str, ExecutorConfig] = {}

    @property
    def settings(self) -> Settings:
        """The settings of the orchestrator."""
        return Settings(
            default_child_timeout_ms=self.agents.default_child_timeout_ms,
            child_cancel_timeout_ms=self.agents.child_cancel_timeout_ms,
            task_board_token_budget=self.context.task_board_token_budget,
            task_recent_changes_limit=self.context.task_recent_changes_limit,
            task_recent_changes_window_minutes=self.context.task_recent_changes_window_minutes,
            result_bytes_max=self.context.task_result_bytes_max,
        )

    @property
    def rules(self) -> Rules:
        """The rules of the board."""
        numbers = structs.asdict(self.task)
        lease = timedelta(milliseconds=numbers.pop("step_lease_timeout_ms"))
        return Rules(lease=lease, default_worker_pool=self.agents.default_worker_pool, **numbers)


def is_allowed(allow: AllowConfig, request: PermissionRequest) -> bool:
    """Return whether a rule covers a request; a secret never is."""
    if request.secret:
        return False
    rules = _rules(allow)
    if request.action == "write":
        return rules.allows_write(request.path)
    if request.action == "run":
        return rules.allows_command(request.command, request.directory)
    return False


@lru_cache(maxsize=64)
def _rules(allow: AllowConfig) -> AllowRules:
    commands = tuple(read_rule(rule, "run.allow.run") for rule in allow.run)
    return AllowRules(commands, allow.write)

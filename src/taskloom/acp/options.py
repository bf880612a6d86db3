"""What the door is given by whoever opens it. It reads no configuration itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from taskloom.agent import ChatModel, Language, Middleware, Retry, ToolLike
from taskloom.agent.workspace import Permit
from taskloom.board import DEFAULT_RULES, Rules
from taskloom.orchestrator import Pool, Settings
from taskloom.orchestrator.settings import DEFAULTS
from taskloom.session import CONTEXT_TOKENS, RETRY, PermissionPolicy, SessionDirectory

INSTRUCTION: Final = (
    "You work with a person in their editor, on the project in the current directory. Look before "
    "you change anything, keep changes small, and say briefly what you did. For work of several "
    "steps keep a task list: the person sees it as the plan."
)

MakeTools: TypeAlias = Callable[[str], Sequence[ToolLike]]
"""Makes the working tools of the worker of this name."""

MakePools: TypeAlias = Callable[
    [SessionDirectory, MakeTools, Callable[[str], Permit]], Sequence[Pool]
]
"""Makes the workers of a session from what makes their tools and what makes their permits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOptions:
    """How the agent behind the door is made."""

    make_model: Callable[[Path], ChatModel]
    """The model for a project; raises a TaskloomError that says what to set if there is none."""
    instruction: str = INSTRUCTION
    state_dir: str = ".taskloom"
    index_dir: Path | None = None
    """Where it is noted which project has which session; without it only projects are searched."""
    show_task_board: bool = False
    """Whether the board's Tasks are shown as plans; the person can change it with /board."""
    language: Language | None = None
    max_iterations: int = 100
    retry: Retry | None = RETRY
    """When a failed model call is made again."""
    context_tokens: int = CONTEXT_TOKENS
    """How much the model can take in: shown beside what is used, and what history is cut to."""
    middleware: Callable[[Path], Sequence[Middleware]] | None = None
    """Makes the hooks of a turn, given the session's own directory; by default the reduction of
    long tool results, which are kept there."""
    make_pools: MakePools | None = None
    """Makes the workers of a session; without it there is no orchestrate mode."""
    orchestrator_instruction: str = ""
    """Instead of `instruction` in orchestrate mode."""
    settings: Settings = DEFAULTS
    rules: Rules = DEFAULT_RULES
    make_permissions: Callable[[SessionDirectory], PermissionPolicy] | None = None
    """Makes the permission policy of a session; by default everything is asked about."""
    for_project: Callable[[Path], "AcpOptions"] | None = None
    """Makes the setup of one project, from its own configuration, when a session is opened."""
    version: str = ""

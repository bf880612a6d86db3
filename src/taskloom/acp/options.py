"""The options of the ACP server. This package reads no configuration itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from taskloom.agent import ChatModel, Language, Middleware, Retry, ToolLike
from taskloom.agent.workspace import Permit
from taskloom.board import DEFAULT_RULES, Rules
from taskloom.orchestrator import DEFAULT_SETTINGS, Pool, Settings
from taskloom.runtime import STATE_DIR
from taskloom.session import CONTEXT_TOKENS, RETRY, PermissionPolicy, SessionDirectory

INSTRUCTION: Final = (
    "You work with a person in their editor, on the project in the current directory. Look before "
    "you change anything, keep changes small, and say briefly what you did. For work of several "
    "steps keep a task list: the person sees it as the plan."
)

MakeTools: TypeAlias = Callable[[str], Sequence[ToolLike]]
"""Makes the working tools of the worker with this name."""

MakePools: TypeAlias = Callable[
    [SessionDirectory, MakeTools, Callable[[str], Permit]], Sequence[Pool]
]
"""Makes the workers of a session from what makes their tools and what makes their permits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOptions:
    """What the server is made from."""

    make_model: Callable[[Path], ChatModel]
    """Returns the model for a project, or raises a `TaskloomError` that says what to set."""
    instruction: str = INSTRUCTION
    state_dir: str = STATE_DIR
    index_dir: Path | None = None
    """The index of projects that have sessions; without it a session is found by its project."""
    show_task_board: bool = False
    """Whether the board's Tasks are shown as plans; the person can change it with /board."""
    language: Language | None = None
    max_iterations: int = 100
    retry: Retry | None = RETRY
    """How failed model calls are retried."""
    context_tokens: int = CONTEXT_TOKENS
    """The size of the model's context; half of it is for earlier turns."""
    middleware: Callable[[Path], Sequence[Middleware]] | None = None
    """Makes the middleware of a turn, given the session's directory; by default the reduction of
    long tool results, which are saved there."""
    make_pools: MakePools | None = None
    """Makes the workers of a session; without it there is no orchestrate mode."""
    orchestrator_instruction: str = ""
    """The instruction in orchestrate mode; by default `instruction`."""
    settings: Settings = DEFAULT_SETTINGS
    rules: Rules = DEFAULT_RULES
    make_permissions: Callable[[SessionDirectory], PermissionPolicy] | None = None
    """Makes the permission policy of a session; by default everything is asked about."""
    for_project: Callable[[Path], "AcpOptions"] | None = None
    """Returns the options for one project, when a session of it is opened."""
    version: str = ""

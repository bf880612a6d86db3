"""The permission policy of a session: what needs a question, and what an answer covers.

Every interface uses this policy. An interface implements `Asker` alone: it shows a question and
returns the answer. Silence, a closed client and an unknown answer are a no.

A write into the state directory is refused without a question. What the configuration allows, and
what the person allowed for this session, needs none; nor does a command that a sandbox confines.
Secrets and protected files (see `protected_paths`) are asked about each time, whatever was allowed.
"""

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from taskloom.agent.workspace import Decision, PermissionRequest, Permit
from taskloom.ids import StepId
from taskloom.session.protected_paths import ProtectedPaths

Answer: TypeAlias = Literal["once", "session", "no"]
"""`session` allows what `Question.for_session` says until the session's process ends."""


class ToolRequest(Struct, frozen=True):
    """A call of a tool that another program provides, such as an MCP server."""

    tool: str


Request: TypeAlias = PermissionRequest | ToolRequest
Grant: TypeAlias = tuple[str, ...]
"""What an answer for the session covers, as a key."""


class Question(Struct, frozen=True, kw_only=True):
    """A question to a person: who wants to do what, and what each answer covers."""

    who: str
    """The agent or worker that asks."""
    request: Request
    step_id: StepId = ""
    """The step that the worker holds; empty for an agent that holds none."""
    protected: bool = False
    """Whether it is about a file that decides what runs."""

    @property
    def text(self) -> str:
        """The question in one line."""
        return f"{self.who}{f' (step {self.step_id})' if self.step_id else ''} wants to {self.what}"

    @property
    def what(self) -> str:
        """What is asked for, as a verb and its object."""
        match self.request:
            case ToolRequest(tool):
                return f"call the tool {tool}"
            case PermissionRequest(action="run", command=command, directory=directory):
                where = "" if directory == "." else f" in {directory}"
                outside = " outside the sandbox" if self.request.leaves_sandbox else ""
                return f"run{where}{outside}: {shlex.join(command)}"
            case PermissionRequest(action="write", path=path, secret=secret):
                why = " (which looks like a secret)" if secret else ""
                why += " (which decides what runs here)" if self.protected else ""
                return f"write {path}{why}"
            case PermissionRequest(path=path):
                return f"read {path}, which looks like a secret"

    @property
    def grant(self) -> Grant | None:
        """What an answer for the session covers; None if there is no such answer."""
        if self.protected:
            return None
        match self.request:
            case ToolRequest(tool):
                return ("tool", tool)
            case PermissionRequest(secret=True) | PermissionRequest(action="read_secret"):
                return None
            case PermissionRequest(action="write"):
                return ("write",)
            case PermissionRequest(command=command, directory=directory, leaves_sandbox=leaves):
                return ("run outside" if leaves else "run", directory, *command)

    @property
    def for_session(self) -> str:
        """What an answer for the session covers, in words; empty if there is no such answer."""
        match self.grant:
            case None:
                return ""
            case ("tool", tool):
                return f"calling the tool {tool}"
            case ("write", *_):
                return "writing files of this project, but not those that decide what runs"
            case (_, directory, *command):
                where = "" if directory == "." else f" in {directory}"
                return f"this command{where}: {shlex.join(command)}"
            case _:
                raise AssertionError(self.grant)


class Asker(Protocol):
    """How one interface asks a person."""

    async def ask(self, question: Question) -> Answer:
        """Show a question and return the answer; `no` if nobody answers."""
        ...


Allows: TypeAlias = Callable[[PermissionRequest], bool]
"""Tells whether the configuration allows a request."""


def allow_nothing(_: PermissionRequest) -> bool:
    """Allow nothing: an empty list."""
    return False


_STATE: Final = "Taskloom's own state cannot be changed by tools."
_NOBODY: Final = (
    "Nobody could be asked. To allow it beforehand, add a rule to [run.allow] of taskloom.toml; "
    "secrets and protected files need a person who answers."
)


def _no_step(_: str) -> StepId:
    return ""


class PermissionPolicy:
    """The permissions of one session while one process has it open."""

    def __init__(
        self,
        *,
        allows: Allows = allow_nothing,
        allow_all: bool = False,
        state_dir: Path | None = None,
        protected: ProtectedPaths | None = None,
    ) -> None:
        """Start without grants.

        Args:
            allows: what the configuration allows without a question.
            allow_all: allow everything but secrets and protected files without a question.
            state_dir: the directory that no tool may write to, since it holds what happened.
            protected: the files that decide what runs; by default the usual ones of the project
                that the state directory is in.
        """
        if protected is None and state_dir is not None:
            protected = ProtectedPaths(state_dir.parent, state_dir=state_dir.name)
        self._protected = protected
        self._allows = allows
        self._allow_all = allow_all
        self._state_dir = state_dir
        self._grants: set[Grant] = set()
        self._one_at_a_time = asyncio.Lock()
        self.find_step: Callable[[str], StepId] = _no_step
        """Finds the step that a worker holds, for its questions."""

    def permit(self, who: str, asker: Asker | None) -> Permit:
        """Return the permit for one agent's workspace tools; without an asker nobody is asked."""

        async def permit(request: PermissionRequest) -> Decision:
            return await self.answer(who, request, asker)

        return permit

    async def decide(self, who: str, request: Request, asker: Asker | None) -> bool:
        """Return whether a request is allowed; see `answer`."""
        return (await self.answer(who, request, asker)).allowed

    async def answer(self, who: str, request: Request, asker: Asker | None) -> Decision:
        """Answer a request, with a reason for a no; ask the person if nothing else decides."""
        if self._writes_state(request):
            return Decision(False, _STATE)
        question = Question(
            who=who,
            request=request,
            step_id=self.find_step(who),
            protected=self._is_protected(request),
        )
        if self._is_allowed(question):
            return Decision(True)
        if asker is None:
            return Decision(False, _NOBODY)
        # One question at a time: the answer to the one before may cover this one.
        async with self._one_at_a_time:
            if self._is_allowed(question):
                return Decision(True)
            answer = await asker.ask(question)
        if answer == "session" and question.grant is not None:
            self._grants.add(question.grant)
            return Decision(True)
        return Decision(answer == "once")  # An answer that was not offered is a no.

    def _is_allowed(self, question: Question) -> bool:
        if question.grant is None:
            return False
        if question.grant in self._grants:
            return True
        request = question.request
        if isinstance(request, ToolRequest):
            return self._allow_all
        return bool(request.sandbox) or self._allow_all or self._allows(request)

    def _is_protected(self, request: Request) -> bool:
        """Return whether a write is to a file that decides what runs."""
        if self._protected is None or isinstance(request, ToolRequest):
            return False
        return request.action == "write" and self._protected.covers(Path(request.target))

    def _writes_state(self, request: Request) -> bool:
        """Return whether a write is into the state directory, by whatever path."""
        if self._state_dir is None or isinstance(request, ToolRequest) or request.action != "write":
            return False
        state, target = self._state_dir.resolve(), Path(request.target)
        return any(path == state or _is_same(path, state) for path in (target, *target.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # One of them does not exist; then their names decide.
        return False

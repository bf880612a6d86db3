"""Who says yes when a tool wants to write, run a command or open a secret.

First the allow list, then what was allowed for this session, then the person, if there is one.
Task tools never ask: they write to the board alone.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.workspace.permission import PermissionRequest, Permit

Answer: TypeAlias = Literal["once", "session", "no"]


class Question(Struct, frozen=True):
    """What a person is asked: who wants to do what."""

    who: str
    request: PermissionRequest

    @property
    def text(self) -> str:
        """The question in one line."""
        what = self.request
        match what.action:
            case "run":
                return f"{self.who} wants to run: {shlex.join(what.command)}"
            case "write":
                secret = " (which looks like a secret)" if what.secret else ""
                return f"{self.who} wants to write {what.path}{secret}"
            case "read_secret":
                return f"{self.who} wants to read {what.path}, which looks like a secret"

    @property
    def for_session(self) -> str:
        """What an answer for the whole session would allow."""
        what = self.request
        match what.action:
            case "run":
                return f"this command: {shlex.join(what.command)}"
            case "write":
                return f"writing {what.path}" if what.secret else "writing files of this project"
            case "read_secret":
                return f"reading {what.path}"


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]


Covers: TypeAlias = Callable[[PermissionRequest], bool]
"""Tells whether a request is on the allow list."""


def nothing(_: PermissionRequest) -> bool:
    """Allow nothing: an empty list."""
    return False


class Permissions:
    """The answers of one session."""

    def __init__(
        self,
        covers: Covers = nothing,
        *,
        ask: Ask | None = None,
        yes: bool = False,
        state: Path | None = None,
    ) -> None:
        """Say who is asked; with `yes` nobody is, and everything but secrets is allowed.

        The directory `state` is nobody's to write: what happened is not to be changed by hand.
        """
        self._state = state
        self._covers = covers
        self._ask = ask
        self._yes = yes
        self._remembered: set[str] = set()
        self._asking = asyncio.Lock()

    def permit(self, who: str) -> Permit:
        """Return the permit of one agent."""

        async def permit(request: PermissionRequest) -> bool:
            return await self._decide(Question(who, request))

        return permit

    async def _decide(self, question: Question) -> bool:
        request = question.request
        if request.action == "write" and self._is_state(Path(request.target)):
            return False
        if self._is_settled(question):
            return True
        if self._ask is None:
            return False
        async with self._asking:  # One question at a time; the one before may have settled it.
            if self._is_settled(question):
                return True
            answer = await self._ask(question)
        if answer == "session":
            self._remembered.add(question.for_session)
        return answer in ("once", "session")

    def _is_state(self, target: Path) -> bool:
        """Tell whether a resolved path leads there, under whatever name: links, other cases."""
        if self._state is None:
            return False
        state = self._state.resolve()
        return any(place == state or _is_same(place, state) for place in (target, *target.parents))

    def _is_settled(self, question: Question) -> bool:
        request = question.request
        if self._yes and not request.secret:
            return True
        return self._covers(request) or question.for_session in self._remembered


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # One of them is not there yet; then their names tell.
        return False

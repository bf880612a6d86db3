"""Asking the person before something is written, run or let out: no answer is a no."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from acp.exceptions import RequestError

from taskloom.acp.client import Client
from taskloom.agent import call_id
from taskloom.agent.workspace import PermissionRequest

ONCE: Final = "allow_once"
ALWAYS: Final = "allow_always"
NO: Final = "reject_once"

SHELLS: Final = frozenset(
    {
        *(
            "sh",
            "bash",
            "zsh",
            "dash",
            "fish",
            "ksh",
            "env",
            "sudo",
            "doas",
            "xargs",
            "find",
            "ssh",
        ),
        *("python", "node", "deno", "bun", "ruby", "perl", "php", "uv", "npx", "pipx", "nohup"),
    }
)
"""Programs that run whatever they are told: leave for one of their commands is for no other."""


class Desk(Protocol):
    """Where the tool calls under way are known."""

    @property
    def session_id(self) -> str:
        """The session on whose stream the calls are."""
        ...

    def card(self, call_id: str) -> dict[str, Any]:
        """Return what the client was told about a call, as fields of a tool call."""
        ...

    def show(self, call_id: str, content: dict[str, Any]) -> None:
        """Keep content to be shown with a call."""
        ...

    async def told(self, call_id: str) -> None:
        """Return when the client was told of a call."""
        ...


Allows: TypeAlias = Callable[[PermissionRequest], bool]
"""Tells what needs no question; a secret always does."""


class Permissions:
    """What a person allowed in one session. It ends with the process: a new one asks again."""

    def __init__(self, client: Client, desk: Desk, allows: Allows, state: Path) -> None:
        """Begin with nothing allowed but what needs no question.

        The directory `state` is nobody's to write: what happened is not to be changed by a tool.
        """
        self._client = client
        self._desk = desk
        self._allows = allows
        self._state = state
        self._granted: set[str] = set()
        self._turn = asyncio.Lock()

    def at(self, desk: Desk) -> "Permissions":
        """Return the same permissions for the calls of another desk, such as a worker's."""
        other = Permissions(self._client, desk, self._allows, self._state)
        other._granted, other._turn = self._granted, self._turn
        return other

    async def permit(self, request: PermissionRequest) -> bool:
        """Say whether a workspace tool may do what it is about to do."""
        if request.action == "write" and _leads_into(Path(request.target), self._state):
            return False
        call = call_id()
        if request.after is not None:
            diff = {"type": "diff", "path": request.target, "newText": request.after}
            if request.before is not None:
                diff["oldText"] = request.before
            self._desk.show(call, diff)
        if not request.secret and self._allows(request):
            return True
        name, what = _grant(request)
        return await self.ask(call, name, what)

    async def ask(self, call: str, grant: str, what: str) -> bool:
        """Ask about a call, unless it was allowed for the session.

        Args:
            call: the id of the tool call.
            grant: the name of what an `always` allows; empty if it is not offered.
            what: how that is put to the person.
        """
        if grant and grant in self._granted:
            return True
        # One question at a time: the answer to this one may answer the next.
        async with self._turn:
            if grant and grant in self._granted:
                return True
            options = [
                _option(ONCE, "Allow once"),
                *([_option(ALWAYS, f"Allow {what} for this session")] if grant else []),
                _option(NO, "Reject"),
            ]
            await self._desk.told(call)
            card: Mapping[str, Any] = {**self._desk.card(call), "status": "pending"}
            try:
                chosen = await self._client.ask_permission(self._desk.session_id, card, options)
            except (RequestError, ConnectionError):
                return False
            if chosen == ALWAYS and grant:
                self._granted.add(grant)
                return True
            return chosen == ONCE


def _leads_into(target: Path, folder: Path) -> bool:
    """Tell whether a resolved path is in a directory, under whatever name it is reached."""
    real = folder.resolve()
    return any(place == real or _is_same(place, real) for place in (target, *target.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _option(kind: str, name: str) -> dict[str, Any]:
    return {"optionId": kind, "kind": kind, "name": name}


def _grant(request: PermissionRequest) -> tuple[str, str]:
    """Return what an `always` would allow, as a name and in words; nothing for a secret."""
    if request.secret:
        return "", ""
    if request.action == "write":
        return "write", "writing files"
    if request.action != "run" or not request.command:
        return "", ""
    program = request.command[0]
    if os.path.basename(program).rstrip("0123456789.") in SHELLS:
        return "run:" + "\0".join(request.command), "this very command"
    return f"run:{program}", f"`{program}`"

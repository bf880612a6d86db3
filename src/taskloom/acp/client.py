"""The client, as far as it announced itself: what may be asked of it, and how."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from taskloom.acp.plans.encoding import Update


class Wire(Protocol):
    """What is asked of a JSON-RPC connection; `acp.connection.Connection` has it."""

    async def send_request(self, method: str, params: dict[str, Any] | None = None) -> object:
        """Send a request and return its result; raise the client's error."""
        ...

    async def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification."""
        ...


class Client:
    """One client on one connection. Nothing it did not announce is ever asked of it."""

    def __init__(self) -> None:
        """Begin with a client that announced nothing."""
        self._connected: Wire | None = None
        self.capabilities: Mapping[str, Any] = {}
        """`clientCapabilities`, as they came over the wire."""

    def attach(self, wire: Wire) -> None:
        """Speak over a connection from now on."""
        self._connected = wire

    @property
    def _wire(self) -> Wire:
        if self._connected is None:
            raise ConnectionError("no client is connected")
        return self._connected

    def has(self, *path: str) -> bool:
        """Tell whether a capability was announced: as `true`, or as an object."""
        value: object = self.capabilities
        for name in path:
            if not isinstance(value, Mapping):
                return False
            value = cast("Mapping[str, object]", value).get(name)
        return value is True or isinstance(value, Mapping)

    async def update(self, session_id: str, update: Update) -> None:
        """Send one update of a session."""
        params = {"sessionId": session_id, "update": update}
        await self._wire.send_notification("session/update", params)

    async def ask_permission(
        self, session_id: str, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, Any]]
    ) -> str | None:
        """Ask the person; return the option they chose, None for anything else."""
        answer = await self._ask(
            "session/request_permission",
            session_id,
            toolCall=dict(tool_call),
            options=[dict(option) for option in options],
        )
        outcome = answer.get("outcome")
        if not isinstance(outcome, dict):
            return None
        said = cast("dict[str, object]", outcome)
        chosen = said.get("optionId")
        return chosen if said.get("outcome") == "selected" and isinstance(chosen, str) else None

    async def read_text_file(self, session_id: str, path: str) -> str:
        """Return the text of a file as the client has it, saved or not."""
        answer = await self._ask("fs/read_text_file", session_id, path=path)
        content = answer.get("content")
        if not isinstance(content, str):
            raise OSError("the client answered without the file's content")
        return content

    async def write_text_file(self, session_id: str, path: str, content: str) -> None:
        """Give a file another text."""
        await self._ask("fs/write_text_file", session_id, path=path, content=content)

    async def terminal(self, verb: str, session_id: str, **more: object) -> dict[str, Any]:
        """Do one thing with a terminal: create, output, wait_for_exit, kill, release."""
        return await self._ask(f"terminal/{verb}", session_id, **more)

    async def _ask(self, method: str, session_id: str, **more: object) -> dict[str, Any]:
        answer = await self._wire.send_request(method, {"sessionId": session_id, **more})
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

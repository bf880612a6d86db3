"""How an editor asks the person: `session/request_permission`, for the session's policy."""

from typing import Any, Final

from acp.exceptions import RequestError

from taskloom.acp.protocol.client import Client
from taskloom.acp.protocol.tool_calls import ToolCallTracker
from taskloom.agent import call_id
from taskloom.agent.workspace import PermissionRequest, Permit
from taskloom.session import Answer, PermissionPolicy, Question

ONCE: Final = "allow_once"
ALWAYS: Final = "allow_always"
NO: Final = "reject_once"
_ANSWERS: Final[dict[str, Answer]] = {ONCE: "once", ALWAYS: "session"}


class ClientAsker:
    """Asks with the tool call that a question is about; anything but an explicit allow is a no."""

    def __init__(self, client: Client, tool_calls: ToolCallTracker) -> None:
        """Name the client, and the tracker of the tool calls that questions are about."""
        self._client = client
        self._tool_calls = tool_calls

    async def ask(self, question: Question) -> Answer:
        """Ask the client; `no` if it cannot be asked."""
        call, tool_calls = call_id(), self._tool_calls
        covered = question.for_session
        options = [
            _option(ONCE, "Allow once"),
            *([_option(ALWAYS, f"Allow for this session: {covered}")] if covered else []),
            _option(NO, "Reject"),
        ]
        await tool_calls.wait_announced(call)
        shown = {**tool_calls.fields(call), "status": "pending"}
        try:
            chosen = await self._client.ask_permission(tool_calls.session_id, shown, options)
        except (RequestError, ConnectionError):
            return "no"
        return _ANSWERS.get(chosen or "", "no")


def workspace_permit(
    policy: PermissionPolicy, who: str, client: Client, tool_calls: ToolCallTracker
) -> Permit:
    """Return the permit of one agent; a write is shown as a diff with its tool call."""
    asker = ClientAsker(client, tool_calls)

    async def permit(request: PermissionRequest) -> bool:
        if request.after is not None:
            diff = {"type": "diff", "path": request.target, "newText": request.after}
            if request.before is not None:
                diff["oldText"] = request.before
            tool_calls.add_content(call_id(), diff)
        return await policy.decide(who, request, asker)

    return permit


def _option(kind: str, name: str) -> dict[str, Any]:
    return {"optionId": kind, "kind": kind, "name": name}

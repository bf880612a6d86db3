"""How a plan is said to a client: three dialects, chosen by what the client announced.

    the client announced                 it is sent
    clientCapabilities.plan              plan_update, plan_removed; the key is `planId`
    clientCapabilities.planCapabilities  the same; the key is `id`
    neither                              plan, and nothing else that it might not know

Pure: a plan goes in, the updates of `session/update` come out.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from taskloom.acp.plans.plan import EntryState, FilePlan, ItemsPlan, MarkdownPlan, Plan, PlanEntry
from taskloom.text import clip_line

Update: TypeAlias = dict[str, Any]
"""The `update` of a `session/update` notification, as it goes over the wire."""

META: Final = "taskloom"
"""The one key under which anything of ours stands in `_meta`."""

NOTE_CHARS_MAX: Final = 200
"""An entry is a line in a side bar; the whole story is on the board."""

_STATUS: Final[dict[EntryState, str]] = {
    "pending": "pending",
    "blocked": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "failed": "completed",
    "cancelled": "completed",
}
_UNSAID: Final = frozenset({"blocked", "failed", "cancelled"})


class PlanFormat(Enum):
    """The forms of plan updates in use; the value is the name of the key for the plan's id."""

    CURRENT = "planId"
    PROPOSAL = "id"
    ENTRIES_ONLY = ""


def plan_format_of(capabilities: Mapping[str, Any] | None) -> PlanFormat:
    """Return the dialect for a client, by its `clientCapabilities` as they came over the wire.

    As they came: typed models of them drop what they do not know.
    """
    announced = capabilities or {}
    if isinstance(announced.get("plan"), Mapping):
        return PlanFormat.CURRENT
    if isinstance(announced.get("planCapabilities"), Mapping):
        return PlanFormat.PROPOSAL
    return PlanFormat.ENTRIES_ONLY


def entry_on_wire(entry: PlanEntry, **details: object) -> dict[str, Any]:
    """Return an entry as the protocol has it: nothing is dropped for want of a word."""
    content = entry.text
    meta = {**details, **(entry.details or {})}
    if entry.state in _UNSAID:
        note = clip_line(entry.note, NOTE_CHARS_MAX)
        content = f"{content} ({entry.state}: {note})" if note else f"{content} ({entry.state})"
        meta.setdefault("state", entry.state)
    said: dict[str, Any] = {
        "content": content,
        "priority": entry.priority,
        "status": _STATUS[entry.state],
    }
    if meta:
        said["_meta"] = {META: meta}
    return said


def plan_update(plan: Plan, dialect: PlanFormat) -> Update:
    """Return the update that replaces a whole plan, for a client that knows `plan_update`."""
    said: dict[str, Any] = {"type": plan.__struct_config__.tag, dialect.value: plan.id}
    match plan:
        case ItemsPlan():
            said["entries"] = [entry_on_wire(entry) for entry in plan.entries]
        case MarkdownPlan():
            said["content"] = plan.content
        case FilePlan():
            said["uri"] = plan.uri
    if plan.title:
        said["_meta"] = {META: {"title": plan.title}}
    return {"sessionUpdate": "plan_update", "plan": said}


def plan_removed(plan_id: str, dialect: PlanFormat) -> Update:
    """Return the update that takes a plan away."""
    return {"sessionUpdate": "plan_removed", dialect.value: plan_id}


def entries_update(plans: Iterable[ItemsPlan]) -> Update:
    """Return the one flat list that a client without several plans is shown."""
    entries = [entry_on_wire(entry, planId=plan.id) for plan in plans for entry in plan.entries]
    return {"sessionUpdate": "plan", "entries": entries}


def as_message(plan: MarkdownPlan | FilePlan, message_id: str) -> Update:
    """Return a document or file as a message, for a client that knows entries only."""
    if isinstance(plan, MarkdownPlan):
        content: dict[str, Any] = {"type": "text", "text": plan.content}
    else:
        name = plan.title or plan.uri.rstrip("/").rpartition("/")[2] or plan.id
        content = {"type": "resource_link", "name": name, "uri": plan.uri}
    return {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": content}

"""A plan as session updates, in one of three formats, chosen by what the client announced.

    the client announced                 it is sent
    clientCapabilities.plan              plan_update, plan_removed; the key is `planId`
    clientCapabilities.planCapabilities  the same; the key is `id`
    neither                              plan, and nothing else that it may not know

Pure.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from taskloom.acp.plans.plan import EntryState, FilePlan, ItemsPlan, MarkdownPlan, Plan, PlanEntry
from taskloom.text import clip_line

Update: TypeAlias = dict[str, Any]
"""The `update` of a `session/update` notification, as it goes over the wire."""

META: Final = "taskloom"
"""The key of Taskloom's own data in `_meta`."""

NOTE_CHARS_MAX: Final = 200
"""An entry is a line in a side bar; the board has the whole text."""

_STATUS: Final[dict[EntryState, str]] = {
    "pending": "pending",
    "blocked": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "failed": "completed",
    "cancelled": "completed",
}
_ADDED_TO_TEXT: Final = frozenset({"blocked", "failed", "cancelled"})


class PlanFormat(Enum):
    """The formats of plan updates; the value is the name of the key for the plan's id."""

    CURRENT = "planId"
    PROPOSAL = "id"
    ENTRIES_ONLY = ""


def plan_format_of(capabilities: Mapping[str, Any] | None) -> PlanFormat:
    """Return the format for a client, by its `clientCapabilities` as they came over the wire.

    The SDK's typed models are no substitute: they drop fields that they do not know.
    """
    announced = capabilities or {}
    if isinstance(announced.get("plan"), Mapping):
        return PlanFormat.CURRENT
    if isinstance(announced.get("planCapabilities"), Mapping):
        return PlanFormat.PROPOSAL
    return PlanFormat.ENTRIES_ONLY


def entry_update(entry: PlanEntry, **details: object) -> dict[str, Any]:
    """Return an entry of a plan update; states that the protocol lacks go into the text."""
    content = entry.text
    meta = {**details, **(entry.details or {})}
    if entry.state in _ADDED_TO_TEXT:
        note = clip_line(entry.note, NOTE_CHARS_MAX)
        content = f"{content} ({entry.state}: {note})" if note else f"{content} ({entry.state})"
        meta.setdefault("state", entry.state)
    fields: dict[str, Any] = {
        "content": content,
        "priority": entry.priority,
        "status": _STATUS[entry.state],
    }
    if meta:
        fields["_meta"] = {META: meta}
    return fields


def plan_update(plan: Plan, format_: PlanFormat) -> Update:
    """Return the update that replaces a whole plan."""
    fields: dict[str, Any] = {"type": plan.__struct_config__.tag, format_.value: plan.id}
    match plan:
        case ItemsPlan():
            fields["entries"] = [entry_update(entry) for entry in plan.entries]
        case MarkdownPlan():
            fields["content"] = plan.content
        case FilePlan():
            fields["uri"] = plan.uri
    if plan.title:
        fields["_meta"] = {META: {"title": plan.title}}
    return {"sessionUpdate": "plan_update", "plan": fields}


def plan_removed(plan_id: str, format_: PlanFormat) -> Update:
    """Return the update that removes a plan."""
    return {"sessionUpdate": "plan_removed", format_.value: plan_id}


def entries_update(plans: Iterable[ItemsPlan]) -> Update:
    """Return the flat list of all entries, for a client that knows one plan only."""
    entries = [entry_update(entry, planId=plan.id) for plan in plans for entry in plan.entries]
    return {"sessionUpdate": "plan", "entries": entries}


def as_message(plan: MarkdownPlan | FilePlan, message_id: str) -> Update:
    """Return a document or file as a message, for a client that knows entries only."""
    if isinstance(plan, MarkdownPlan):
        content: dict[str, Any] = {"type": "text", "text": plan.content}
    else:
        name = plan.title or plan.uri.rstrip("/").rpartition("/")[2] or plan.id
        content = {"type": "resource_link", "name": name, "uri": plan.uri}
    return {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": content}

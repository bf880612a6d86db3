"""Plans as data, independent of any client.

A plan has an id that is unique in the session and one of three types: entries to tick off, a
document, or a file. An entry can have states that the protocol lacks, such as failed; `encoding`
decides what a client is sent for them.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Priority: TypeAlias = Literal["high", "medium", "low"]
"""The priority of an entry, as the protocol names it."""

EntryState: TypeAlias = Literal[
    "pending", "in_progress", "completed", "blocked", "failed", "cancelled"
]
"""The state of an entry. The protocol lacks the last three; they are shown in its text."""


class PlanEntry(Struct, frozen=True, omit_defaults=True):
    """One line of a plan.

    `note` is shown beside a blocked, failed or cancelled entry. `details` are for programs: they
    are sent in the entry's `_meta` under `taskloom`.
    """

    text: str
    state: EntryState = "pending"
    priority: Priority = "medium"
    note: str = ""
    details: Mapping[str, Any] | None = None


class ItemsPlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="items"):
    """Entries to tick off, in a fixed order."""

    id: str
    entries: tuple[PlanEntry, ...]
    title: str = ""


class MarkdownPlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="markdown"):
    """A plan that is a document."""

    id: str
    content: str
    title: str = ""


class FilePlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="file"):
    """A plan that is a file, named by its URI."""

    id: str
    uri: str
    title: str = ""


Plan: TypeAlias = ItemsPlan | MarkdownPlan | FilePlan
"""Any of the three."""

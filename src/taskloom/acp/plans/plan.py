"""Plans as data: what an agent wants a person to see, before any client is thought of.

A plan has an id that is its own for the whole session and one of three types: entries to tick
off, a document, or a file to open. An entry says more than the protocol can: a failed step is
neither pending nor completed. What is lost on the way to a client is decided in `dialect`.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Priority: TypeAlias = Literal["high", "medium", "low"]
"""How important an entry is, in the protocol's words."""

EntryState: TypeAlias = Literal[
    "pending", "in_progress", "completed", "blocked", "failed", "cancelled"
]
"""Where an entry stands. The last three have no word in the protocol and are shown all the same."""


class PlanEntry(Struct, frozen=True, omit_defaults=True):
    """One line of a plan.

    `note` is the reason a person should read beside a blocked, failed or cancelled entry.
    `details` are for programs: they travel in the entry's `_meta` under `taskloom`.
    """

    text: str
    state: EntryState = "pending"
    priority: Priority = "medium"
    note: str = ""
    details: Mapping[str, Any] | None = None


class ItemsPlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="items"):
    """Entries to tick off, in an order that stays."""

    id: str
    entries: tuple[PlanEntry, ...]
    title: str = ""


class MarkdownPlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="markdown"):
    """A plan that is a document."""

    id: str
    content: str
    title: str = ""


class FilePlan(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="file"):
    """A plan that is a file, named by its address."""

    id: str
    uri: str
    title: str = ""


Plan: TypeAlias = ItemsPlan | MarkdownPlan | FilePlan
"""Any of the three."""

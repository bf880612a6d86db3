"""The editor's door: an agent of the Agent Client Protocol, and plans in the client's plan view."""

from taskloom.acp.dialect import Dialect, Update, dialect_of
from taskloom.acp.entries import step_entry, task_plan
from taskloom.acp.plans import (
    EntryState,
    FilePlan,
    ItemsPlan,
    MarkdownPlan,
    Plan,
    PlanEntry,
    Priority,
)
from taskloom.acp.publisher import PlanPublisher, Send, over
from taskloom.acp.serve import serve, serve_stdio
from taskloom.acp.setup import Setup

__all__ = [
    "Dialect",
    "EntryState",
    "FilePlan",
    "ItemsPlan",
    "MarkdownPlan",
    "Plan",
    "PlanEntry",
    "PlanPublisher",
    "Priority",
    "Send",
    "Setup",
    "Update",
    "dialect_of",
    "over",
    "serve",
    "serve_stdio",
    "step_entry",
    "task_plan",
]

"""The editor's door: an agent of the Agent Client Protocol, and plans in the client's plan view."""

from taskloom.acp.options import AcpOptions
from taskloom.acp.plans.encoding import PlanFormat, Update, plan_format_of
from taskloom.acp.plans.from_board import step_entry, task_plan
from taskloom.acp.plans.plan import (
    EntryState,
    FilePlan,
    ItemsPlan,
    MarkdownPlan,
    Plan,
    PlanEntry,
    Priority,
)
from taskloom.acp.plans.publisher import PlanPublisher, Send, over
from taskloom.acp.serve import serve, serve_stdio

__all__ = [
    "AcpOptions",
    "EntryState",
    "FilePlan",
    "ItemsPlan",
    "MarkdownPlan",
    "Plan",
    "PlanEntry",
    "PlanFormat",
    "PlanPublisher",
    "Priority",
    "Send",
    "Update",
    "over",
    "plan_format_of",
    "serve",
    "serve_stdio",
    "step_entry",
    "task_plan",
]

"""The agent of the Agent Client Protocol: Taskloom in editors, and plans for any ACP agent."""

from taskloom.acp.options import AcpOptions, MakePools, MakeTools
from taskloom.acp.plans import (
    EntryState,
    FilePlan,
    ItemsPlan,
    MarkdownPlan,
    Plan,
    PlanEntry,
    PlanFormat,
    PlanPublisher,
    Priority,
    Send,
    Update,
    plan_format_of,
    session_sender,
    step_entry,
    task_plan,
)
from taskloom.acp.serve import serve, serve_stdio

__all__ = [
    "AcpOptions",
    "EntryState",
    "FilePlan",
    "ItemsPlan",
    "MakePools",
    "MakeTools",
    "MarkdownPlan",
    "Plan",
    "PlanEntry",
    "PlanFormat",
    "PlanPublisher",
    "Priority",
    "Send",
    "Update",
    "plan_format_of",
    "serve",
    "serve_stdio",
    "session_sender",
    "step_entry",
    "task_plan",
]

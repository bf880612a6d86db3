"""Plans in the client's plan view: as data, as updates, and where they come from.

plan          plans as data
encoding      a plan as session updates, in the form that the client knows
client_state  what the client has been sent, and what must be sent next
publisher     sends plans: bursts joined, the last state always sent
task_list     the agent's own task list as a plan
board_feed    the Tasks of the board as plans
published     documents and files that an agent published, and the tools for it
"""

from taskloom.acp.plans.board_feed import BoardFeed, step_entry, task_plan
from taskloom.acp.plans.encoding import META, PlanFormat, Update, entry_update, plan_format_of
from taskloom.acp.plans.plan import (
    EntryState,
    FilePlan,
    ItemsPlan,
    MarkdownPlan,
    Plan,
    PlanEntry,
    Priority,
)
from taskloom.acp.plans.published import PublishedPlans
from taskloom.acp.plans.publisher import PlanPublisher, Send, session_sender
from taskloom.acp.plans.task_list import TaskList

__all__ = [
    "META",
    "BoardFeed",
    "EntryState",
    "FilePlan",
    "ItemsPlan",
    "MarkdownPlan",
    "Plan",
    "PlanEntry",
    "PlanFormat",
    "PlanPublisher",
    "Priority",
    "PublishedPlans",
    "Send",
    "TaskList",
    "Update",
    "entry_update",
    "plan_format_of",
    "session_sender",
    "step_entry",
    "task_plan",
]

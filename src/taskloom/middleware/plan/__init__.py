"""Planning: four tools for one agent's own task list, kept in files."""

from taskloom.middleware.plan.changed import PlanChanged
from taskloom.middleware.plan.item import PlanItem
from taskloom.middleware.plan.plan_tasks import PlanTasks
from taskloom.middleware.plan.update import PlanRefused

__all__ = ["PlanChanged", "PlanItem", "PlanRefused", "PlanTasks"]

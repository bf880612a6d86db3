"""Planning: four tools for one agent's own task list, kept in files."""

from taskloom.middleware.plan.decide import PlanRefusedError
from taskloom.middleware.plan.events import PlanChanged
from taskloom.middleware.plan.item import PlanItem
from taskloom.middleware.plan.plan_tasks import PlanTasks

__all__ = ["PlanChanged", "PlanItem", "PlanRefusedError", "PlanTasks"]

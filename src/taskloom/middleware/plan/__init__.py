"""Planning: four tools for an agent's own task list, stored in files."""

from taskloom.middleware.plan.decide import PlanRefusedError
from taskloom.middleware.plan.item import PlanChanged, PlanItem
from taskloom.middleware.plan.plan_tasks import PlanTasks

__all__ = ["PlanChanged", "PlanItem", "PlanRefusedError", "PlanTasks"]

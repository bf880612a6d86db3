"""Middlewares that come with the house: planning and reduction of tool results."""

from taskloom.middleware.plan import PlanChanged, PlanItem, PlanRefused, PlanTasks
from taskloom.middleware.reduction import (
    ClearResult,
    ReductionWarning,
    Retention,
    ToolConfig,
    ToolDetail,
    ToolReduction,
    TruncResult,
    from_saved,
)

__all__ = [
    "ClearResult",
    "PlanChanged",
    "PlanItem",
    "PlanRefused",
    "PlanTasks",
    "ReductionWarning",
    "Retention",
    "ToolConfig",
    "ToolDetail",
    "ToolReduction",
    "TruncResult",
    "from_saved",
]

"""The middlewares of Taskloom: planning, and reduction of tool results."""

from taskloom.middleware.plan import PlanChanged, PlanItem, PlanRefusedError, PlanTasks
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
    "PlanRefusedError",
    "PlanTasks",
    "ReductionWarning",
    "Retention",
    "ToolConfig",
    "ToolDetail",
    "ToolReduction",
    "TruncResult",
    "from_saved",
]

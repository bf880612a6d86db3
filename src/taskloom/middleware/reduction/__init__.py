"""Reduction of tool results: long ones are cut as they come, old ones cleared when it is tight."""

from taskloom.middleware.reduction.handlers import (
    ClearHandler,
    ClearResult,
    ReductionWarning,
    ToolContent,
    ToolDetail,
    TruncHandler,
    TruncResult,
)
from taskloom.middleware.reduction.pruning import SavedFile
from taskloom.middleware.reduction.reduction import ToolReduction
from taskloom.middleware.reduction.serialization import from_saved, to_saved
from taskloom.middleware.reduction.settings import Retention, ToolConfig
from taskloom.middleware.reduction.tokens import MessageCounter, TokenCounter, utf8_tokens

__all__ = [
    "ClearHandler",
    "ClearResult",
    "MessageCounter",
    "ReductionWarning",
    "Retention",
    "SavedFile",
    "TokenCounter",
    "ToolConfig",
    "ToolContent",
    "ToolDetail",
    "ToolReduction",
    "TruncHandler",
    "TruncResult",
    "from_saved",
    "to_saved",
    "utf8_tokens",
]

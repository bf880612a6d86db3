"""Reduction of tool results: long ones are truncated, old ones cleared when context is short."""

from taskloom.middleware.reduction.offload import ReductionWarning
from taskloom.middleware.reduction.pruning import SavedFile
from taskloom.middleware.reduction.reduction import ToolReduction
from taskloom.middleware.reduction.serialization import from_saved, to_saved
from taskloom.middleware.reduction.settings import (
    ClearHandler,
    ClearResult,
    ReductionSettings,
    Retention,
    ToolConfig,
    ToolContent,
    ToolDetail,
    TruncHandler,
    TruncResult,
)
from taskloom.middleware.reduction.tokens import MessageCounter, TokenCounter, utf8_tokens

__all__ = [
    "ClearHandler",
    "ClearResult",
    "MessageCounter",
    "ReductionSettings",
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

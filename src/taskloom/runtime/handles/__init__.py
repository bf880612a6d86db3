"""Handles: the first level of the board's API. They carry identity, fence and lease."""

from taskloom.runtime.handles.claim import Claim
from taskloom.runtime.handles.held_step import StepResult
from taskloom.runtime.handles.lease_renewal import LeaseRenewer
from taskloom.runtime.handles.plan import step
from taskloom.runtime.handles.sync_claim import SyncClaim
from taskloom.runtime.handles.sync_task_handle import SyncTaskHandle
from taskloom.runtime.handles.task_handle import TaskHandle

__all__ = [
    "Claim",
    "LeaseRenewer",
    "StepResult",
    "SyncClaim",
    "SyncTaskHandle",
    "TaskHandle",
    "step",
]

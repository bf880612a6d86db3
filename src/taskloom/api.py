"""The first-level API: every name that `from taskloom import …` gives.

Those who build adapters find commands, actors and receipts in `taskloom.board`.
"""

from taskloom.board import AddDependency as AddDependency
from taskloom.board import AddStep as AddStep
from taskloom.board import CancelStep as CancelStep
from taskloom.board import DeleteStep as DeleteStep
from taskloom.board import EventType as EventType
from taskloom.board import NewStep as NewStep
from taskloom.board import RemoveDependency as RemoveDependency
from taskloom.board import ReopenStep as ReopenStep
from taskloom.board import Rules as Rules
from taskloom.board import StepStatus as StepStatus
from taskloom.board import StepView as StepView
from taskloom.board import TaskLine as TaskLine
from taskloom.board import TaskStatus as TaskStatus
from taskloom.board import TaskView as TaskView
from taskloom.board import UpdateFields as UpdateFields
from taskloom.board import UpdateStepContent as UpdateStepContent
from taskloom.board import UpdateTask as UpdateTask
from taskloom.errors import Code as Code
from taskloom.errors import RefusedError as RefusedError
from taskloom.errors import StorageError as StorageError
from taskloom.errors import TaskloomError as TaskloomError
from taskloom.errors import UnavailableError as UnavailableError
from taskloom.log import Durability as Durability
from taskloom.log import MemoryLog as MemoryLog
from taskloom.runtime import Board as Board
from taskloom.runtime import Claim as Claim
from taskloom.runtime import Clock as Clock
from taskloom.runtime import Record as Record
from taskloom.runtime import StepResult as StepResult
from taskloom.runtime import SyncBoard as SyncBoard
from taskloom.runtime import SyncClaim as SyncClaim
from taskloom.runtime import SyncTaskHandle as SyncTaskHandle
from taskloom.runtime import TaskHandle as TaskHandle
from taskloom.runtime import open_board as open_board
from taskloom.runtime import open_board_sync as open_board_sync
from taskloom.runtime import step as step

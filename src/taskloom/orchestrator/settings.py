"""The numbers of orchestrator mode. All of them may be configured."""

from msgspec import Struct


class Settings(Struct, frozen=True, kw_only=True):
    """How long things may take, and how much of the board a prompt is shown."""

    default_child_timeout_ms: int = 600_000
    child_cancel_timeout_ms: int = 30_000
    task_board_token_budget: int = 1_200
    task_recent_changes_limit: int = 20
    task_recent_changes_window_minutes: int = 30
    result_bytes_max: int = 16_000
    """What a Task tool answers with at most; a big board comes as a summary."""
    worker_iterations_max: int = 60
    """Model calls of one worker run."""


DEFAULTS = Settings()

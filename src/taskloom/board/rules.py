"""The settings of decisions: the length of a lease, the default pool and the size limits."""

from datetime import timedelta
from typing import Final

from taskloom.define import define
from taskloom.ids import PoolId

DEFAULT_POOL: Final[PoolId] = "default"
"""The pool of a step that names none, unless another is configured."""


@define(frozen=True, kw_only=True)
class Rules:
    """The settings that `decide` uses; all of them can be configured."""

    lease: timedelta = timedelta(milliseconds=300_000)
    default_worker_pool: PoolId = DEFAULT_POOL
    steps_max: int = 200_000
    operations_max: int = 10_000
    dependencies_max: int = 10_000
    title_bytes_max: int = 2_000
    summary_bytes_max: int = 100_000
    result_bytes_max: int = 200_000
    data_bytes_max: int = 200_000
    """The limit of a result's data and of a step's metadata, each as JSON."""
    artifacts_max: int = 1_000


DEFAULT_RULES = Rules()
"""The rules of a board that was given none."""

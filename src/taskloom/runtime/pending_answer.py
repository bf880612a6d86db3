"""An answer that waits for the disk."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from taskloom.errors import StorageError
from taskloom.ids import Seq

_T = TypeVar("_T")


@dataclass(slots=True)
class PendingAnswer(Generic[_T]):
    """An answer that is true once everything up to `seq` is durable."""

    outcome: _T | Exception
    """The answer, or the refusal: a no, too, may rest on what is not durable yet."""
    seq: Seq
    epoch: int

    @property
    def answer(self) -> _T:
        """The answer.

        Raises:
            TaskloomError: The answer is no.
        """
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class WouldBlockError(Exception):
    """What was asked takes longer than an event loop should be held up."""


def interrupted(path: str) -> StorageError:
    """Return the error for a write of which nobody knows how far it came."""
    return StorageError(
        f"Writing {path} was interrupted. Whether the change is there is not known; ask again "
        "with the same command_id.",
        {"wal_path": path, "outcome": "unknown"},
    )

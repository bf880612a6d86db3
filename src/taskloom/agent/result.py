"""The result of a run."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.messages import Message, Usage

StopReason: TypeAlias = Literal[
    "completed", "returned_directly", "interrupted", "cancelled", "max_iterations", "failed"
]
"""Why a run ended."""


class Interrupt(Struct, frozen=True):
    """A question to a person; the run waits for an answer under this id."""

    id: str
    where: str
    info: Any


class Result(Struct, frozen=True):
    """How a run ended. `messages` plus a new user message start the next run.

    `message` is the final answer: the model's last reply, or with `returned_directly` the tool's
    result. It is None if the run ended without one.
    """

    run_id: str
    stop_reason: StopReason
    messages: list[Message]
    message: Message | None = None
    usage: Usage = Usage()
    iterations: int = 0
    interrupts: tuple[Interrupt, ...] = ()
    error: Exception | None = None

    @property
    def text(self) -> str:
        """The text of the final answer; empty if there is none."""
        return self.message.text if self.message is not None else ""

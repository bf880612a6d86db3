"""Events as lines of a table. Lines come one by one, so the column widths are set beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from taskloom.codec import LogLine
from taskloom.view.event_line import event_details
from taskloom.view.format import clean, one_line, timestamp

_EVENT_WIDTH = len("task_step_lease_expired")


@dataclass(frozen=True, slots=True)
class Timeline:
    """Draws events; the fields are the column widths, and wider cells stick out."""

    seq: int = 3
    step: int = 8
    actor: int = 12

    @classmethod
    def fitting(cls, entries: Sequence[LogLine]) -> "Timeline":
        """Return a timeline with columns that fit these entries."""
        return cls(
            seq=_width(["seq", *(str(entry.wal_seq) for entry in entries)]),
            step=_width(["step", *(entry.step_id for entry in entries)]),
            actor=_width(["by", *(entry.actor_agent_id for entry in entries)]),
        )

    def heading(self) -> Text:
        """Draw the heading."""
        names = ("seq", "time (UTC)", "event", "step", "by", "what")
        return _line(Text(self._columns(*names), "bold"))

    def draw(self, entry: LogLine) -> Text:
        """Draw one event."""
        return _line(
            Text(
                self._columns(
                    str(entry.wal_seq),
                    timestamp(entry.created_at),
                    clean(entry.event_type),
                    one_line(entry.step_id or ""),
                    one_line(entry.actor_agent_id or ""),
                    event_details(entry.event_type, entry.payload),
                )
            )
        )

    def _columns(self, *cells: str) -> str:
        widths = (self.seq, len("2026-01-01 00:00:00"), _EVENT_WIDTH, self.step, self.actor, 0)
        seq, *others = zip(cells, widths, strict=True)
        padded = [f"{cell:{width}}" if width else cell for cell, width in others]
        return "  ".join([f"{seq[0]:>{seq[1]}}", *padded]).rstrip()


def _width(names: Sequence[str | None]) -> int:
    return min(24, max(len(one_line(name or "")) for name in names))


def _line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text

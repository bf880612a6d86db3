"""What keys mean: which run is selected, whose words are shown, what the person wants done."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from taskloom.ids import RunId

Wish: TypeAlias = Literal["cancel", "pause", "quit", "redraw"]


class Action(NamedTuple):
    """What the person wants done; for `cancel`, with which run."""

    wish: Wish
    run_id: RunId = ""


class Controls:
    """Where the person is in the view."""

    def __init__(self, orchestrator: RunId) -> None:
        """Begin at the board, with the Orchestrator selected."""
        self._orchestrator = orchestrator
        self.selected: RunId = orchestrator
        self.is_reading = False
        """Whether the selected run's words are shown."""
        self.last_line: int | None = None
        """How far they are read; None follows them."""
        self.confirming: RunId | None = None
        """The run that is to be cancelled, once that is confirmed."""

    def keep_up(self, runs: Sequence[RunId]) -> None:
        """Follow the runs: one that is over cannot be selected, but read on."""
        if self.confirming is not None and self.confirming not in runs:
            self.confirming = None
        if not self.is_reading and self.selected not in runs:
            self.selected = self._orchestrator

    def press(self, key: str, runs: Sequence[RunId], total: int, page: int) -> Action | None:
        """Take a key. `total` lines of the selected run there are, `page` are seen at once."""
        if key in ("q", "ctrl-c"):
            return Action("quit")
        if self.confirming is not None:
            run_id, self.confirming = self.confirming, None
            return Action("cancel", run_id) if key == "y" else None
        if key == "p":
            return Action("pause")
        if key == "ctrl-l":
            return Action("redraw")
        if key == "c":
            self.confirming = self._to_cancel(runs)
        elif self.is_reading:
            self._scroll(key, total, page)
        else:
            self._select(key, runs)
        return None

    def _to_cancel(self, runs: Sequence[RunId]) -> RunId | None:
        is_worker = self.selected != self._orchestrator and self.selected in runs
        return self.selected if is_worker else None

    def _select(self, key: str, runs: Sequence[RunId]) -> None:
        at = runs.index(self.selected) if self.selected in runs else 0
        if key in ("j", "down"):
            self.selected = runs[min(at + 1, len(runs) - 1)]
        elif key in ("k", "up"):
            self.selected = runs[max(at - 1, 0)]
        elif key == "enter":
            self.is_reading, self.last_line = True, None
        elif len(key) == 1 and "0" <= key <= "9" and int(key) < len(runs):
            self.selected = runs[int(key)]
            self.is_reading, self.last_line = True, None

    def _scroll(self, key: str, total: int, page: int) -> None:
        steps = {"k": -1, "up": -1, "j": 1, "down": 1, "page up": -page, "page down": page}
        if key in steps:
            at = total if self.last_line is None else self.last_line
            at = max(min(page, total), at + steps[key])
            self.last_line = None if at >= total else at
        elif key == "G":
            self.last_line = None
        elif key in ("escape", "enter"):
            self.is_reading = False

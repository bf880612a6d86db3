"""What keys do: which run is selected, whether its output is shown, which action is wanted."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from taskloom.ids import RunId

ActionKind: TypeAlias = Literal["cancel", "pause", "quit", "redraw"]


class Action(NamedTuple):
    """What the user wants done; `cancel` names the run."""

    kind: ActionKind
    run_id: RunId = ""


class Controls:
    """The user's position in the view."""

    def __init__(self, orchestrator: RunId) -> None:
        """Start at the board, with the Orchestrator selected."""
        self._orchestrator = orchestrator
        self.selected: RunId = orchestrator
        self.shows_output = False
        """Whether the output of the selected run is shown instead of the board."""
        self.last_line: int | None = None
        """The last line of output shown; None follows the output."""
        self.confirming: RunId | None = None
        """The run to cancel, once that is confirmed."""

    def update_runs(self, runs: Sequence[RunId]) -> None:
        """Select only active runs; the output of an ended one stays open."""
        if self.confirming is not None and self.confirming not in runs:
            self.confirming = None
        if not self.shows_output and self.selected not in runs:
            self.selected = self._orchestrator

    def press(self, key: str, runs: Sequence[RunId], total: int, page: int) -> Action | None:
        """Handle a key. The selected run has `total` lines of output, a screen shows `page`."""
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
            is_worker = self.selected != self._orchestrator and self.selected in runs
            self.confirming = self.selected if is_worker else None
        elif self.shows_output:
            self._scroll(key, total, page)
        else:
            self._select(key, runs)
        return None

    def _select(self, key: str, runs: Sequence[RunId]) -> None:
        index = runs.index(self.selected) if self.selected in runs else 0
        if key in ("j", "down"):
            self.selected = runs[min(index + 1, len(runs) - 1)]
        elif key in ("k", "up"):
            self.selected = runs[max(index - 1, 0)]
        elif key == "enter":
            self.shows_output, self.last_line = True, None
        elif len(key) == 1 and "0" <= key <= "9" and int(key) < len(runs):
            self.selected = runs[int(key)]
            self.shows_output, self.last_line = True, None

    def _scroll(self, key: str, total: int, page: int) -> None:
        lines = {"k": -1, "up": -1, "j": 1, "down": 1, "page up": -page, "page down": page}
        if key in lines:
            last = total if self.last_line is None else self.last_line
            last = max(min(page, total), last + lines[key])
            self.last_line = None if last >= total else last
        elif key == "G":
            self.last_line = None
        elif key in ("escape", "enter"):
            self.shows_output = False

"""The agent's own task list as a plan: shown as it changes, kept in the session's directory."""

from pathlib import Path
from typing import Any, Final

from taskloom.acp.plans.plan import EntryState, ItemsPlan, PlanEntry
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.agent import Language
from taskloom.files import LocalFiles
from taskloom.middleware import PlanChanged, PlanItem, PlanTasks

TASKS_PLAN: Final = "tasks"
"""The id of the plan that the task list is."""

_STATE: Final[dict[str, EntryState]] = {"in_progress": "in_progress", "completed": "completed"}


def task_entry(item: PlanItem) -> PlanEntry:
    """Return a task as an entry: what is being done while it is, else what it is about."""
    state = _STATE.get(item.status, "pending")
    active = item.active_form if state == "in_progress" else ""
    details: dict[str, Any] = {"taskId": item.id}
    if item.owner:
        details["worker"] = item.owner
    if item.blocked_by and state == "pending":
        details["blockedBy"] = list(item.blocked_by)
    return PlanEntry(text=active or item.subject, state=state, details=details)


def tasks_plan(items: list[PlanItem] | tuple[PlanItem, ...]) -> ItemsPlan:
    """Return a task list as a plan, in the order of its numbers."""
    return ItemsPlan(TASKS_PLAN, tuple(task_entry(item) for item in items))


class TaskList:
    """The planning middleware of one session, and its plan on the client."""

    def __init__(self, folder: Path, publisher: PlanPublisher, language: Language | None) -> None:
        """Keep the tasks in a directory of the session."""
        self.middleware = PlanTasks(LocalFiles(folder), "tasks", language=language)
        self._publisher = publisher
        self._revision = -1
        self._is_finished = False
        """The last task was completed in this turn: the list is empty, and still shown."""

    def begin(self) -> None:
        """Begin a turn: a list that was finished before is no longer shown at its end."""
        self._is_finished = False

    def hear(self, changed: PlanChanged) -> None:
        """Show the list after a change."""
        if changed.revision < self._revision:
            return
        self._revision = changed.revision
        self._is_finished = changed.finished
        self._publisher.publish(tasks_plan(changed.tasks))

    async def show(self) -> None:
        """Show the list as it is on disk, whoever changed it."""
        items = await self.middleware.tasks()
        if items:
            self._publisher.publish(tasks_plan(items))
        elif not self._is_finished:
            self._publisher.remove(TASKS_PLAN)

    async def text(self) -> str:
        """Return the list for a person to read."""
        items = await self.middleware.tasks()
        marks = {"completed": "[x]", "in_progress": "[~]"}
        lines = [f"- {marks.get(item.status, '[ ]')} #{item.id} {item.subject}" for item in items]
        return "\n".join(lines) or "There are no tasks."

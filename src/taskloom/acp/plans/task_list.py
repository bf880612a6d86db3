"""The agent's own task list as a plan, published as it changes."""

from pathlib import Path
from typing import Any, Final

from taskloom.acp.plans.plan import EntryState, ItemsPlan, PlanEntry
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.agent import Language
from taskloom.files import LocalFiles
from taskloom.middleware import PlanChanged, PlanItem, PlanTasks

TASKS_PLAN: Final = "tasks"
"""The id of the task list's plan."""

_STATE: Final[dict[str, EntryState]] = {"in_progress": "in_progress", "completed": "completed"}


def task_entry(item: PlanItem) -> PlanEntry:
    """Return a task as an entry: with its active form while it is in progress. Pure."""
    state = _STATE.get(item.status, "pending")
    active = item.active_form if state == "in_progress" else ""
    details: dict[str, Any] = {"taskId": item.id}
    if item.owner:
        details["worker"] = item.owner
    if item.blocked_by and state == "pending":
        details["blockedBy"] = list(item.blocked_by)
    return PlanEntry(text=active or item.subject, state=state, details=details)


def tasks_plan(items: list[PlanItem] | tuple[PlanItem, ...]) -> ItemsPlan:
    """Return a task list as a plan. Pure."""
    return ItemsPlan(TASKS_PLAN, tuple(task_entry(item) for item in items))


class TaskList:
    """The planning middleware of one session, and its plan on the client."""

    def __init__(self, folder: Path, publisher: PlanPublisher, language: Language | None) -> None:
        """Name the session's directory, in which the tasks are."""
        self.middleware = PlanTasks(LocalFiles(folder), "tasks", language=language)
        self._publisher = publisher
        self._revision = -1
        self._is_finished = False
        """The last task was completed in this turn: the list is empty and is still shown."""

    def begin_turn(self) -> None:
        """Let a list that was finished before be removed at the end of this turn."""
        self._is_finished = False

    def publish(self, changed: PlanChanged) -> None:
        """Publish the list after a change."""
        if changed.revision < self._revision:
            return
        self._revision = changed.revision
        self._is_finished = changed.finished
        self._publisher.publish(tasks_plan(changed.tasks))

    async def publish_current(self) -> None:
        """Publish the list as it is on disk, which another process may have changed."""
        items = await self.middleware.tasks()
        if items:
            self._publisher.publish(tasks_plan(items))
        elif not self._is_finished:
            self._publisher.remove(TASKS_PLAN)

    async def text(self) -> str:
        """Return the list as Markdown."""
        items = await self.middleware.tasks()
        marks = {"completed": "[x]", "in_progress": "[~]"}
        lines = [f"- {marks.get(item.status, '[ ]')} #{item.id} {item.subject}" for item in items]
        return "\n".join(lines) or "There are no tasks."

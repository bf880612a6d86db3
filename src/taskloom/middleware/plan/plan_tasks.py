"""PlanTasks: the planning middleware. Four tools for one agent's own plan, kept in files."""

from contextlib import suppress
from typing import Final, get_args

from taskloom.agent import Language, Middleware, RunSetup, State, get_value, set_value
from taskloom.files import Backend
from taskloom.middleware.plan.item import PlanItem
from taskloom.middleware.plan.plan_texts import plan_texts
from taskloom.middleware.plan.reminder import Silence, reminder, silence
from taskloom.middleware.plan.render import show_reminder
from taskloom.middleware.plan.store import store_for
from taskloom.middleware.plan.tools import PlanTools

_SEEN: Final = "taskloom.plan.seen"
"""The run-local value that says that this run's conversation has spoken of tasks."""


class PlanTasks(Middleware):
    """Gives a run TaskCreate, TaskGet, TaskUpdate and TaskList over the files of one list.

    One list is one `base_dir` of one backend. Runs, sub-agents, middlewares and (with
    `LocalFiles`) processes that name the same one share it safely.
    """

    def __init__(
        self,
        backend: Backend,
        base_dir: str,
        *,
        language: Language | None = None,
        enforce_order: bool = True,
        keep_completed: bool = False,
        reminder_turns: int | None = 10,
    ) -> None:
        """Name the list.

        Args:
            backend: where the files are, such as `LocalFiles(".plans")`.
            base_dir: the directory of this list in it; another session takes another.
            language: of what the model is told; by default the agent's.
            enforce_order: refuse to start or complete a task whose blockers are open.
            keep_completed: leave a finished list in place; else it is cleared.
            reminder_turns: remind the model of open tasks after so many turns without a word of
                them; None never does.

        Raises:
            ValueError: backend or base_dir is missing, or a setting makes no sense.
        """
        _check(backend, base_dir, language, reminder_turns)
        self._store = store_for(backend, base_dir)
        self._language: Language | None = language
        self._enforce_order = enforce_order
        self._keep_completed = keep_completed
        self._reminder_turns = reminder_turns

    async def tasks(self) -> list[PlanItem]:
        """Return all tasks as they are now, in the order of their numbers.

        Raises:
            OSError: the storage failed.
        """
        async with self._store.turn(everything=True) as tasks:
            return list(tasks.snapshot())

    async def before_agent(self, setup: RunSetup) -> None:
        """Add the four tools."""
        tools = PlanTools(
            store=self._store,
            texts=plan_texts(self._language),
            enforce_order=self._enforce_order,
            keep_completed=self._keep_completed,
        )
        setup.tools.extend(tools.tools())

    async def before_model(self, state: State) -> None:
        """Remind the model of open tasks, at the end, if it has long been silent about them."""
        if self._reminder_turns is None:
            return
        if not any(info.name == "TaskUpdate" for info in state.tools):
            return
        if not self._is_due(silence(state.messages, self._reminder_turns)):
            return
        with suppress(OSError):  # A reminder is not worth a run; the tools will tell.
            async with self._store.turn() as tasks:
                if tasks.open:
                    text = show_reminder(tasks, plan_texts(self._language))
                    state.messages.append(reminder(text))

    def _is_due(self, found: Silence) -> bool:
        if not found.forgotten:
            if not get_value(_SEEN):
                set_value(_SEEN, True)
            return found.turns >= (self._reminder_turns or 0)
        # What this run once said of its tasks has been taken out of the conversation.
        return bool(get_value(_SEEN)) or found.turns >= (self._reminder_turns or 0)


def _check(
    backend: object, base_dir: object, language: Language | None, reminder_turns: int | None
) -> None:
    if backend is None:
        raise ValueError(
            "PlanTasks needs a backend for its files: LocalFiles(directory), MemoryFiles() or "
            "another of taskloom.files."
        )
    missing = [
        name for name in ("ls_info", "read", "write", "delete") if not hasattr(backend, name)
    ]
    if missing:
        raise ValueError(f"{backend!r} is no backend: it has no method {', '.join(missing)}.")
    if not isinstance(base_dir, str) or not base_dir.strip():
        raise ValueError(
            "PlanTasks needs a base_dir: the directory of its list in the backend, one for each "
            "session, such as 'plans/session-1'."
        )
    if "\0" in base_dir or ".." in base_dir.split("/"):
        raise ValueError(f"The base_dir {base_dir!r} leads out of the backend; name one inside it.")
    if language is not None and language not in get_args(Language):
        known = ", ".join(get_args(Language))
        raise ValueError(f"language {language!r} has no texts; there are {known}.")
    if reminder_turns is not None and reminder_turns < 1:
        raise ValueError("reminder_turns is a number of turns from 1 on, or None for never.")

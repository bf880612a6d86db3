"""PlanTasks: the planning middleware. Four tools for an agent's own plan, stored in files."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, get_args

from taskloom.agent import (
    Language,
    Message,
    Middleware,
    RunSetup,
    State,
    get_value,
    run_language,
    set_value,
)
from taskloom.files import Backend
from taskloom.middleware.plan.item import PlanItem
from taskloom.middleware.plan.plan_texts import plan_texts
from taskloom.middleware.plan.render import render_reminder
from taskloom.middleware.plan.store import store_for
from taskloom.middleware.plan.tools import PlanTools

_MENTIONED: Final = "taskloom.plan.seen"
"""The run-local value that records that this run's conversation has mentioned its tasks."""
_TOOLS: Final = ("TaskCreate", "TaskGet", "TaskUpdate", "TaskList")
_OPENING: Final = "<task-reminder>\n"
_CLOSING: Final = "\n</task-reminder>"


class PlanTasks(Middleware):
    """Gives a run TaskCreate, TaskGet, TaskUpdate and TaskList over the files of one list.

    One list is one `base_dir` of one backend. Runs, sub-agents, middlewares and (with
    `LocalFiles`) processes can share a list safely.
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
        """Create the middleware of one list.

        Args:
            backend: the storage of the files, such as `LocalFiles(".plans")`.
            base_dir: the directory of this list; give each session its own.
            language: of the texts for the model; by default the agent's.
            enforce_order: refuse to start or complete a task whose blockers are open.
            keep_completed: keep the files of a finished list instead of removing them.
            reminder_turns: remind the model of open tasks after this many replies that do not
                use the list; None disables reminders.

        Raises:
            ValueError: backend or base_dir is missing, or an option is not valid.
        """
        _check(backend, base_dir, language, reminder_turns)
        self._store = store_for(backend, base_dir)
        self._language: Language | None = language
        self._enforce_order = enforce_order
        self._keep_completed = keep_completed
        self._reminder_turns = reminder_turns

    async def tasks(self) -> list[PlanItem]:
        """Return the current tasks in numeric order.

        Raises:
            OSError: the storage failed.
        """
        async with self._store.locked(check_all=True) as tasks:
            return list(tasks.snapshot())

    async def before_agent(self, setup: RunSetup) -> None:
        """Add the four tools."""
        tools = PlanTools(
            store=self._store,
            texts=plan_texts(self._language or run_language()),
            enforce_order=self._enforce_order,
            keep_completed=self._keep_completed,
        )
        setup.tools.extend(tools.tools())

    async def before_model(self, state: State) -> None:
        """Append a reminder if the model has not used its list for a while."""
        if self._reminder_turns is None:
            return
        if not any(info.name == "TaskUpdate" for info in state.tools):
            return
        if not _is_due(state.messages, self._reminder_turns):
            return
        with suppress(OSError):  # A failed reminder must not end a run; the tools report the error.
            async with self._store.locked() as tasks:
                if tasks.open:
                    text = render_reminder(tasks, plan_texts(self._language or run_language()))
                    state.messages.append(Message.user(_OPENING + text + _CLOSING))


def _is_due(messages: Sequence[Message], reminder_turns: int) -> bool:
    """Return whether a reminder is due, judged from the messages, so that a resumed run agrees."""
    turns = 0
    for message in reversed(messages):
        if turns >= reminder_turns:
            break
        if message.role == "assistant":
            if any(call.name in _TOOLS for call in message.tool_calls):
                break
            turns += 1
        elif message.role == "user" and message.text.startswith(_OPENING):
            break
    else:
        # No message mentions the tasks. If one did before, it has been cut from the conversation.
        return bool(get_value(_MENTIONED)) or turns >= reminder_turns
    if not get_value(_MENTIONED):
        set_value(_MENTIONED, True)
    return turns >= reminder_turns


def _check(
    backend: object, base_dir: object, language: Language | None, reminder_turns: int | None
) -> None:
    if backend is None:
        raise ValueError(
            "PlanTasks needs a backend for its files: LocalFiles(directory), MemoryFiles() or "
            "another one of taskloom.files."
        )
    missing = [
        name for name in ("ls_info", "read", "write", "delete") if not hasattr(backend, name)
    ]
    if missing:
        raise ValueError(f"{backend!r} is not a backend: it has no method {', '.join(missing)}.")
    if not isinstance(base_dir, str) or not base_dir.strip():
        raise ValueError(
            "PlanTasks needs a base_dir: the directory of its list in the backend, one for each "
            "session, such as 'plans/session-1'."
        )
    if "\0" in base_dir or ".." in base_dir.split("/"):
        raise ValueError(f"The base_dir {base_dir!r} is outside the backend; use one inside it.")
    if language is not None and language not in get_args(Language):
        known = ", ".join(get_args(Language))
        raise ValueError(f"language {language!r} is not supported; use one of {known}.")
    if reminder_turns is not None and reminder_turns < 1:
        raise ValueError("reminder_turns must be at least 1, or None to disable reminders.")

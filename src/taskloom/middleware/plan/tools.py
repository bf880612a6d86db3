"""The four tools: TaskCreate, TaskGet, TaskUpdate, TaskList."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct

from taskloom.agent import Tool, ToolInfo, ToolKind, send_event
from taskloom.agent.tools.schema import check_struct
from taskloom.errors import StorageError
from taskloom.middleware.plan.arguments import (
    CreateArguments,
    GetArguments,
    ListArguments,
    UpdateArguments,
    create_schema,
    get_schema,
    list_schema,
    update_schema,
)
from taskloom.middleware.plan.decide import (
    PlanRefusedError,
    Update,
    check_metadata,
    check_status,
    decide_delete,
    decide_update,
    find,
)
from taskloom.middleware.plan.events import PlanChanged
from taskloom.middleware.plan.item import PlanItem
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.render import show_list, show_task
from taskloom.middleware.plan.store import PlanStore
from taskloom.middleware.plan.tasks import Change, Tasks

_A = TypeVar("_A", bound=Struct)


class PlanTools(Struct, frozen=True, kw_only=True):
    """What the tools work on, and by which rules."""

    store: PlanStore
    texts: PlanTexts
    enforce_order: bool
    keep_completed: bool

    def tools(self) -> list[Tool]:
        """Return the four, in the order the model is told of them."""
        texts = self.texts
        return [
            _tool("TaskCreate", texts.create, create_schema(texts), CreateArguments, self.create),
            _tool("TaskGet", texts.get, get_schema(texts), GetArguments, self.get, again=True),
            _tool("TaskUpdate", texts.update, update_schema(texts), UpdateArguments, self.update),
            _tool("TaskList", texts.list, list_schema(), ListArguments, self.list, again=True),
        ]

    async def create(self, wanted: CreateArguments) -> str:
        """Add a task."""
        for field in ("subject", "description"):
            if not getattr(wanted, field).strip():
                raise PlanRefusedError(self.texts.empty.format(field=field))
        check_metadata(wanted.metadata, self.texts)

        def make(id_: str) -> PlanItem:
            return PlanItem(
                id=id_,
                subject=wanted.subject,
                description=wanted.description,
                active_form=wanted.active_form or "",
                metadata={
                    key: value
                    for key, value in (wanted.metadata or {}).items()
                    if value is not None
                },
            )

        with self._explained():
            async with self.store.turn():
                item = await self.store.add(make)
        await self._tell()
        return self.texts.created.format(id=item.id, subject=item.subject)

    async def get(self, wanted: GetArguments) -> str:
        """Read a task."""
        with self._explained():
            async with self.store.turn(wanted.task_id) as tasks:
                return show_task(find(tasks, wanted.task_id, self.texts), self.texts)

    async def update(self, wanted: UpdateArguments) -> str:
        """Change a task, or remove it."""
        check_status(wanted.status, self.texts)
        check_metadata(wanted.metadata, self.texts)
        if wanted.status == "deleted":
            return await self._delete(wanted.task_id)
        update = await self._update(wanted)
        if not update.fields:
            return self.texts.unchanged.format(id=wanted.task_id)
        answer = self.texts.updated.format(id=wanted.task_id, fields=", ".join(update.fields))
        if update.finished:
            word = self.texts.finished if self.keep_completed else self.texts.cleared
            return f"{answer}\n{word}"
        return answer

    async def list(self, _wanted: ListArguments) -> str:
        """Show all tasks."""
        with self._explained():
            async with self.store.turn(everything=True) as tasks:
                return show_list(tasks, self.texts)

    async def _update(self, wanted: UpdateArguments) -> Update:
        with self._explained():
            async with self.store.turn(wanted.task_id, *wanted.added, *wanted.taken_away) as tasks:
                item = tasks.items.get(wanted.task_id)
                if wanted.status and item:
                    await self.store.look_at(*item.blocked_by)
                update = self._decide(tasks, wanted)
                if update.finished:
                    # The end of a list removes it: decide on all that is really there.
                    await self.store.survey()
                    update = self._decide(tasks, wanted)
                after = {**tasks.items, **update.change.puts} if update.finished else {}
                await self.store.commit(self._change(tasks, update))
                revision = self.store.revision
        if update.finished:
            # Shown complete once more, though it may be cleared already.
            await send_event(PlanChanged(tuple(after.values()), revision, finished=True))
        elif update.change.puts:
            await self._tell()
        return update

    def _change(self, tasks: Tasks, update: Update) -> Change:
        if update.finished and not self.keep_completed:
            return Change({}, frozenset(tasks.items))
        return update.change

    def _decide(self, tasks: Tasks, wanted: UpdateArguments) -> Update:
        return decide_update(tasks, wanted, self.texts, enforce_order=self.enforce_order)

    async def _delete(self, id_: str) -> str:
        with self._explained():
            async with self.store.turn(id_) as tasks:
                await self.store.commit(decide_delete(tasks, id_, self.texts))
        await self._tell()
        return self.texts.deleted.format(id=id_)

    async def _tell(self) -> None:
        """Tell the run's listener how the list is now; not in a turn, as a listener may be slow."""
        await send_event(PlanChanged(self.store.tasks.snapshot(), self.store.revision))

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Say what a failure means to one who wants to go on working."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise PlanRefusedError(self.texts.not_text) from error
        except OSError as error:
            raise StorageError(self.texts.storage.format(reason=str(error).rstrip("."))) from error


def _tool(
    name: str,
    description: str,
    schema: dict[str, Any],
    arguments: type[_A],
    function: Callable[[_A], Awaitable[str]],
    *,
    again: bool = False,
) -> Tool:
    async def run(checked: dict[str, Any]) -> str:
        return await function(arguments(**checked))

    info = ToolInfo(name, description, schema)
    return Tool(info, ToolKind.TEXT, check_struct(arguments), run, idempotent=again)

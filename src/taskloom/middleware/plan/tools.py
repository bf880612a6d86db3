"""The four tools: TaskCreate, TaskGet, TaskUpdate, TaskList."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct

from taskloom.agent import Tool, ToolInfo, ToolKind, send_event
from taskloom.agent.tools import check_struct
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
from taskloom.middleware.plan.item import PlanChanged, PlanItem
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.render import render_list, render_task
from taskloom.middleware.plan.store import PlanStore
from taskloom.middleware.plan.tasks import Change, Tasks

_A = TypeVar("_A", bound=Struct)


class PlanTools(Struct, frozen=True, kw_only=True):
    """The four tools over one store."""

    store: PlanStore
    texts: PlanTexts
    enforce_order: bool
    keep_completed: bool

    def tools(self) -> list[Tool]:
        """Return the four tools in the order the model sees them."""
        texts = self.texts
        return [
            _tool("TaskCreate", texts.create, create_schema(texts), CreateArguments, self.create),
            _tool("TaskGet", texts.get, get_schema(texts), GetArguments, self.get, idempotent=True),
            _tool("TaskUpdate", texts.update, update_schema(texts), UpdateArguments, self.update),
            _tool("TaskList", texts.list, list_schema(), ListArguments, self.list, idempotent=True),
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

        with self._explain_errors():
            async with self.store.locked():
                item = await self.store.add(make)
        await self._publish()
        return self.texts.created.format(id=item.id, subject=item.subject)

    async def get(self, wanted: GetArguments) -> str:
        """Read a task."""
        with self._explain_errors():
            async with self.store.locked(wanted.task_id) as tasks:
                return render_task(find(tasks, wanted.task_id, self.texts), self.texts)

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
            note = self.texts.finished if self.keep_completed else self.texts.cleared
            return f"{answer}\n{note}"
        return answer

    async def list(self, _wanted: ListArguments) -> str:
        """Show all tasks."""
        with self._explain_errors():
            async with self.store.locked(check_all=True) as tasks:
                return render_list(tasks, self.texts)

    async def _update(self, wanted: UpdateArguments) -> Update:
        with self._explain_errors():
            async with self.store.locked(
                wanted.task_id, *wanted.added_ids, *wanted.removed_ids
            ) as tasks:
                item = tasks.items.get(wanted.task_id)
                if wanted.status and item:
                    await self.store.recheck(*item.blocked_by)
                update = self._decide(tasks, wanted)
                if update.finished:
                    # A finished list is removed, so decide again on what the files hold now.
                    await self.store.recheck_all()
                    update = self._decide(tasks, wanted)
                after = {**tasks.items, **update.change.puts} if update.finished else {}
                await self.store.commit(self._change(tasks, update))
                revision = self.store.revision
        if update.finished:
            # Listeners get the completed tasks, though the files may be gone already.
            await send_event(PlanChanged(tuple(after.values()), revision, finished=True))
        elif update.change.puts:
            await self._publish()
        return update

    def _change(self, tasks: Tasks, update: Update) -> Change:
        if update.finished and not self.keep_completed:
            return Change({}, frozenset(tasks.items))
        return update.change

    def _decide(self, tasks: Tasks, wanted: UpdateArguments) -> Update:
        return decide_update(tasks, wanted, self.texts, enforce_order=self.enforce_order)

    async def _delete(self, id_: str) -> str:
        with self._explain_errors():
            async with self.store.locked(id_) as tasks:
                await self.store.commit(decide_delete(tasks, id_, self.texts))
        await self._publish()
        return self.texts.deleted.format(id=id_)

    async def _publish(self) -> None:
        """Send the changed plan as an event; without the lock, as a listener may be slow."""
        await send_event(PlanChanged(self.store.tasks.snapshot(), self.store.revision))

    @contextmanager
    def _explain_errors(self) -> Generator[None]:
        """Turn failures into errors whose messages tell the model what to do."""
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
    idempotent: bool = False,
) -> Tool:
    async def run(checked: dict[str, Any]) -> str:
        return await function(arguments(**checked))

    info = ToolInfo(name, description, schema)
    return Tool(info, ToolKind.TEXT, check_struct(arguments), run, idempotent=idempotent)

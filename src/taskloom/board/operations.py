"""The operations of one update: classes in Python, objects in the log.

`parse` alone reads them, from a model's call and from a line of the log; `dump` alone writes them.
A field that was not sent is absent in both: absent is not null.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import ClassVar, Final, TypeAlias, cast

from taskloom.board import validation
from taskloom.board.rules import Rules
from taskloom.board.status import TaskStatus
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.ids import PoolId, StepId


@define(frozen=True, kw_only=True)
class NewStep:
    """A step to add. The board sets its status."""

    step_id: StepId
    title: str
    summary: str = ""
    depends_on_step_ids: tuple[StepId, ...] = ()
    required: bool = True
    worker_pool_id: PoolId | None = None
    metadata: JsonData = None
    """A JSON object for its worker, in a form that a program reads."""


@define(frozen=True, kw_only=True)
class UpdateTask:
    """Change the Task's title or summary, block it, or unblock it (`status=PENDING`)."""

    op: ClassVar[str] = "update_task"
    title: str | None = None
    summary: str | None = None
    status: TaskStatus | None = None
    reason: str | None = None


@define(frozen=True, kw_only=True)
class AddStep:
    """Add a step at the end of the plan."""

    op: ClassVar[str] = "add_step"
    step: NewStep
    reason: str | None = None


@define(frozen=True, kw_only=True)
class UpdateFields:
    """What `UpdateStepContent` may change; None leaves it as it is."""

    title: str | None = None
    summary: str | None = None
    depends_on_step_ids: tuple[StepId, ...] | None = None
    required: bool | None = None
    worker_pool_id: PoolId | None = None
    metadata: JsonData = None


@define(frozen=True, kw_only=True)
class UpdateStepContent:
    """Change a step's text, dependencies, pool or required flag."""

    op: ClassVar[str] = "update_step"
    step_id: StepId
    fields: UpdateFields
    reason: str | None = None


@define(frozen=True, kw_only=True)
class DeleteStep:
    """Delete a pending, ready or cancelled step that nothing depends on."""

    op: ClassVar[str] = "delete_step"
    step_id: StepId
    reason: str | None = None


@define(frozen=True, kw_only=True)
class AddDependency:
    """Make a step depend on another."""

    op: ClassVar[str] = "add_dependency"
    step_id: StepId
    depends_on_step_id: StepId
    reason: str | None = None


@define(frozen=True, kw_only=True)
class RemoveDependency:
    """Remove a dependency of a step."""

    op: ClassVar[str] = "remove_dependency"
    step_id: StepId
    depends_on_step_id: StepId
    reason: str | None = None


@define(frozen=True, kw_only=True)
class CancelStep:
    """Cancel a pending or ready step; that is final."""

    op: ClassVar[str] = "cancel_step"
    step_id: StepId
    reason: str | None = None


@define(frozen=True, kw_only=True)
class ReopenStep:
    """Return a blocked or failed step to the plan."""

    op: ClassVar[str] = "reopen_step"
    step_id: StepId
    reason: str | None = None


Operation: TypeAlias = (
    UpdateTask
    | AddStep
    | UpdateStepContent
    | DeleteStep
    | AddDependency
    | RemoveDependency
    | CancelStep
    | ReopenStep
)
"""One change of an `UpdateBoard`."""

OPERATION_NAMES: Final = (
    "update_task",
    "add_step",
    "update_step",
    "delete_step",
    "add_dependency",
    "remove_dependency",
    "cancel_step",
    "reopen_step",
)
"""The names of the operations, as `op` has them."""

STEP_FIELDS: Final = (
    "title",
    "summary",
    "depends_on_step_ids",
    "required",
    "worker_pool_id",
    "metadata",
)

_ANY_FIELD: Final = (
    "title",
    "summary",
    "status",
    "reason",
    "step",
    "step_id",
    "fields",
    "depends_on_step_id",
)
"""The fields of all operations; each parser accepts some of them."""


def parse(value: object, path: str, rules: Rules) -> Operation:
    """Parse one operation."""
    given = validation.fields(value, path, required=("op",), optional=_ANY_FIELD)
    name = validation.one_of(given["op"], f"{path}.op", OPERATION_NAMES)
    return _PARSERS[name](value, path, rules)


def parse_step(value: object, path: str, rules: Rules) -> NewStep:
    """Parse a step to add."""
    given = validation.fields(value, path, required=("step_id", "title"), optional=STEP_FIELDS[1:])
    pool = given.get("worker_pool_id")
    return NewStep(
        step_id=validation.safe_id(given["step_id"], f"{path}.step_id"),
        title=_title(given["title"], path, rules),
        summary=_summary(given.get("summary", ""), path, rules),
        depends_on_step_ids=_dependencies(given.get("depends_on_step_ids", ()), path, rules),
        required=validation.flag(given.get("required", True), f"{path}.required"),
        worker_pool_id=None if pool is None else _pool(pool, path),
        metadata=_metadata(given.get("metadata"), path, rules),
    )


def trimmed(raw: Mapping[str, object]) -> dict[str, object] | None:
    """Return a recorded operation without fields of later versions; None if nothing is left."""
    known = {name: value for name, value in raw.items() if name == "op" or name in _ANY_FIELD}
    for name, names in (("step", ("step_id", *STEP_FIELDS)), ("fields", STEP_FIELDS)):
        inner = known.get(name)
        if isinstance(inner, Mapping):
            found = cast("Mapping[str, object]", inner)
            known[name] = {key: value for key, value in found.items() if key in names}
    changes = known.keys() - {"op", "step_id", "reason"}
    is_content = known.get("op") in ("update_task", "update_step")
    return None if is_content and not any(known[name] != {} for name in changes) else known


def dump(operation: Operation) -> dict[str, object]:
    """Return one operation as JSON, without the fields that were not sent."""
    raw: dict[str, object] = {"op": operation.op}
    for item in fields(operation):
        value = getattr(operation, item.name)
        if isinstance(value, NewStep):
            raw[item.name] = dump_step(value)
        elif isinstance(value, UpdateFields):
            raw[item.name] = _present(value)
        elif value is not None:
            raw[item.name] = value
    return raw


def dump_step(step: NewStep) -> dict[str, object]:
    """Return a new step as JSON, without the fields that have their default."""
    raw: dict[str, object] = {"step_id": step.step_id, "title": step.title}
    if step.summary:
        raw["summary"] = step.summary
    if step.depends_on_step_ids:
        raw["depends_on_step_ids"] = step.depends_on_step_ids
    if step.required is not True:
        raw["required"] = step.required
    if step.worker_pool_id is not None:
        raw["worker_pool_id"] = step.worker_pool_id
    if step.metadata is not None:
        raw["metadata"] = step.metadata
    return raw


def _present(value: UpdateFields) -> dict[str, object]:
    named = ((item.name, getattr(value, item.name)) for item in fields(value))
    return {name: given for name, given in named if given is not None}


def _update_task(value: object, path: str, rules: Rules) -> Operation:
    given = validation.fields(
        value, path, required=("op",), optional=("title", "summary", "status", "reason")
    )
    status = given.get("status")
    if status is not None:
        status = TaskStatus(validation.one_of(status, f"{path}.status", ("blocked", "pending")))
    if status is None and not given.keys() & {"title", "summary"}:
        validation.refuse(path, "changes nothing: give title, summary or status.")
    return UpdateTask(
        title=_title(given["title"], path, rules) if "title" in given else None,
        summary=_summary(given["summary"], path, rules) if "summary" in given else None,
        status=status,
        reason=_reason(given, path, rules),
    )


def _add_step(value: object, path: str, rules: Rules) -> Operation:
    given = validation.fields(value, path, required=("op", "step"), optional=("reason",))
    step = parse_step(given["step"], f"{path}.step", rules)
    return AddStep(step=step, reason=_reason(given, path, rules))


def _update_step(value: object, path: str, rules: Rules) -> Operation:
    given = validation.fields(
        value, path, required=("op", "step_id", "fields"), optional=("reason",)
    )
    where = f"{path}.fields"
    new = validation.fields(given["fields"], where, required=(), optional=STEP_FIELDS)
    if not new:
        validation.refuse(where, f"changes nothing: give one of {', '.join(STEP_FIELDS)}.")
    return UpdateStepContent(
        step_id=validation.safe_id(given["step_id"], f"{path}.step_id"),
        fields=UpdateFields(
            title=_title(new["title"], where, rules) if "title" in new else None,
            summary=_summary(new["summary"], where, rules) if "summary" in new else None,
            depends_on_step_ids=_dependencies(new["depends_on_step_ids"], where, rules)
            if "depends_on_step_ids" in new
            else None,
            required=validation.flag(new["required"], f"{where}.required")
            if "required" in new
            else None,
            worker_pool_id=_pool(new["worker_pool_id"], where) if "worker_pool_id" in new else None,
            metadata=_metadata(new.get("metadata"), where, rules),
        ),
        reason=_reason(given, path, rules),
    )


def _dependency(value: object, path: str, rules: Rules) -> Operation:
    given = validation.fields(
        value, path, required=("op", "step_id", "depends_on_step_id"), optional=("reason",)
    )
    kind = AddDependency if given["op"] == AddDependency.op else RemoveDependency
    return kind(
        step_id=validation.safe_id(given["step_id"], f"{path}.step_id"),
        depends_on_step_id=validation.safe_id(
            given["depends_on_step_id"], f"{path}.depends_on_step_id"
        ),
        reason=_reason(given, path, rules),
    )


def _status_of_step(value: object, path: str, rules: Rules) -> Operation:
    given = validation.fields(value, path, required=("op", "step_id"), optional=("reason",))
    kinds: Mapping[object, type[DeleteStep | CancelStep | ReopenStep]] = {
        DeleteStep.op: DeleteStep,
        CancelStep.op: CancelStep,
        ReopenStep.op: ReopenStep,
    }
    return kinds[given["op"]](
        step_id=validation.safe_id(given["step_id"], f"{path}.step_id"),
        reason=_reason(given, path, rules),
    )


_PARSERS: Final[Mapping[str, Callable[[object, str, Rules], Operation]]] = {
    UpdateTask.op: _update_task,
    AddStep.op: _add_step,
    UpdateStepContent.op: _update_step,
    DeleteStep.op: _status_of_step,
    AddDependency.op: _dependency,
    RemoveDependency.op: _dependency,
    CancelStep.op: _status_of_step,
    ReopenStep.op: _status_of_step,
}


def _title(value: object, path: str, rules: Rules) -> str:
    return validation.text(value, f"{path}.title", most_bytes=rules.title_bytes_max, empty=False)


def _summary(value: object, path: str, rules: Rules) -> str:
    return validation.text(value, f"{path}.summary", most_bytes=rules.summary_bytes_max)


def _dependencies(value: object, path: str, rules: Rules) -> tuple[StepId, ...]:
    if value == ():
        return ()
    return validation.ids(value, f"{path}.depends_on_step_ids", most=rules.dependencies_max)


def _pool(value: object, path: str) -> PoolId:
    return validation.safe_id(value, f"{path}.worker_pool_id")


def _metadata(value: object, path: str, rules: Rules) -> JsonData:
    if value is None:
        return None
    where = f"{path}.metadata"
    if not isinstance(value, Mapping):
        validation.refuse(where, f"must be an object, not {validation.kind(value)}.")
    found = cast("Mapping[object, object]", value)
    return validation.json_data(found, where, most_bytes=rules.data_bytes_max)


def _reason(given: Mapping[str, object], path: str, rules: Rules) -> str | None:
    return validation.optional_text(
        given.get("reason"), f"{path}.reason", most_bytes=rules.summary_bytes_max
    )

"""The arguments of the four tools: types that validate them, and schemas for the model.

The schemas are not derived from the types: null is accepted for an optional argument, because
models send it, but describing that would cost tokens in every request.
"""

from typing import Any, Final

from msgspec import Struct

from taskloom.middleware.plan.plan_texts import PlanTexts

STATUSES: Final = ("pending", "in_progress", "completed", "deleted")


class CreateArguments(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of TaskCreate."""

    subject: str
    description: str
    active_form: str | None = None
    metadata: dict[str, Any] | None = None


class GetArguments(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of TaskGet."""

    task_id: str


class UpdateArguments(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of TaskUpdate."""

    task_id: str
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    status: str | None = None
    add_blocks: list[str] | None = None
    add_blocked_by: list[str] | None = None
    remove_blocks: list[str] | None = None
    remove_blocked_by: list[str] | None = None
    owner: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def added_ids(self) -> list[str]:
        """The other ends of the edges to add."""
        return [*(self.add_blocks or ()), *(self.add_blocked_by or ())]

    @property
    def removed_ids(self) -> list[str]:
        """The other ends of the edges to remove."""
        return [*(self.remove_blocks or ()), *(self.remove_blocked_by or ())]


class ListArguments(Struct, frozen=True, kw_only=True):
    """TaskList has no arguments; whatever a model sends is ignored."""


def create_schema(texts: PlanTexts) -> dict[str, Any]:
    """Return the schema of TaskCreate."""
    return _schema(
        ("subject", "description"),
        subject=_text(texts.subject),
        description=_text(texts.description),
        activeForm=_text(texts.active_form),
        metadata={"type": "object", "description": texts.metadata},
    )


def get_schema(texts: PlanTexts) -> dict[str, Any]:
    """Return the schema of TaskGet."""
    return _schema(("taskId",), taskId=_text(texts.task_id))


def update_schema(texts: PlanTexts) -> dict[str, Any]:
    """Return the schema of TaskUpdate."""
    return _schema(
        ("taskId",),
        taskId=_text(texts.task_id),
        subject=_text(texts.new_subject),
        description=_text(texts.new_description),
        activeForm=_text(texts.new_active_form),
        status={"type": "string", "enum": list(STATUSES), "description": texts.status},
        addBlocks=_texts(texts.add_blocks),
        addBlockedBy=_texts(texts.add_blocked_by),
        removeBlocks=_texts(texts.remove_blocks),
        removeBlockedBy=_texts(texts.remove_blocked_by),
        owner=_text(texts.owner),
        metadata={"type": "object", "description": texts.new_metadata},
    )


def list_schema() -> dict[str, Any]:
    """Return the schema of TaskList."""
    return {"type": "object", "properties": {}}


def _schema(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}

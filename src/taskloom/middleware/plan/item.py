"""A task of a plan, and its file: one line of JSON in the form of the Go original.

What a file holds beyond the known fields is kept, so that rewriting loses nothing. Files are
read generously: lists may be null or missing, and a status that is none stays visible as it is,
so that the model can set it right.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct, structs

Status: TypeAlias = Literal["pending", "in_progress", "completed"]

_ID: Final = re.compile(r"[0-9]{1,18}")
"""Eighteen digits fit a 64-bit number, which other readers of the files count with."""
_FILE: Final = re.compile(rf"({_ID.pattern})\.json")
_KNOWN: Final = (
    *("id", "subject", "description", "status", "blocks", "blockedBy"),
    *("activeForm", "owner", "metadata"),
)


class PlanItem(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One task of a plan. `blocks` and `blocked_by` are ids; `extra` is what others wrote."""

    id: str
    subject: str
    description: str = ""
    status: str = "pending"
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    active_form: str = ""
    owner: str = ""
    metadata: dict[str, Any] = {}
    extra: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do."""
        return self.status != "completed"

    def replace(self, **changes: Any) -> "PlanItem":
        """Return this task with some fields changed."""
        return structs.replace(self, **changes)


def is_id(text: str) -> bool:
    """Tell whether a text can be the id of a task."""
    return _ID.fullmatch(text) is not None


def order(id_: str) -> tuple[int, str]:
    """Return what ids are sorted by: their number."""
    return int(id_), id_


def id_of(path: str) -> str:
    """Return the id of the task whose file this is; empty if it is no task's file."""
    found = _FILE.fullmatch(path.rpartition("/")[2])
    return found[1] if found else ""


def to_line(item: PlanItem) -> str:
    """Return the content of a task's file.

    Raises:
        UnicodeEncodeError: a text is not Unicode that JSON could hold.
    """
    fields: dict[str, Any] = {
        "id": item.id,
        "subject": item.subject,
        "description": item.description,
        "status": item.status,
        "blocks": item.blocks,
        "blockedBy": item.blocked_by,
    }
    if item.active_form:
        fields["activeForm"] = item.active_form
    if item.owner:
        fields["owner"] = item.owner
    if item.metadata:
        fields["metadata"] = item.metadata
    return msgspec.json.encode({**fields, **item.extra}).decode()


def from_line(text: str, id_: str) -> PlanItem:
    """Return the task that a file holds; its name says the id.

    Raises:
        ValueError: it holds none.
    """
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"it is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - what is wrong is the content
    fields = cast("dict[str, Any]", found)
    return PlanItem(
        id=id_,
        subject=_text(fields, "subject"),
        description=_text(fields, "description"),
        status=_text(fields, "status") or "pending",
        blocks=_ids(fields, "blocks"),
        blocked_by=_ids(fields, "blockedBy"),
        active_form=_text(fields, "activeForm"),
        owner=_text(fields, "owner"),
        metadata=_object(fields, "metadata"),
        extra={name: value for name, value in fields.items() if name not in _KNOWN},
    )


def unique(ids: Iterable[str]) -> tuple[str, ...]:
    """Return ids without repetition, in the order they came."""
    return tuple(dict.fromkeys(ids))


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is not a text")  # noqa: TRY004 - what is wrong is the content
    return value


def _ids(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value: object = fields.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):  # pyright: ignore[reportUnknownVariableType]  # JSON: any values
        raise ValueError(f"`{name}` is not a list of ids")
    return unique(cast("list[str]", value))


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value: object = fields.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"`{name}` is not an object")  # noqa: TRY004 - what is wrong is the content
    return cast("dict[str, Any]", value)

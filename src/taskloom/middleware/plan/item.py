"""A task of a plan, its file format, and the event that carries a changed plan.

A file is one line of JSON in the format of eino's plantask. Unknown fields are kept, so that
rewriting a file loses nothing. Lists may be null or missing. An unknown status is kept as it is,
so that the model sees it and can correct it.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct, structs

Status: TypeAlias = Literal["pending", "in_progress", "completed"]

_ID: Final = re.compile(r"[0-9]{1,18}")
"""Eighteen digits fit the 64-bit integer that other programs use for ids."""
_FILE: Final = re.compile(rf"({_ID.pattern})\.json")
_KNOWN: Final = (
    *("id", "subject", "description", "status", "blocks", "blockedBy"),
    *("activeForm", "owner", "metadata"),
)


class PlanItem(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One task of a plan. `blocks` and `blocked_by` are ids; `extra` has unknown fields."""

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
        """Whether the task is not completed."""
        return self.status != "completed"

    def replace(self, **changes: Any) -> "PlanItem":
        """Return this task with some fields changed."""
        return structs.replace(self, **changes)


class PlanChanged(Struct, frozen=True):
    """The data of a `CustomEvent`: the complete plan after a change.

    Show `active_form` for tasks in progress. Of two events, the one with the higher `revision` is
    the later. `finished` is set when the last open task is completed; the list may be empty next.
    """

    tasks: tuple[PlanItem, ...]
    revision: int
    finished: bool = False


def is_id(text: str) -> bool:
    """Return whether a text can be the id of a task."""
    return _ID.fullmatch(text) is not None


def id_order(id_: str) -> tuple[int, str]:
    """Return the sort key of an id: its number."""
    return int(id_), id_


def id_of_path(path: str) -> str:
    """Return the id in a task file's path; empty for any other file."""
    found = _FILE.fullmatch(path.rpartition("/")[2])
    return found[1] if found else ""


def encode_item(item: PlanItem) -> str:
    """Return the content of a task's file.

    Raises:
        UnicodeEncodeError: a text has a lone surrogate, which JSON cannot represent.
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


def decode_item(text: str, id_: str) -> PlanItem:
    """Return the task of a file; the id comes from the file's name.

    Raises:
        ValueError: the content is not a task.
    """
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"it is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the content is wrong, not a type
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
    """Return ids without duplicates, in their order."""
    return tuple(dict.fromkeys(ids))


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` is not a text")  # noqa: TRY004 - the content is wrong, not a type
    return value


def _ids(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value: object = fields.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):  # pyright: ignore[reportUnknownVariableType]  # JSON: any values
        raise ValueError(f"`{name}` is not a list of ids")
    return unique(cast("list[str]", value))


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value: object = fields.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"`{name}` is not an object")  # noqa: TRY004 - the content is wrong, not a type
    return cast("dict[str, Any]", value)

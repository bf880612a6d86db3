"""The JSON schemas of the Task tools, strict: every field is named, and no other is accepted."""

from collections.abc import Mapping
from typing import Any, Final

from taskloom.board import OPERATION_NAMES as OPERATIONS
from taskloom.board import StepStatus, TaskStatus

Schema = dict[str, Any]

STRING: Final[Schema] = {"type": "string"}
TEXT: Final[Schema] = {"type": ["string", "null"]}
FLAG: Final[Schema] = {"type": ["boolean", "null"]}
NAMES: Final[Schema] = {"type": ["array", "null"], "items": {"type": "string"}}
COUNT: Final[Schema] = {"type": ["integer", "null"]}
OBJECT: Final[Schema] = {"type": ["object", "null"]}


def closed(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_STEP: Final = closed(
    {
        "step_id": STRING,
        "title": STRING,
        "summary": STRING,
        "depends_on_step_ids": {"type": "array", "items": STRING},
        "required": {"type": "boolean"},
        "worker_pool_id": TEXT,
    },
    ("step_id", "title"),
)

_FIELDS: Final = closed(
    {
        "title": STRING,
        "summary": STRING,
        "depends_on_step_ids": {"type": "array", "items": STRING},
        "required": {"type": "boolean"},
        "worker_pool_id": STRING,
    }
)

_OPERATION: Final = closed(
    {
        "op": {
            "type": "string",
            "enum": list(OPERATIONS),
        },
        "step_id": STRING,
        "depends_on_step_id": STRING,
        "step": _STEP,
        "fields": _FIELDS,
        "title": STRING,
        "summary": STRING,
        "status": {"type": "string", "enum": ["blocked", "pending"]},
        "reason": TEXT,
    },
    ("op",),
)

_STATUSES: Final = [status.value for status in StepStatus]
_SETTABLE: Final = [each for each in _STATUSES if each not in ("ready", "claimed")]
_TASK_STATUSES: Final = [status.value for status in TaskStatus]

SCHEMAS: Final[Mapping[str, Schema]] = {
    "task_template": closed({"goal": TEXT}),
    "task_create": closed(
        {
            "task_id": STRING,
            "wal_name": STRING,
            "title": STRING,
            "summary": STRING,
            "steps": {"type": "array", "items": _STEP},
        },
        ("task_id", "wal_name", "title", "summary", "steps"),
    ),
    "task_get": closed({"task_id": STRING, "include_terminal_steps": FLAG}, ("task_id",)),
    "task_list": closed(
        {
            "status": {"type": ["string", "null"], "enum": [*_TASK_STATUSES, None]},
            "include_terminal": FLAG,
            "limit": COUNT,
            "offset": COUNT,
        }
    ),
    "task_update": closed(
        {"task_id": STRING, "operations": {"type": "array", "items": _OPERATION}},
        ("task_id", "operations"),
    ),
    "task_query_steps": closed(
        {
            "task_id": STRING,
            "statuses": {
                "type": ["array", "null"],
                "items": {"type": "string", "enum": _STATUSES},
            },
            "worker_pool_id": TEXT,
            "claimed_by_agent_id": TEXT,
            "include_terminal_steps": FLAG,
            "limit": COUNT,
            "offset": COUNT,
        },
        ("task_id",),
    ),
    "task_claim_step": closed({"task_id": STRING, "step_id": STRING}, ("task_id", "step_id")),
    "task_update_step": closed(
        {
            "task_id": STRING,
            "step_id": STRING,
            "status": {"type": ["string", "null"], "enum": [*_SETTABLE, None]},
            "result_summary": TEXT,
            "artifact_ids": NAMES,
            "reason": TEXT,
        },
        ("task_id", "step_id"),
    ),
    "task_complete": closed({"task_id": STRING, "result_summary": TEXT}, ("task_id",)),
    "task_fail": closed({"task_id": STRING, "reason": TEXT}, ("task_id",)),
    "task_cancel": closed({"task_id": STRING, "reason": TEXT}, ("task_id",)),
    "list_workers": closed({"worker_pool_id": TEXT}),
    "dispatch_worker": closed(
        {
            "task_id": STRING,
            "instruction": STRING,
            "worker_pool_id": TEXT,
            "worker_agent_id": TEXT,
            "allowed_step_ids": NAMES,
            "context": TEXT,
            "constraints": OBJECT,
            "allowed_tools": NAMES,
            "expected_output_schema": OBJECT,
            "timeout_ms": COUNT,
            "background": FLAG,
        },
        ("task_id", "instruction"),
    ),
    "wait_workers": closed({"child_run_ids": NAMES, "timeout_ms": COUNT}),
    "cancel_worker": closed({"child_run_id": STRING, "reason": TEXT}, ("child_run_id",)),
}
"""By tool, without the `agent.` in front."""

"""The request of a dispatch, with every argument checked."""

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from taskloom.board import validation
from taskloom.ids import AgentId, PoolId, StepId, TaskId

_TEXT_BYTES_MAX: Final = 200_000
_STEPS_MAX: Final = 10_000
_TIMEOUT_MS_MAX: Final = 7 * 24 * 3600 * 1000
_OPTIONAL: Final = (
    "worker_pool_id",
    "worker_agent_id",
    "allowed_step_ids",
    "context",
    "constraints",
    "allowed_tools",
    "expected_output_schema",
    "timeout_ms",
    "background",
)


class DispatchRequest(Struct, frozen=True, kw_only=True):
    """A request to run one worker on a Task."""

    task_id: TaskId
    instruction: str
    worker_pool_id: PoolId | None = None
    worker_agent_id: AgentId | None = None
    allowed_step_ids: tuple[StepId, ...] | None = None
    context: str = ""
    constraints: Mapping[str, Any] | None = None
    allowed_tools: tuple[str, ...] | None = None
    expected_output_schema: Mapping[str, Any] | None = None
    timeout_ms: int | None = None
    background: bool = False


def read_dispatch_request(value: object) -> DispatchRequest:
    """Return the request of a model's tool call.

    Raises:
        RefusedError: an argument is missing, unknown or of the wrong type.
    """
    given = validation.fields(value, "$", required=("task_id", "instruction"), optional=_OPTIONAL)
    # Models send null for a field they leave out.
    given = {name: item for name, item in given.items() if item is not None}
    allowed = None
    if "allowed_step_ids" in given:
        ids = validation.items(given["allowed_step_ids"], "$.allowed_step_ids", most=_STEPS_MAX)
        if not ids:
            validation.refuse(
                "$.allowed_step_ids", "is empty: leave it out for no limit, or name the steps."
            )
        allowed = tuple(
            dict.fromkeys(
                validation.safe_id(one, f"$.allowed_step_ids[{at}]") for at, one in enumerate(ids)
            )
        )
    return DispatchRequest(
        task_id=_required_text(given, "task_id"),
        instruction=validation.text(
            given.get("instruction"), "$.instruction", most_bytes=_TEXT_BYTES_MAX, empty=False
        ),
        worker_pool_id=_name(given, "worker_pool_id"),
        worker_agent_id=_name(given, "worker_agent_id"),
        allowed_step_ids=allowed,
        context=validation.text(given.get("context", ""), "$.context", most_bytes=_TEXT_BYTES_MAX),
        constraints=_object(given, "constraints"),
        allowed_tools=_names(given, "allowed_tools"),
        expected_output_schema=_object(given, "expected_output_schema"),
        timeout_ms=validation.number(
            given["timeout_ms"], "$.timeout_ms", least=1, most=_TIMEOUT_MS_MAX
        )
        if "timeout_ms" in given
        else None,
        background=validation.flag(given.get("background", False), "$.background"),
    )


def _required_text(given: Mapping[str, object], name: str) -> str:
    return validation.text(given.get(name), f"$.{name}", most_bytes=500, empty=False)


def _name(given: Mapping[str, object], name: str) -> str | None:
    return _required_text(given, name) if name in given else None


def _names(given: Mapping[str, object], name: str) -> tuple[str, ...] | None:
    if name not in given:
        return None
    return validation.texts(given[name], f"$.{name}", most=1_000, most_bytes=500)


def _object(given: Mapping[str, object], name: str) -> Mapping[str, Any] | None:
    value = given.get(name)
    if value is not None and not isinstance(value, Mapping):
        validation.refuse(f"$.{name}", f"must be an object, not {validation.kind(value)}.")
    return cast("Mapping[str, Any] | None", value)

"""Which method of the protocol is which of ours: parameters checked, errors put into words.

The SDK's own router hands a request's `_meta` over as keyword arguments, which lets a client
overwrite any other argument; and it lacks some routes. Here a method gets its request as one
checked object, and what the client sent as it came.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from acp.exceptions import RequestError
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from taskloom.errors import RefusedError, TaskloomError

_LOG = logging.getLogger("taskloom.acp")

Answer: TypeAlias = dict[str, Any] | None
_Request = TypeVar("_Request", bound=BaseModel)

NOT_FOUND = -32002
INTERNAL = -32603


class Method(Struct, frozen=True):
    """One method: how its parameters are read, and what answers it."""

    model: type[BaseModel]
    answer: Callable[[Any], Awaitable[Answer]]


class Router:
    """The handler that `acp.connection.Connection` asks: a table, and one place for errors."""

    def __init__(self, requests: Mapping[str, Method], notifications: Mapping[str, Method]) -> None:
        """Take both tables."""
        self._requests = requests
        self._notifications = notifications

    async def __call__(self, method: str, params: object, is_notification: bool) -> Answer:
        """Answer a request, or take a notification."""
        known = (self._notifications if is_notification else self._requests).get(method)
        if known is None:
            if is_notification:
                return None  # The protocol says to leave it.
            raise RequestError.method_not_found(method)
        try:
            return await known.answer(_read(known.model, params))
        except RequestError:
            raise
        except TaskloomError as error:
            raise to_request_error(error) from error
        except ConnectionError as error:
            raise RequestError(INTERNAL, "The client is gone.") from error
        except Exception as error:
            _LOG.exception("%s failed", method)
            raise RequestError(
                INTERNAL, f"Internal error: {type(error).__name__}: {error}"
            ) from error


def _read(model: type[_Request], params: object) -> _Request:
    try:
        return model.model_validate({} if params is None else params)
    except ValidationError as error:
        wrong = [
            {"path": ".".join(map(str, one["loc"])), "message": one["msg"]}
            for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        first = wrong[0]
        raise RequestError(
            -32602,
            f"Invalid params: {first['path'] or 'params'}: {first['message']}.",
            {"errors": wrong[:20]},
        ) from error


def to_request_error(error: TaskloomError) -> RequestError:
    """Return one of our errors as one of the protocol's: its sentence, its code in the data."""
    code = -32602 if isinstance(error, RefusedError) else INTERNAL
    sentence = " ".join(error.message.split())
    data = {"code": error.code.value}
    if sentence != error.message:
        data["details"] = error.message
    return RequestError(code, sentence, data)


def not_found(session_id: str) -> RequestError:
    """Return the error about a session that is not there."""
    shown = session_id[:128]
    return RequestError(
        NOT_FOUND,
        f"There is no session {shown!r} here. session/list shows those there are.",
        {"sessionId": shown},
    )

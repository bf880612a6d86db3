"""Routes requests to methods, checks their parameters, and turns errors into JSON-RPC errors.

The SDK's own router passes a request's `_meta` on as keyword arguments, with which a client could
overwrite any other argument, and lacks some routes. Here a method gets its request as one object.
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
    """One method: the model of its parameters and the function that answers it."""

    model: type[BaseModel]
    answer: Callable[[Any], Awaitable[Answer]]


class Router:
    """The handler of an `acp.connection.Connection`: a table of methods."""

    def __init__(self, requests: Mapping[str, Method], notifications: Mapping[str, Method]) -> None:
        """Take the methods that are requests and those that are notifications."""
        self._requests = requests
        self._notifications = notifications

    async def __call__(self, method: str, params: object, is_notification: bool) -> Answer:
        """Answer a request or a notification."""
        known = (self._notifications if is_notification else self._requests).get(method)
        if known is None:
            if is_notification:
                return None  # The protocol says to ignore it.
            raise RequestError.method_not_found(method)
        try:
            return await known.answer(_read(known.model, params))
        except RequestError:
            raise
        except TaskloomError as error:
            raise to_request_error(error) from error
        except ConnectionError as error:
            raise RequestError(INTERNAL, "The client has disconnected.") from error
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
    """Return a Taskloom error as a JSON-RPC error, with its code in the data."""
    code = -32602 if isinstance(error, RefusedError) else INTERNAL
    sentence = " ".join(error.message.split())
    data = {"code": error.code.value}
    if sentence != error.message:
        data["details"] = error.message
    return RequestError(code, sentence, data)


def not_found(session_id: str) -> RequestError:
    """Return the error for an unknown session."""
    shown = session_id[:128]
    return RequestError(
        NOT_FOUND,
        f"There is no session {shown!r} here. session/list returns those there are.",
        {"sessionId": shown},
    )

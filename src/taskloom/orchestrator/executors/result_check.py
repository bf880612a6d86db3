"""Whether what a worker gave back is what the dispatch asked for."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from taskloom.agent import ToolArgumentsError
from taskloom.agent.tools import check_schema

_FENCE: Final = re.compile(r"\A\s*```[a-zA-Z]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL)


class InvalidResultError(Exception):
    """The result does not fit; the message says where."""


def read_result(text: str, data: Any, schema: Mapping[str, Any]) -> Any:
    """Return the result as data that fits the schema.

    Raises:
        InvalidResultError: it does not, or it is no JSON.
    """
    value = data
    if value is None:
        fenced = _FENCE.match(text)
        try:
            value = msgspec.json.decode((fenced["body"] if fenced else text).strip())
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            if schema.get("type") == "string":
                value = text
            else:
                raise InvalidResultError(f"it is no JSON: {error}") from None
    if schema.get("type") == "string" and not isinstance(value, str):
        value = text  # A text that happens to be JSON is still a text.
    try:
        # The checker reads objects; whatever the value is, it is looked at inside one.
        check_schema({"type": "object", "properties": {"result": dict(schema)}})({"result": value})
    except ToolArgumentsError as error:
        raise InvalidResultError(str(error)) from None
    except (RecursionError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise InvalidResultError(f"the schema itself cannot be used: {error}") from None
    return value

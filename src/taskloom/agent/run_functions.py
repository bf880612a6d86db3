"""What hooks, models and tools may do inside a run: keep values, send events, ask people.

All of it finds its run by itself and is invisible to other runs. Values and questions are
plain JSON, because they outlive the process.
"""

import math
from typing import Any, TypeVar, cast

import anyio.from_thread
import msgspec

from taskloom.agent.errors import InvalidValueError, NoActiveRunError, RunInterrupt
from taskloom.agent.events import CustomEvent
from taskloom.agent.journal_entries import ValueDeleted, ValueSet
from taskloom.agent.model_texts import Language, language_of, language_or_default
from taskloom.agent.result import Interrupt
from taskloom.agent.run_context import LIVE, SCOPE, RunContext

T = TypeVar("T")


def set_value(key: str, value: Any) -> None:
    """Keep a value for the rest of the run, over interrupts and crashes too.

    A copy is kept: to change it, set it again.

    Raises:
        InvalidValueError: it is not plain JSON (None, bool, int, float, str, list, dict).
        NoActiveRunError: no run is under way.
    """
    live = _live("set_value")
    wrong = _not_plain(value, key)
    if wrong:
        raise InvalidValueError(
            f"The run-local value `{key}` cannot be kept: {wrong}. Give plain JSON data, for "
            "instance what msgspec.to_builtins makes of it.",
            key=key,
        )
    live.note(ValueSet(key, msgspec.json.decode(msgspec.json.encode(value))))


def get_value(key: str, default: T | None = None) -> Any | T | None:
    """Return a value of this run, or the default when there is none.

    Raises:
        NoActiveRunError: no run is under way.
    """
    return _live("get_value").progress.values.get(key, default)


def has_value(key: str) -> bool:
    """Tell whether this run has a value of that key."""
    return key in _live("has_value").progress.values


def delete_value(key: str) -> None:
    """Take a value away; a missing one is no error."""
    live = _live("delete_value")
    if key in live.progress.values:
        live.note(ValueDeleted(key))


async def send_event(data: Any) -> None:
    """Put a `CustomEvent` into the run's events, in order with the others.

    Waits while the reader is too far behind. From a sync tool, which runs in a thread, use
    `send_event_from_thread`.

    Raises:
        NoActiveRunError: no run is under way.
    """
    await _live("send_event").emit(CustomEvent(data))


def send_event_from_thread(data: Any) -> None:
    """Send an event from a sync tool.

    Raises:
        NoActiveRunError: no run is under way.
    """
    _live("send_event_from_thread")
    anyio.from_thread.run(send_event, data)


def interrupt(info: Any) -> Any:
    """Ask a person: stop the run with `info`, and return the answer when it is resumed.

    The first time this does not return: the run ends as `interrupted`. On resume the hook or
    tool runs again from its top, and this returns the answer; so ask before you act. An
    interrupt without an answer stops the run again.

    Raises:
        NoActiveRunError: no run is under way.
        InvalidValueError: `info` is not plain JSON.
    """
    live, scope = _live("interrupt"), SCOPE.get(None)
    if scope is None:
        raise NoActiveRunError("interrupt")
    wrong = _not_plain(info, "info")
    if wrong:
        raise InvalidValueError(f"An interrupt's information must be plain JSON: {wrong}.")
    scope.asked += 1
    id_ = f"{scope.address}#{scope.asked}"
    if id_ in live.progress.answers:
        return live.progress.answers[id_]
    raise RunInterrupt(Interrupt(id_, scope.where, info))


def run_id() -> str:
    """Return the id of the run under way."""
    return _live("run_id").progress.run_id


def run_language() -> Language:
    """Return the language of the run under way: what a middleware says to the model is in it.

    Outside of a run it is the process's.
    """
    live = LIVE.get(None)
    return language_or_default(None) if live is None else language_of(live.texts)


def call_id() -> str:
    """Return the id of the tool call under way; empty in a hook."""
    _live("call_id")
    scope = SCOPE.get(None)
    return scope.call_id if scope is not None else ""


def call_address() -> str:
    """Return what names the tool call under way and no other: the same when it is run again.

    Models repeat call ids; this one is not repeated, and survives a resume.

    Raises:
        NoActiveRunError: no tool call is under way.
    """
    live, scope = _live("call_address"), SCOPE.get(None)
    if scope is None or not scope.call_id:
        raise NoActiveRunError("call_address")
    return f"{live.progress.run_id}/{scope.address}"


def _live(function: str) -> RunContext:
    live = LIVE.get(None)
    if live is None:
        raise NoActiveRunError(function)
    return live


def _not_plain(value: object, at: str) -> str:
    """Return what about a value is not plain JSON; empty if it all is."""
    if value is None or isinstance(value, bool | int | str):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"`{at}` is {value}"
    if isinstance(value, list):
        items = [(f"{at}[{n}]", item) for n, item in enumerate(cast("list[object]", value))]
    elif isinstance(value, dict):
        pairs = cast("dict[object, object]", value)
        if any(not isinstance(key, str) for key in pairs):
            return f"`{at}` has keys that are not strings"
        items = [(f"{at}.{key}", item) for key, item in pairs.items()]
    else:
        return f"`{at}` is of type {type(value).__qualname__}"
    return next((wrong for place, item in items if (wrong := _not_plain(item, place))), "")

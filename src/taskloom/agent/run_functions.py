"""Functions for hooks, models and tools inside a run: keep values, send events, ask people.

Each finds its run through a context variable, and other runs do not see what it does. Values and
questions are plain JSON, because they outlive the process.
"""

import math
from typing import Any, TypeVar, cast

import anyio.from_thread
import msgspec

from taskloom.agent.errors import InvalidValueError, NoActiveRunError, RunInterrupt
from taskloom.agent.events import CustomEvent
from taskloom.agent.language import Language, language_or_default
from taskloom.agent.loop.journal_entries import ValueDeleted, ValueSet
from taskloom.agent.loop.run_context import CALL_SITE, CURRENT_RUN, RunContext
from taskloom.agent.result import Interrupt

T = TypeVar("T")


def set_value(key: str, value: Any) -> None:
    """Keep a value for the rest of the run; it survives interrupts and crashes.

    The run keeps a copy: to change the value, set it again.

    Raises:
        InvalidValueError: it is not plain JSON (None, bool, int, float, str, list, dict).
        NoActiveRunError: called outside of a run.
    """
    context = _context("set_value")
    wrong = _not_plain(value, key)
    if wrong:
        raise InvalidValueError(
            f"The run-local value `{key}` must be plain JSON: {wrong}. Convert it first, "
            "for instance with `msgspec.to_builtins`.",
            key=key,
        )
    context.record(ValueSet(key, msgspec.json.decode(msgspec.json.encode(value))))


def get_value(key: str, default: T | None = None) -> Any | T | None:
    """Return a value of this run, or the default.

    Raises:
        NoActiveRunError: called outside of a run.
    """
    return _context("get_value").state.values.get(key, default)


def has_value(key: str) -> bool:
    """Return whether this run has a value under this key."""
    return key in _context("has_value").state.values


def delete_value(key: str) -> None:
    """Delete a value; a missing one is not an error."""
    context = _context("delete_value")
    if key in context.state.values:
        context.record(ValueDeleted(key))


async def sync_journal() -> None:
    """Return when everything that this run has recorded is durable; at once without a journal.

    Raises:
        NoActiveRunError: called outside of a run.
    """
    await _context("sync_journal").sync()


async def send_event(data: Any) -> None:
    """Add a `CustomEvent` to the run's events, in order with the others.

    Waits while the reader lags behind. From a sync tool, which runs in a thread, use
    `send_event_from_thread`.

    Raises:
        NoActiveRunError: called outside of a run.
    """
    await _context("send_event").emit(CustomEvent(data))


def send_event_from_thread(data: Any) -> None:
    """Send an event from a sync tool.

    Raises:
        NoActiveRunError: called outside of a run.
    """
    _context("send_event_from_thread")
    anyio.from_thread.run(send_event, data)


def interrupt(info: Any) -> Any:
    """Ask a person: stop the run with `info`, and return the answer when it is resumed.

    The first call does not return: the run ends as `interrupted`. On resume the hook or tool runs
    again from its start, and this call returns the answer; so ask before you act. An interrupt
    without an answer stops the run again.

    Raises:
        NoActiveRunError: called outside of a run.
        InvalidValueError: `info` is not plain JSON.
    """
    context, site = _context("interrupt"), CALL_SITE.get(None)
    if site is None:
        raise NoActiveRunError("interrupt")
    wrong = _not_plain(info, "info")
    if wrong:
        raise InvalidValueError(f"The `info` of an interrupt must be plain JSON: {wrong}.")
    site.asked += 1
    id_ = f"{site.address}#{site.asked}"
    if id_ in context.state.answers:
        return context.state.answers[id_]
    raise RunInterrupt(Interrupt(id_, site.where, info))


def run_id() -> str:
    """Return the id of the current run."""
    return _context("run_id").state.run_id


def run_language() -> Language:
    """Return the language of the current run, or outside of a run that of the process.

    A middleware writes to the model in it.
    """
    context = CURRENT_RUN.get(None)
    return language_or_default(None) if context is None else context.language


def call_id() -> str:
    """Return the id of the current tool call; empty in a hook."""
    _context("call_id")
    site = CALL_SITE.get(None)
    return site.call_id if site is not None else ""


def call_address() -> str:
    """Return a globally unique name of the current tool call; it stays the same after a resume.

    Models repeat call ids; this name does not repeat.

    Raises:
        NoActiveRunError: called outside of a tool call.
    """
    context, site = _context("call_address"), CALL_SITE.get(None)
    if site is None or not site.call_id:
        raise NoActiveRunError("call_address")
    return f"{context.state.run_id}/{site.address}"


def _context(function: str) -> RunContext:
    context = CURRENT_RUN.get(None)
    if context is None:
        raise NoActiveRunError(function)
    return context


def _not_plain(value: object, at: str) -> str:
    """Return which part of a value is not plain JSON; empty if all of it is."""
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

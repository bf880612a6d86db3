"""Models that follow a script in a file: `open_model("script:PATH")` or `"script:PATH#name"`.

For tests, demos and work without a network, also in other processes. The reply depends on the
conversation alone and not on a counter, so a run that resumes in another process gets the right
one. `docs/guide/models.md` shows the form of the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from taskloom.agent.chat_model import ModelRequest
from taskloom.agent.errors import ModelError
from taskloom.agent.messages import Message, ToolCall
from taskloom.agent.scripted.model import Say, ScriptedModel
from taskloom.agent.scripted.templates import check_placeholders, fill, fill_text

PREFIX: Final = "script:"
_MAIN: Final = "main"
"""The script to use when a file has several and the name of none is given."""


class _Call(Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    arguments: dict[str, Any] | str = {}
    """A text is sent as it is: for a model that does not write JSON."""


class _Failure(Struct, frozen=True, forbid_unknown_fields=True):
    message: str
    kind: str = "scripted"
    retryable: bool = False


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"for_": "for"}):
    text: str = ""
    thinking: str = ""
    calls: tuple[_Call, ...] = ()
    delay_s: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    error: str | _Failure | None = None
    when: str = ""
    for_: str = ""
    script: str = ""
    """In a file of lines: the script this line belongs to."""


_Script: TypeAlias = tuple[str | _Entry, ...]


class _Rule(NamedTuple):
    entry: _Entry
    opening: re.Pattern[str] | None
    latest: re.Pattern[str] | None


def script_model(name: str) -> "ScriptFileModel":
    """Open the script that `script:PATH` or `script:PATH#name` names.

    Raises:
        ModelError: there is no such file or script, or it is malformed.
    """
    file, _, chosen = name.removeprefix(PREFIX).partition("#")
    path = Path(file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _malformed(path, f"it cannot be read: {error.strerror}") from error
    scripts = _read(path, data)
    if not chosen:
        chosen = next(iter(scripts)) if len(scripts) == 1 else _MAIN
    if chosen not in scripts:
        known = ", ".join(sorted(scripts)) or "none"
        raise _malformed(path, f"it has no script {chosen!r}; write PATH#name with one of: {known}")
    entries = (_Entry(text=each) if isinstance(each, str) else each for each in scripts[chosen])
    return ScriptFileModel(name, [_rule(path, chosen, *each) for each in enumerate(entries)])


class ScriptFileModel:
    """A `ChatModel` that follows a script in a file."""

    def __init__(self, name: str, rules: Sequence[_Rule]) -> None:
        self._name = name
        self._rules = rules

    @property
    def name(self) -> str:
        """The string it was opened with."""
        return self._name

    async def generate(self, request: ModelRequest) -> Message:
        """Return the reply for the conversation so far."""
        entry = self._choose(request.messages)
        reply = _reply(entry, request.messages)
        return await ScriptedModel([reply], name=self._name).generate(request)

    def _choose(self, messages: Sequence[Message]) -> _Entry:
        """Return the first entry whose `when` matches, else the next of those without `when`."""
        inputs = _inputs(messages)
        rules = [rule for rule in self._rules if not rule.opening or rule.opening.search(inputs[0])]
        in_order = [rule.entry for rule in rules if rule.latest is None]
        *before, now = inputs
        matching = _matching(rules, now)
        if matching is not None:
            return matching
        # A reply whose `when` matched did not use up one of the entries in order.
        index = sum(_matching(rules, earlier) is None for earlier in before)
        if index < len(in_order):
            return in_order[index]
        raise ModelError(
            f"{self._name} has no reply {index + 1} for this conversation; add one to the script.",
            kind="script_ended",
            retryable=False,
        )


def _inputs(messages: Sequence[Message]) -> list[str]:
    """Return the text before each reply, and last the text since the newest reply."""
    inputs = [""]
    for message in messages:
        if message.role == "assistant":
            inputs.append("")
        else:
            inputs[-1] += f"{message.text}\n"
    return inputs


def _matching(rules: Sequence[_Rule], text: str) -> _Entry | None:
    found = (rule.entry for rule in rules if rule.latest and rule.latest.search(text))
    return next(found, None)


def _reply(entry: _Entry, messages: Sequence[Message]) -> Say | ModelError:
    failure = entry.error
    if isinstance(failure, str):
        failure = _Failure(failure)
    if failure is not None:
        return ModelError(failure.message, kind=failure.kind, retryable=failure.retryable)
    number = sum(message.role == "assistant" for message in messages)
    calls = tuple(
        ToolCall(f"s{number}_{index}", call.tool, _arguments(call, messages))
        for index, call in enumerate(entry.calls)
    )
    text = fill_text(entry.text, messages)
    return Say(text=text, calls=calls, thinking=entry.thinking, delay_s=entry.delay_s)


def _arguments(call: _Call, messages: Sequence[Message]) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return msgspec.json.encode(fill(call.arguments, messages)).decode()


def _read(path: Path, data: bytes) -> Mapping[str, _Script]:
    try:
        if path.suffix == ".jsonl":
            return _from_lines(data)
        try:
            return {_MAIN: msgspec.json.decode(data, type=_Script)}
        except msgspec.ValidationError:
            if not data.lstrip().startswith(b"{"):
                raise
            return msgspec.json.decode(data, type=dict[str, _Script])
    except msgspec.DecodeError as error:
        raise _malformed(path, str(error)) from error


def _from_lines(data: bytes) -> Mapping[str, _Script]:
    scripts: dict[str, list[str | _Entry]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = msgspec.json.decode(line, type=str | _Entry)
        except msgspec.DecodeError as error:
            raise msgspec.DecodeError(f"line {number}: {error}") from error
        name = _MAIN if isinstance(entry, str) else entry.script or _MAIN
        scripts.setdefault(name, []).append(entry)
    return {name: tuple(entries) for name, entries in scripts.items()}


def _rule(path: Path, script: str, index: int, entry: _Entry) -> _Rule:
    for problem in _problems(entry):
        raise _malformed(path, f"{script}[{index}]: {problem}")
    return _Rule(
        entry,
        re.compile(entry.for_) if entry.for_ else None,
        re.compile(entry.when) if entry.when else None,
    )


def _problems(entry: _Entry) -> Iterator[str]:
    for key, pattern in (("for", entry.for_), ("when", entry.when)):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"`{key}` is not a regular expression: {error}"
    yield from check_placeholders(entry.text)
    for call in entry.calls:
        yield from check_placeholders(call.arguments)
    if entry.error is not None and (entry.text or entry.calls):
        yield "an entry is an `error` or a reply, not both"


def _malformed(path: Path, cause: str) -> ModelError:
    return ModelError(f"Script {path}: {cause}.", kind="configuration", retryable=False)

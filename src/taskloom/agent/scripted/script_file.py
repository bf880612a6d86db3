"""Models that follow a script in a file: `open_model("script:PATH")` or `"script:PATH#name"`.

For tests, demos and work without a network, also in other processes. What such a model answers
depends on the conversation alone and on no counter of its own, so a run that is resumed in
another process goes on rightly. `docs/guide/models.md` shows the form of the file.
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
from taskloom.agent.scripted.templates import check_blanks, fill, fill_text

PREFIX: Final = "script:"
_ONLY: Final = "main"
"""The script that is meant when a file has several and none is named."""


class _Call(Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    arguments: dict[str, Any] | str = {}
    """Text is handed over as it is, for a model that writes no JSON."""


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
    """Open the script that `script:PATH` or `script:PATH#name` means.

    Raises:
        ModelError: there is no such file or script, or it is written wrongly.
    """
    place, _, chosen = name.removeprefix(PREFIX).partition("#")
    path = Path(place)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    scripts = _read(path, data)
    if not chosen:
        chosen = next(iter(scripts)) if len(scripts) == 1 else _ONLY
    if chosen not in scripts:
        known = ", ".join(sorted(scripts)) or "none"
        raise _refused(path, f"it has no script {chosen!r}; its scripts: {known}. Write PATH#name")
    entries = (_Entry(text=each) if isinstance(each, str) else each for each in scripts[chosen])
    return ScriptFileModel(name, [_rule(path, chosen, *each) for each in enumerate(entries)])


class ScriptFileModel:
    """A `ChatModel` that answers as its script says."""

    def __init__(self, name: str, rules: Sequence[_Rule]) -> None:
        """Take the rules of one script, in their order."""
        self._name = name
        self._rules = rules

    @property
    def name(self) -> str:
        """The string it was opened by."""
        return self._name

    async def generate(self, request: ModelRequest) -> Message:
        """Give the reply that the conversation so far calls for."""
        entry = self._choose(request.messages)
        reply = _reply(entry, request.messages)
        return await ScriptedModel([reply], name=self._name).generate(request)

    def _choose(self, messages: Sequence[Message]) -> _Entry:
        """Return the first entry whose `when` fits, else the next of those without one."""
        turns = _turns(messages)
        rules = [rule for rule in self._rules if not rule.opening or rule.opening.search(turns[0])]
        in_turn = [rule.entry for rule in rules if rule.latest is None]
        *before, now = turns
        reaction = _reaction(rules, now)
        if reaction is not None:
            return reaction
        # Replies that were reactions took none of the entries that are said in turn.
        place = sum(_reaction(rules, turn) is None for turn in before)
        if place < len(in_turn):
            return in_turn[place]
        raise ModelError(
            f"{self._name} has no reply {place + 1} for this conversation; add one to the script.",
            kind="script_ended",
            retryable=False,
        )


def _turns(messages: Sequence[Message]) -> list[str]:
    """Return what was said before each reply, and last what was said since the newest."""
    turns = [""]
    for message in messages:
        if message.role == "assistant":
            turns.append("")
        else:
            turns[-1] += f"{message.text}\n"
    return turns


def _reaction(rules: Sequence[_Rule], said: str) -> _Entry | None:
    fitting = (rule.entry for rule in rules if rule.latest and rule.latest.search(said))
    return next(fitting, None)


def _reply(entry: _Entry, messages: Sequence[Message]) -> Say | ModelError:
    failure = entry.error
    if isinstance(failure, str):
        failure = _Failure(failure)
    if failure is not None:
        return ModelError(failure.message, kind=failure.kind, retryable=failure.retryable)
    number = sum(message.role == "assistant" for message in messages)
    calls = tuple(
        ToolCall(f"s{number}_{place}", call.tool, _arguments(call, messages))
        for place, call in enumerate(entry.calls)
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
            return {_ONLY: msgspec.json.decode(data, type=_Script)}
        except msgspec.ValidationError:
            if not data.lstrip().startswith(b"{"):
                raise
            return msgspec.json.decode(data, type=dict[str, _Script])
    except msgspec.DecodeError as error:
        raise _refused(path, str(error)) from error


def _from_lines(data: bytes) -> Mapping[str, _Script]:
    scripts: dict[str, list[str | _Entry]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = msgspec.json.decode(line, type=str | _Entry)
        except msgspec.DecodeError as error:
            raise msgspec.DecodeError(f"line {number}: {error}") from error
        name = _ONLY if isinstance(entry, str) else entry.script or _ONLY
        scripts.setdefault(name, []).append(entry)
    return {name: tuple(entries) for name, entries in scripts.items()}


def _rule(path: Path, script: str, place: int, entry: _Entry) -> _Rule:
    for wrong in _wrong(entry):
        raise _refused(path, f"{script}[{place}]: {wrong}")
    return _Rule(
        entry,
        re.compile(entry.for_) if entry.for_ else None,
        re.compile(entry.when) if entry.when else None,
    )


def _wrong(entry: _Entry) -> Iterator[str]:
    for key, pattern in (("for", entry.for_), ("when", entry.when)):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"`{key}` is no regular expression: {error}"
    yield from check_blanks(entry.text)
    for call in entry.calls:
        yield from check_blanks(call.arguments)
    if entry.error is not None and (entry.text or entry.calls):
        yield "an entry is an `error` or a reply, not both"


def _refused(path: Path, cause: str) -> ModelError:
    return ModelError(f"Script {path}: {cause}.", kind="configuration", retryable=False)

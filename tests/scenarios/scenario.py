"""Scenarios as text: each command, and below it the events that it causes.

    # A comment.
    > boss create a  b<-a  c<-a,b?  d@art
    > ann-1 claim a
    > ann-1 set a completed result="Done" artifacts=x,y
    > boss change
    + add_step e<-a
    + update_task status=blocked reason="Wait"
    > wait 5m
    > anyone expire
    > boss complete result="Good"
    > show

`b<-a` depends on a, `?` is optional, `@art` is its pool. `+` is one operation of a change; one that
starts with a brace is sent unchanged. An actor is `boss` (the Orchestrator), `zoe` (a plain
agent) or a worker's run, `ann-1`, `ann-1@art` or `ann-1:a,b` for a scope. Lines that start with two
spaces are the answer, and `run_scenario` writes them.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    EndRun,
    ExpireLeases,
    FailTask,
    NewStep,
    Payload,
    RenewLease,
    UpdateStep,
)
from taskloom.errors import RefusedError
from tests.board.task_driver import BOSS, PLAIN, TASK, TaskDriver, creating, facts, updating, worker

ANSWER = "  "


@dataclass
class Part:
    """One command with its operations, or a line that is not a command."""

    lines: list[str] = field(default_factory=list[str])
    is_command: bool = False


def parts(text: str) -> list[Part]:
    """Parse a scenario without its answers."""
    found: list[Part] = []
    for line in text.splitlines():
        if line.startswith(ANSWER):
            continue
        if line.startswith("+ "):
            found[-1].lines.append(line)
        else:
            found.append(Part([line], line.startswith("> ")))
    return found


def run_scenario(text: str) -> str:
    """Run a scenario and return it with the answers."""
    runner = ScenarioRunner()
    lines: list[str] = []
    for part in parts(text):
        lines += part.lines
        if part.is_command:
            lines += [ANSWER + answer for answer in runner.answer(part.lines)]
    runner.check()
    return "\n".join(lines) + "\n"


class ScenarioRunner:
    """The board of a scenario."""

    def __init__(self) -> None:
        self._driver: TaskDriver | None = None

    @property
    def driver(self) -> TaskDriver:
        assert self._driver is not None, "a scenario starts with create"
        return self._driver

    def check(self) -> None:
        """Check that a replay of the events gives the same board."""
        if self._driver is not None:
            assert facts(self.driver.replayed()) == facts(self.driver.task)

    def answer(self, lines: Sequence[str]) -> Iterator[str]:
        who, *rest = shlex.split(lines[0][2:])
        if who == "show":
            return iter(self._show())
        if who == "wait":
            self.driver.later(timedelta(minutes=float(rest[0].removesuffix("m"))))
            return iter([f"it is {_plain(self.driver.now)}"])
        return self._send(who, rest, lines[1:])

    def _send(self, who: str, rest: list[str], operations: Sequence[str]) -> Iterator[str]:
        before = len(self._driver.log) if self._driver else 0
        try:
            if rest[0] == "create":
                self._driver = TaskDriver(creating(*map(_step, rest[1:])))
            else:
                self.driver.do(_command(rest, operations), _actor(who))
        except RefusedError as refused:
            yield f"refused: {refused.code.value}: {refused.message}"
            return
        for line in self.driver.log[before:]:
            about = f" {line.step_id}" if line.step_id else ""
            yield f"{line.seq} {line.payload.type.value}{about}{_fields(line.payload)}"
        if len(self.driver.log) == before:
            yield "accepted, no event"

    def _show(self) -> Iterator[str]:
        task = self.driver.task
        marks = [name for name in ("stalled", "completeable") if getattr(task, f"is_{name}")]
        yield " ".join([f"Task {task.status.value}", *marks])
        for step in task.steps.values():
            holder = f" by {step.claimed_by_run_id}" if step.claimed_by_run_id else ""
            waits = f" <- {', '.join(on)}" if (on := step.depends_on_step_ids) else ""
            optional = "" if step.required else " (optional)"
            changed = " (changed after dispatch)" if step.updated_after_dispatch else ""
            yield f"{step.step_id}{waits}{optional}: {step.status.value}{holder}{changed}"


def _actor(name: str) -> Actor:
    if name in ("boss", "zoe", "anyone"):
        return PLAIN if name == "zoe" else BOSS
    run, _, only = name.partition(":")
    run, _, pool = run.partition("@")
    return worker(run, pool=pool or "default", only=only.split(",") if only else None)


def _step(word: str) -> NewStep:
    word, _, pool = word.partition("@")
    required = not word.endswith("?")
    name, _, on = word.removesuffix("?").partition("<-")
    return NewStep(
        step_id=name,
        title=name.capitalize(),
        depends_on_step_ids=tuple(on.split(",")) if on else (),
        required=required,
        worker_pool_id=pool or None,
    )


def _options(words: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = dict(word.split("=", 1) for word in words)
    return {name: _value(name, value) for name, value in given.items()}


def _value(name: str, value: str) -> object:
    if name in ("artifacts", "depends_on_step_ids"):
        return value.split(",") if value else []
    if value in ("true", "false"):
        return value == "true"
    return int(value) if name == "fence" else value


def _command(words: list[str], operations: Sequence[str]) -> Command:
    verb, *rest = words
    if verb == "change":
        return updating(*map(_operation, operations))
    named = [word for word in rest if "=" in word]
    plain = [word for word in rest if "=" not in word]
    more = _options(named)
    for short, long in (("result", "result_summary"), ("artifacts", "artifact_ids")):
        if short in more:
            more[long] = more.pop(short)
    if verb == "set":
        more |= {"step_id": plain[0], "status": plain[1] if len(plain) > 1 else None}
    elif verb in ("claim", "renew"):
        more["step_id"] = plain[0]
    elif verb == "end" and plain:
        more["outcome"] = plain[0]
    kinds: dict[str, type[Command]] = {
        "claim": ClaimStep,
        "set": UpdateStep,
        "renew": RenewLease,
        "end": EndRun,
        "expire": ExpireLeases,
        "complete": CompleteTask,
        "fail": FailTask,
        "cancel": CancelTask,
    }
    return kinds[verb](task_id=TASK, **more)


def _operation(line: str) -> object:
    words = line[2:]
    if words.startswith(("{", "[", '"')):
        return json.loads(words)
    name, *rest = shlex.split(words)
    plain = [word for word in rest if "=" not in word]
    more = _options([word for word in rest if "=" in word])
    if name == "add_step":
        new = _step(plain[0])
        sent = {item.name: getattr(new, item.name) for item in fields(new)}
        return {"op": name, "step": {**sent, "summary": "", **more}}
    if name == "update_step":
        return {"op": name, "step_id": plain[0], "fields": more}
    keys = ("step_id", "depends_on_step_id")
    return {"op": name, **dict(zip(keys, plain, strict=False)), **more}


def _fields(payload: Payload) -> str:
    named = ((item.name, getattr(payload, item.name)) for item in fields(payload))
    shown = [f"{name}={_plain(value)}" for name, value in named if value not in (None, [])]
    return "  " + " ".join(shown) if shown else ""


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S")
    if is_dataclass(value) and not isinstance(value, type):
        inner = ((item.name, getattr(value, item.name)) for item in fields(value))
        return (
            "{" + ", ".join(f"{n}: {_plain(v)}" for n, v in inner if v not in (None, "", [])) + "}"
        )
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return "{" + ", ".join(f"{name}: {_plain(inner)}" for name, inner in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, cast(Sequence[object], value))) + "]"
    if isinstance(value, str):
        text = str(value)
        return text if text and all(c.isalnum() or c in "-_" for c in text) else json.dumps(text)
    return json.dumps(value)

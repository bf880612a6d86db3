"""Breadth first through everything that can happen, on the real decide and evolve.

At each point everything is asked of the same Task object: accepted commands go on with a copy,
so that at the end the object itself must be as it was. A new point is checked against all
invariants and against a replay of its whole log.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from taskloom.board import Event, Task, decide, evolve
from taskloom.errors import Code, RefusedError
from tests.board.exploring.invariants import OF_CHANGES, OF_STATES, Change, in_the_table
from tests.board.exploring.moves import Move
from tests.board.exploring.world import (
    HALF,
    Key,
    Node,
    clone,
    fingerprint,
    key,
    lines_of,
    ticks_left,
)
from tests.board.task_driver import replay

Moves: TypeAlias = Callable[[Task], Iterable[Move]]

_CODES = frozenset(Code)


class BrokenInvariantError(AssertionError):
    """An invariant does not hold; the message tells how to get there."""


@dataclass
class Seen:
    """What was seen on the way."""

    states: int = 0
    transitions: int = 0
    refusals: int = 0
    deepest: int = 0
    whole: bool = True
    """Whether the space was walked to its end, rather than to the limit."""

    def __str__(self) -> str:
        end = "to the end" if self.whole else "to the limit"
        return (
            f"{self.states:,} states, {self.transitions:,} transitions, "
            f"{self.refusals:,} refusals, {self.deepest} deep, {end}"
        )


def explore(
    starts: Iterable[Node], moves: Moves, *, tick: timedelta = HALF, most: int = 1 << 60
) -> Seen:
    """Walk the whole space, or its first `most` states.

    Raises:
        BrokenInvariantError: Something does not hold.
    """
    seen = Seen()
    known: set[Key] = set()
    edge: list[Node] = []
    for node in starts:
        known.add(key(node.task, node.now, tick))
        _check_state(node)
        edge.append(node)
    while edge:
        ahead: list[Node] = []
        for node in edge:
            for new in _expand(node, moves, seen, tick):
                name = key(new.task, new.now, tick)
                if name in known:
                    continue
                if len(known) >= most:
                    seen.whole = False
                    continue
                known.add(name)
                _check_state(new)
                ahead.append(new)
                seen.deepest = new.depth
        edge = ahead
    seen.states = len(known)
    return seen


def _expand(node: Node, moves: Moves, seen: Seen, tick: timedelta) -> Iterable[Node]:
    before = fingerprint(node.task)
    for move in moves(node.task):
        try:
            events = decide(node.task, move.command, move.actor, node.now)
        except RefusedError as refused:
            seen.refusals += 1
            if refused.code not in _CODES or not refused.message:
                raise BrokenInvariantError(
                    f"{node.story()}\n{move}\n  is refused without a word"
                ) from refused
        except Exception as error:
            raise BrokenInvariantError(f"{node.story()}\n{move}\n  fails with {error!r}") from error
        else:
            seen.transitions += 1
            yield _follow(node, move, events)
    if fingerprint(node.task) != before:
        raise BrokenInvariantError(f"{node.story()}\n  asking has changed the Task")
    if any(ticks_left(step, node.now, tick) > 0 for step in node.task.steps.values()):
        seen.transitions += 1
        yield Node(node.task, node.now + tick, (), node, f"{tick} pass", node.depth + 1)


def _follow(node: Node, move: Move, events: list[Event]) -> Node:
    task = clone(node.task) if events else node.task
    lines = lines_of(task, events, node.now)
    new = Node(task, node.now, lines, node, str(move), node.depth + 1)
    try:
        for line, event in zip(lines, events, strict=True):
            step = task.steps.get(event.step_id) if event.step_id is not None else None
            status, task_before = (step.status if step else None), task.status
            evolve(task, line.payload, line.step_id, line.at, line.seq)
            in_the_table(event, task_before, status, task)
        change = Change(node.task, task, move, events, node.now)
        for check in OF_CHANGES:
            check(change)
    except Exception as error:
        raise BrokenInvariantError(f"{new.story()}\n  does not hold: {error!r}") from error
    return new


def _check_state(node: Node) -> None:
    try:
        for check in OF_STATES:
            check(node.task, node.now)
        assert fingerprint(replay(node.log())) == fingerprint(node.task), "replay differs"
    except Exception as error:
        raise BrokenInvariantError(f"{node.story()}\n  does not hold: {error!r}") from error

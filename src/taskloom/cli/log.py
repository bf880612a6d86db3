"""The command that shows what happened: log."""

from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from time import sleep
from typing import Final

from taskloom.cli.exit_codes import FINE
from taskloom.cli.locate import find_log
from taskloom.cli.output import console, note, print_json_line
from taskloom.errors import StorageError
from taskloom.runtime.read_only_log import Entry, ReadOnlyLog

LIMIT: Final = 200
"""For people, unless they ask for more; programs get everything."""

LOOK_S: Final = 0.2
"""How often a follower looks for news: quick for an eye, next to nothing for a machine."""


def log(given: Namespace) -> int:
    """Show the events, then those that come if asked to."""
    path = find_log(given, given.task)
    with closing(ReadOnlyLog(path)) as wal:
        shown = iter(_choose(wal.entries(after=given.after or 0), given))
        first = list(islice(shown, LIMIT))
        show = print_json_line if given.json else _printer(first)
        for entry in chain(first, shown):
            show(entry)
        if given.follow:
            _follow(wal, show)
        elif wal.torn_bytes and not given.json:
            note(f"{wal.torn_bytes} bytes of a write that a crash cut short follow; never true")
    return FINE


def _choose(entries: Iterator[Entry], given: Namespace) -> Iterable[Entry]:
    limit: int | None = given.limit
    if limit is None and not (given.json or given.all):
        limit = LIMIT
    if limit is None or (given.follow and given.after is not None):
        return entries
    if given.after is None:
        last = deque(entries, limit)
        if last and last[0].wal_seq > 1:
            note(f"begins at line {last[0].wal_seq}; --all shows what was before")
        return last
    return islice(entries, limit)


def _follow(wal: ReadOnlyLog, show: Callable[[Entry], None]) -> None:
    """Go on until the Task has ended, nothing follows that; or until nobody can reach the file."""
    is_there = True
    while not wal.is_over:
        if not is_there:
            raise StorageError(
                f"{wal.path} was removed or replaced while it was followed. What was written to "
                "the old file is shown; nothing more will come.",
                {"wal_path": str(wal.path)},
            )
        sleep(LOOK_S)
        is_there = wal.is_there()  # Asked before reading: what came until then is shown.
        for entry in wal.entries():
            show(entry)


def _printer(first: Sequence[Entry]) -> Callable[[Entry], None]:
    """Return what prints an event; the first ones decide how wide the columns are."""
    from taskloom.view.timeline import Timeline

    out = console()
    timeline = Timeline.fitting(first)
    out.print(timeline.heading())

    def show(entry: Entry) -> None:
        out.print(timeline.draw(entry))

    return show

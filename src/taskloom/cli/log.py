"""`taskloom board log`: shows the events of a Task."""

from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from time import sleep
from typing import Final

from taskloom.cli.exit_codes import OK
from taskloom.cli.locate import find_log
from taskloom.cli.output import console, note, print_json_line
from taskloom.codec import LogLine
from taskloom.errors import StorageError
from taskloom.log import ReadOnlyLog
from taskloom.view.format import plural

LIMIT: Final = 200
"""Events shown by default; with --json there is no limit."""

POLL_S: Final = 0.2
"""How often --follow reads the file: fast for a person, cheap for a machine."""


def log(args: Namespace) -> int:
    """Print the events; with --follow, also those that come later."""
    path = find_log(args, args.task)
    with closing(ReadOnlyLog(path)) as wal:
        shown = iter(_choose(wal.lines(after=args.after or 0), args))
        first = list(islice(shown, LIMIT))
        show = print_json_line if args.json else _printer(first)
        for entry in chain(first, shown):
            show(entry)
        if args.follow:
            _follow(wal, show)
        elif wal.torn_bytes and not args.json:
            note(
                f"{plural(wal.torn_bytes, 'byte')} of an unfinished write follow; they are ignored"
            )
    return OK


def _choose(entries: Iterator[LogLine], args: Namespace) -> Iterable[LogLine]:
    limit: int | None = args.limit
    if limit is None and not (args.json or args.all):
        limit = LIMIT
    if limit is None or (args.follow and args.after is not None):
        return entries
    if args.after is None:
        last = deque(entries, limit)
        if last and last[0].wal_seq > 1:
            note(f"starts at line {last[0].wal_seq}; --all shows the earlier events")
        return last
    return islice(entries, limit)


def _follow(wal: ReadOnlyLog, show: Callable[[LogLine], None]) -> None:
    """Print new events until the Task has ended, or until the file is gone."""
    is_named = True
    while not wal.is_over:
        if not is_named:
            raise StorageError(
                f"{wal.path} was removed or replaced. All events of the old file are shown. Run "
                "the command again to follow the new file.",
                {"wal_path": str(wal.path)},
            )
        sleep(POLL_S)
        is_named = wal.is_named()  # Checked before reading, so that the last events are shown.
        for entry in wal.lines():
            show(entry)


def _printer(first: Sequence[LogLine]) -> Callable[[LogLine], None]:
    """Return a function that prints an event; `first` decides how wide the columns are."""
    from taskloom.view.timeline import Timeline

    out = console()
    timeline = Timeline.fitting(first)
    out.print(timeline.heading())

    def show(entry: LogLine) -> None:
        out.print(timeline.draw(entry))

    return show

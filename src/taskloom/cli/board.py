"""`taskloom board list`, `show`, `replay` and `diff`: show Tasks."""

from argparse import Namespace
from datetime import UTC, datetime

from taskloom.board import StepStatus, TaskStatus
from taskloom.cli.exit_codes import OK
from taskloom.cli.locate import find_log, open_session_logs
from taskloom.cli.output import draw, note, print_json
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq
from taskloom.runtime import Inspection, ListTasks, inspect
from taskloom.view.format import plural


def list_tasks(args: Namespace) -> int:
    """Show a session's Tasks."""
    logs = open_session_logs(args)
    status = TaskStatus(_known(args.status, "--status", TaskStatus)) if args.status else None
    query = ListTasks(
        status=status,
        include_terminal=args.all or status is not None,
        limit=args.limit,
        offset=args.offset,
    )
    page = logs.list(query)
    if args.json:
        print_json(page)
        return OK
    from taskloom.view.tables import draw_tasks

    if page.tasks:
        draw(draw_tasks(page))
    ended = sum(found.ended is not None for found in logs.found())
    if ended and not query.include_terminal:
        note(f"{plural(ended, 'ended Task')} not shown; --all shows all Tasks")
    elif not page.tasks:
        note("this session has no Tasks")
    return OK


def show(args: Namespace) -> int:
    """Show a Task as it is."""
    return _show(args, inspect(find_log(args, args.task)), datetime.now(UTC))


def replay(args: Namespace) -> int:
    """Show a Task as it was at a line; leases are measured against that time."""
    inspection = _at(args, args.at)
    return _show(args, inspection, inspection.view.updated_at)


def diff(args: Namespace) -> int:
    """Show what changed between two lines."""
    from taskloom.view.compare import compare

    before, after = _at(args, args.before), _at(args, args.after)
    found = compare(before.view, after.view)
    if args.json:
        print_json(found)
        return OK
    from taskloom.view.tables import draw_comparison

    _note_torn(after)
    draw(draw_comparison(found))
    return OK


def _at(args: Namespace, seq: Seq) -> Inspection:
    inspection = inspect(find_log(args, args.task), at=seq)
    if inspection.view.seq != seq:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"The log has no line {seq}; its last line is {inspection.last_seq}.",
            {"seq": seq, "last_seq": inspection.last_seq},
        )
    return inspection


def _show(args: Namespace, inspection: Inspection, now: datetime) -> int:
    from taskloom.view.step_filter import StepFilter

    step_filter = StepFilter(statuses=_statuses(args.status), pool=args.pool, show_all=args.all)
    if args.json:
        print_json(step_filter.apply(inspection))
        return OK
    from taskloom.view.task import draw_task

    _note_torn(inspection)
    draw(draw_task(inspection, step_filter, now))
    return OK


def _note_torn(inspection: Inspection) -> None:
    if inspection.torn_bytes:
        note(
            f"{plural(inspection.torn_bytes, 'byte')} of an unfinished write follow line "
            f"{inspection.last_seq:,}; they are ignored"
        )


def _statuses(text: str | None) -> frozenset[StepStatus]:
    names = text.split(",") if text else []
    return frozenset(StepStatus(_known(name.strip(), "--status", StepStatus)) for name in names)


def _known(value: str, option: str, statuses: type[StepStatus] | type[TaskStatus]) -> str:
    choices = [status.value for status in statuses]
    if value not in choices:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"{option} must be one of {', '.join(choices)}; got {value!r}.",
            {"path": option},
        )
    return value

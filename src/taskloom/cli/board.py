"""The commands that show a Task or a list of them: list, show, replay, diff."""

from argparse import Namespace
from datetime import UTC, datetime

from taskloom.board import StepStatus, TaskStatus
from taskloom.cli.exit_codes import FINE
from taskloom.cli.locate import find_log, open_survey
from taskloom.cli.output import draw, note, print_json
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq
from taskloom.runtime.listing import ListTasks
from taskloom.runtime.read_only_log import Inspection, inspect


def list_tasks(given: Namespace) -> int:
    """Show a session's Tasks."""
    survey = open_survey(given)
    status = TaskStatus(_word(given.status, "--status", TaskStatus)) if given.status else None
    query = ListTasks(
        status=status,
        include_terminal=given.all or status is not None,
        limit=given.limit,
        offset=given.offset,
    )
    page = survey.list(query)
    if given.json:
        print_json(page)
        return FINE
    from taskloom.view.tables import draw_tasks

    if page.tasks:
        draw(draw_tasks(page))
    ended = sum(found.ended is not None for found in survey.found())
    if ended and not query.include_terminal:
        note(f"{ended} ended, not shown; --all shows them")
    elif not page.tasks:
        note("no Tasks")
    return FINE


def show(given: Namespace) -> int:
    """Show a Task as it is."""
    return _show(given, inspect(find_log(given, given.task)), datetime.now(UTC))


def replay(given: Namespace) -> int:
    """Show a Task as it was; leases are measured against that moment."""
    seen = _at(given, given.at)
    return _show(given, seen, seen.view.updated_at)


def diff(given: Namespace) -> int:
    """Show what changed between two moments."""
    from taskloom.view.compare import compare

    before, after = _at(given, given.before), _at(given, given.after)
    found = compare(before.view, after.view)
    if given.json:
        print_json(found)
        return FINE
    from taskloom.view.tables import draw_comparison

    _note_torn(after)
    draw(draw_comparison(found))
    return FINE


def _at(given: Namespace, seq: Seq) -> Inspection:
    seen = inspect(find_log(given, given.task), at=seq)
    if seen.view.seq != seq:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"The log ends at line {seen.last_seq}; there is no line {seq}.",
            {"seq": seq, "last_seq": seen.last_seq},
        )
    return seen


def _show(given: Namespace, seen: Inspection, now: datetime) -> int:
    from taskloom.view.step_filter import Choice

    choice = Choice(statuses=_statuses(given.status), pool=given.pool, everything=given.all)
    if given.json:
        print_json(choice.narrow(seen))
        return FINE
    from taskloom.view.task import draw_task

    _note_torn(seen)
    draw(draw_task(seen, choice, now))
    return FINE


def _note_torn(seen: Inspection) -> None:
    if seen.torn_bytes:
        note(
            f"{seen.torn_bytes} bytes of a write that a crash cut short follow line "
            f"{seen.last_seq}; they never counted, and are left where they are"
        )


def _statuses(words: str | None) -> frozenset[StepStatus]:
    asked = (words or "").split(",") if words else []
    return frozenset(StepStatus(_word(each.strip(), "--status", StepStatus)) for each in asked)


def _word(value: str, option: str, known: type[StepStatus] | type[TaskStatus]) -> str:
    choices = [status.value for status in known]
    if value not in choices:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"{option} must be one of {', '.join(choices)}; got {value!r}.",
            {"path": option},
        )
    return value

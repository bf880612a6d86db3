"""The command that checks logs: verify."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from taskloom.cli.exit_codes import FINE, TROUBLE, USAGE
from taskloom.cli.locate import as_path, find_in, open_survey
from taskloom.cli.output import console, draw, note, print_json
from taskloom.runtime.log_verification import Finding, Health
from taskloom.runtime.log_verification import verify as verify_log


def verify(given: Namespace) -> int:
    """Check the logs that are named, or all of the session."""
    paths = _paths(given)
    findings = _check(paths) if _is_watched(given) else [verify_log(path) for path in paths]
    if given.json:
        print_json({"ok": _code(findings) == FINE, "wals": findings})
        return _code(findings)
    from taskloom.view.tables import draw_findings

    if findings:
        draw(draw_findings(findings))
    else:
        note("no logs")
    return _code(findings)


def _code(findings: list[Finding]) -> int:
    """Damage weighs more than a name that was typed wrongly."""
    health = {found.health for found in findings}
    if health & {Health.DAMAGED, Health.UNREADABLE}:
        return TROUBLE
    return USAGE if health & {Health.MISSING, Health.NOT_A_FILE} else FINE


def _paths(given: Namespace) -> list[Path]:
    if not given.tasks:
        survey = open_survey(given)
        return [survey.path(found.name) for found in survey.found()]
    return list(_named(given))


def _named(given: Namespace) -> Iterator[Path]:
    survey = None
    for word in given.tasks:
        path = as_path(word)
        if path is None:
            survey = survey or open_survey(given)
            path = find_in(survey, word)
        yield path


def _is_watched(given: Namespace) -> bool:
    return sys.stderr.isatty() and not given.json


def _check(paths: list[Path]) -> list[Finding]:
    """Check while somebody watches: a bar on standard error, gone when it is done."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with Progress(*columns, console=console(error=True), transient=True) as progress:
        bar = progress.add_task("checking", total=total)

        def watch(size_bytes: int) -> None:
            progress.advance(bar, size_bytes)

        return [verify_log(path, watch=watch) for path in paths]

"""`taskloom board verify`: checks logs."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from taskloom.cli.exit_codes import FAILED, OK, USAGE
from taskloom.cli.locate import as_path, find_in, open_session_logs
from taskloom.cli.output import console, draw, note, print_json
from taskloom.runtime import Finding, Health
from taskloom.runtime import verify as verify_log


def verify(args: Namespace) -> int:
    """Check the named logs, or all logs of the session; return the exit code."""
    findings = _check(list(_paths(args)), progress=sys.stderr.isatty() and not args.json)
    code = _exit_code(findings)
    if args.json:
        print_json({"ok": code == OK, "wals": findings})
        return code
    from taskloom.view.tables import draw_findings

    if findings:
        draw(draw_findings(findings))
    else:
        note("this session has no logs")
    return code


def _exit_code(findings: list[Finding]) -> int:
    """Return the exit code; a damaged log outweighs a missing one."""
    health = {finding.health for finding in findings}
    if health & {Health.DAMAGED, Health.UNREADABLE}:
        return FAILED
    return USAGE if health & {Health.MISSING, Health.NOT_A_FILE} else OK


def _paths(args: Namespace) -> Iterator[Path]:
    logs = None
    if not args.tasks:
        logs = open_session_logs(args)
        yield from [logs.path(found.name) for found in logs.found()]
    for name in args.tasks:
        path = as_path(name)
        if path is None:
            logs = logs or open_session_logs(args)
            path = find_in(logs, name)
        yield path


def _check(paths: list[Path], *, progress: bool) -> list[Finding]:
    """Check the logs, with a progress bar on standard error that disappears at the end."""
    if not progress:
        return [verify_log(path) for path in paths]
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    total = sum(path.stat().st_size for path in paths if path.is_file())
    with Progress(*columns, console=console(error=True), transient=True) as bars:
        bar = bars.add_task("checking", total=total)

        def advance(size_bytes: int) -> None:
            bars.advance(bar, size_bytes)

        return [verify_log(path, progress=advance) for path in paths]

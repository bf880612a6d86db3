"""`taskloom doctor`: checks that a project is set up."""

import os
import sys
from argparse import Namespace
from typing import Final

from taskloom.app.doctor import Check, Status, diagnose
from taskloom.cli.exit_codes import FAILED, OK
from taskloom.cli.locate import find_project
from taskloom.cli.output import print_json
from taskloom.view.format import clean, plural

_LABELS: Final = {
    Status.OK: "ok",
    Status.WARNING: "warning",
    Status.FAIL: "FAIL",
    Status.SKIPPED: "skipped",
}
_INDENT: Final = " " * 8


def doctor(args: Namespace) -> int:
    """Check everything a run needs, and say how to fix what fails; return the exit code."""
    project = find_project(args)
    checks: list[Check] = []
    for check in diagnose(
        project, state_dir=args.state_dir, environ=os.environ, offline=args.offline
    ):
        checks.append(check)
        if not args.json:
            _print(check)
    failed = sum(check.status is Status.FAIL for check in checks)
    if args.json:
        print_json({"ok": not failed, "project": str(project), "checks": checks})
    elif failed:
        sys.stdout.write(f"\n{failed} of {plural(len(checks), 'check')} failed.\n")
    else:
        sys.stdout.write("\nAll checks passed.\n")
    return FAILED if failed else OK


def _print(check: Check) -> None:
    first, *others = check.message.splitlines() or [""]
    sys.stdout.write(f"{_LABELS[check.status]:8}{clean(check.name)}: {clean(first)}\n")
    for line in others:
        sys.stdout.write(f"{_INDENT}{clean(line.strip())}\n")
    if check.advice:
        sys.stdout.write(f"{_INDENT}→ {clean(check.advice)}\n")
    sys.stdout.flush()

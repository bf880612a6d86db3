"""The command that says whether a project is set up: doctor."""

import os
import sys
from argparse import Namespace
from typing import Final

from taskloom.app.doctor import Check, Status, diagnose
from taskloom.cli.exit_codes import FINE, TROUBLE
from taskloom.cli.find_project import find_project
from taskloom.cli.output import print_json
from taskloom.view.format import clean

_SIGNS: Final = {
    Status.OK: "ok      ",
    Status.WARNING: "warning ",
    Status.TROUBLE: "TROUBLE ",
    Status.SKIPPED: "skipped ",
}


def doctor(given: Namespace) -> int:
    """Look at everything a run needs, and say what to do about what is wrong."""
    project = find_project(given)
    checks: list[Check] = []
    for check in diagnose(
        project, state_dir=given.state_dir, environ=os.environ, offline=given.offline
    ):
        checks.append(check)
        if not given.json:
            _tell(check)
    wrong = sum(check.status is Status.TROUBLE for check in checks)
    if given.json:
        print_json({"ok": not wrong, "project": str(project), "checks": checks})
    elif wrong:
        sys.stdout.write(f"\n{wrong} of {len(checks)} need attention.\n")
    else:
        sys.stdout.write("\nAll is well.\n")
    return TROUBLE if wrong else FINE


def _tell(check: Check) -> None:
    lines = check.message.splitlines() or [""]
    sys.stdout.write(f"{_SIGNS[check.status]}{clean(check.name)}: {clean(lines[0])}\n")
    for line in lines[1:]:
        sys.stdout.write(f"          {clean(line.strip())}\n")
    if check.advice:
        sys.stdout.write(f"          → {clean(check.advice)}\n")
    sys.stdout.flush()

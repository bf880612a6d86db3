"""The program `taskloom`: which command was asked for, and how it ends."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Final

from taskloom.cli.arguments import build_parser
from taskloom.cli.stdio import lend_error_stream

USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    lend_error_stream()
    parser = build_parser()
    given = parser.parse_args(arguments)
    if given.command is None and not given.version:
        given.parser.print_help(sys.stderr)
        return USAGE
    from taskloom.cli.exit_codes import guarded

    run = _tell_version if given.version else _load_and_run
    return guarded(lambda: run(given), as_json=given.json)


def _tell_version(_given: Namespace) -> int:
    from taskloom import __version__

    sys.stdout.write(f"taskloom {__version__}\n")
    return 0


def _load_and_run(given: Namespace) -> int:
    return _load(given.command)(given)


def _load(command: str) -> Callable[[Namespace], int]:
    """Import no more than one command needs."""
    match command:
        case "list" | "show" | "replay" | "diff":
            from taskloom.cli import board

            return {"list": board.list_tasks, "show": board.show, "replay": board.replay}.get(
                command, board.diff
            )
        case "log":
            from taskloom.cli.log import log

            return log
        case "acp":
            from taskloom.cli.acp import acp

            return acp
        case "verify":
            from taskloom.cli.verify import verify

            return verify
        case "run" | "sessions":
            from taskloom.cli import run

            return run.run if command == "run" else run.sessions
        case "init":
            from taskloom.cli.init import init

            return init
        case "doctor":
            from taskloom.cli.doctor import doctor

            return doctor
        case _:
            from taskloom.cli.demo import demo

            return demo


if __name__ == "__main__":
    sys.exit(main())

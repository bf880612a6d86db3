"""The program `taskloom`: parses the arguments and runs one command."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Final

from taskloom.cli.arguments import build_parser
from taskloom.cli.stdio import ensure_stderr

USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    ensure_stderr()
    parser = build_parser()
    args = parser.parse_args(arguments)
    if args.command is None and not args.version:
        args.parser.print_help(sys.stderr)
        return USAGE
    from taskloom.cli.exit_codes import run_guarded

    run = _print_version if args.version else _load_and_run
    return run_guarded(lambda: run(args), as_json=args.json)


def _print_version(_given: Namespace) -> int:
    from taskloom import __version__

    sys.stdout.write(f"taskloom {__version__}\n")
    return 0


def _load_and_run(args: Namespace) -> int:
    return _load(args.command)(args)


def _load(command: str) -> Callable[[Namespace], int]:
    """Return a command's function; only what that command needs is imported."""
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

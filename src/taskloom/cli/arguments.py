"""The argument parser. It imports nothing of the product, so that `--help` answers at once."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final, Protocol

STATE_DIR: Final = ".taskloom"

_MODEL_HELP: Final = "such as anthropic:claude-…; overrides $TASKLOOM_MODEL and taskloom.toml"
_TASK_HELP: Final = "a task_id, a log's name, or the path of a *.wal.jsonl file"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser. The parsed namespace has `command`: a command's name, or None."""
    parser = argparse.ArgumentParser(
        prog="taskloom",
        description="Plans that survive: run goals with workers, inspect their boards.",
        epilog="Exit codes: 0 success, 1 failure or damaged log, 2 usage error, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser, command=None, json=False)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    top = parser.add_subparsers(title="commands", metavar="COMMAND")
    board = top.add_parser(
        "board",
        help="inspect a board: list, show, log, replay, verify, diff",
        description="Inspect a board. These commands never change it.",
        allow_abbrev=False,
    )
    board.set_defaults(parser=board)
    verbs = board.add_subparsers(title="commands", metavar="COMMAND")
    for name, (add, text) in _BOARD.items():
        verb = _verb(verbs, name, text)
        _add_location(verb)
        add(verb)
    acp = _verb(
        top, "acp", "serve an editor over the Agent Client Protocol on standard input and output"
    )
    acp.add_argument("--model", metavar="NAME", help=_MODEL_HELP)
    acp.add_argument("--show-board", action="store_true", help="show the board's Tasks as plans")
    _init(_verb(top, "init", "set up a project: write a configuration and a first worker"))
    _doctor(_verb(top, "doctor", "check that a project is set up, and say what to fix"))
    _add_run(top)
    _add_sessions(top)
    _add_demo(top)
    return parser


def _add_run(top: "_Verbs") -> None:
    run = _verb(top, "run", "run a goal: an orchestrator plans it, workers carry out the steps")
    run.add_argument("goal", metavar="GOAL", nargs="*", help="what to do, in your own words")
    run.add_argument(
        "--resume",
        metavar="SESSION",
        help="resume a session; `last` is the newest. A GOAL is sent to it as a new message",
    )
    run.add_argument("--session", metavar="ID", help="id of the new session (default: the time)")
    run.add_argument("--model", metavar="NAME", help=_MODEL_HELP)
    run.add_argument(
        "--yes", action="store_true", help="allow everything except secrets without asking"
    )
    _add_project(run)
    _add_output(run)


def _add_sessions(top: "_Verbs") -> None:
    sessions = _verb(top, "sessions", "list the sessions of a project, newest first")
    _add_project(sessions)
    _add_json(sessions)


def _add_demo(top: "_Verbs") -> None:
    demo = _verb(
        top,
        "demo",
        "run a sample project without a network; one worker is killed and the plan recovers",
    )
    demo.add_argument("--keep", metavar="DIR", help="write the sample project to this directory")
    _add_output(demo)


def _add_project(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", metavar="DIR", help="default: the current directory")
    verb.add_argument("--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s")


def _add_output(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--plain", action="store_true", help="plain lines, even in a terminal")
    _add_json(verb)


class _Verbs(Protocol):
    """The object of argparse that commands are added to; its own name for it is private."""

    def add_parser(
        self, name: str, *, help: str, description: str, allow_abbrev: bool
    ) -> argparse.ArgumentParser: ...


def _verb(verbs: _Verbs, name: str, text: str) -> argparse.ArgumentParser:
    sentence = text[0].upper() + text[1:] + "."
    verb = verbs.add_parser(name, help=text, description=sentence, allow_abbrev=False)
    verb.set_defaults(parser=verb, command=name)
    return verb


def _add_location(verb: argparse.ArgumentParser) -> None:
    location = verb.add_argument_group("location of the board")
    location.add_argument(
        "--project",
        metavar="DIR",
        help="default: the nearest directory upward with a board",
    )
    location.add_argument(
        "--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s"
    )
    location.add_argument("--session", metavar="ID", help="default: the newest")
    _add_json(verb)


def _add_json(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="print JSON for programs")


def _add_task(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("task", metavar="TASK", help=_TASK_HELP)


def _init(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", metavar="DIR", help="default: the current directory")
    verb.add_argument(
        "--language",
        choices=["en", "zh"],
        default="en",
        help="of built-in texts, default %(default)s",
    )
    _add_json(verb)


def _doctor(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--project", metavar="DIR", help="default: the nearest directory upward that is set up"
    )
    verb.add_argument("--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s")
    verb.add_argument("--offline", action="store_true", help="do not call the model")
    _add_json(verb)


def _list(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--all", action="store_true", help="include Tasks that have ended")
    verb.add_argument("--status", help="only Tasks with this status")
    verb.add_argument(
        "--limit",
        metavar="N",
        type=natural,
        default=50,
        help="at most N Tasks, default %(default)s",
    )
    verb.add_argument(
        "--offset", metavar="N", type=natural, default=0, help="skip the N newest Tasks"
    )


def _show(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    _add_filter(verb)


def _replay(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("--at", metavar="SEQ", type=seq, required=True, help="line of the log")
    _add_filter(verb)


def _add_filter(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--all", action="store_true", help="show every step")
    verb.add_argument("--status", metavar="A,B", help="only steps with these statuses")
    verb.add_argument("--pool", metavar="NAME", help="only steps of this worker pool")


def _log(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("--after", metavar="SEQ", type=natural, help="start after this line")
    verb.add_argument(
        "--limit", metavar="N", type=natural, help="the last N events, or the first N --after SEQ"
    )
    verb.add_argument("--all", action="store_true", help="show every event (as --json does)")
    verb.add_argument("--follow", action="store_true", help="print new events until the Task ends")


def _verify(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("tasks", metavar="TASK", nargs="*", help=f"{_TASK_HELP} (default: all)")


def _diff(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("before", metavar="SEQ", type=seq, help="log line to compare from")
    verb.add_argument("after", metavar="SEQ", type=seq, help="log line to compare to")


_BOARD: Final[Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], str]]] = {
    "list": (_list, "list the Tasks of a session, newest first"),
    "show": (_show, "show a Task: its steps as a tree, and which worker holds each"),
    "log": (_log, "show the events of a Task"),
    "replay": (_replay, "show a Task as it was at a line of its log"),
    "verify": (_verify, "check every byte of the logs"),
    "diff": (_diff, "show what changed between two lines of a log"),
}


def natural(text: str) -> int:
    """Parse a number of 0 or more."""
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def seq(text: str) -> int:
    """Parse the number of a log line, 1 or more."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value

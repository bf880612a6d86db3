"""What may be typed. Nothing of the product is imported here, so that `--help` is there at once."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final, Protocol

STATE_DIR: Final = ".taskloom"

_TASK_HELP: Final = "a task_id, a log's name, or the path of a *.wal.jsonl file"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser. What it reads has `command`: a command's name, or None."""
    parser = argparse.ArgumentParser(
        prog="taskloom",
        description="Plans that survive: carry out goals with workers, look at their boards.",
        epilog="Exit codes: 0 fine, 1 damaged or unreadable, 2 wrong usage or unknown Task.",
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser, command=None, json=False)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    top = parser.add_subparsers(title="commands", metavar="COMMAND")
    board = top.add_parser(
        "board",
        help="look at a board: list, show, log, replay, verify, diff",
        description="Look at a board. Nothing here changes a byte of it.",
        allow_abbrev=False,
    )
    board.set_defaults(parser=board)
    verbs = board.add_subparsers(title="commands", metavar="COMMAND")
    for name, (add, text) in _BOARD.items():
        verb = _verb(verbs, name, text)
        _add_place(verb)
        add(verb)
    acp = _verb(top, "acp", "serve an editor over the Agent Client Protocol, on standard streams")
    acp.add_argument("--model", metavar="NAME", help="such as openai:gpt-…; else $TASKLOOM_MODEL")
    acp.add_argument("--show-board", action="store_true", help="show the board's Tasks as plans")
    _init(_verb(top, "init", "set up a project: a configuration and a first worker to change"))
    _doctor(_verb(top, "doctor", "say whether a project is set up, and what to do if it is not"))
    _add_run(top)
    _add_sessions(top)
    _add_demo(top)
    return parser


def _add_run(top: "_Verbs") -> None:
    run = _verb(top, "run", "take a goal: an orchestrator plans it, workers carry it out")
    run.add_argument("goal", metavar="GOAL", nargs="*", help="what shall be done, in your words")
    run.add_argument(
        "--resume",
        metavar="SESSION",
        help="go on with a session that stopped, `last` is the newest; a GOAL is said to it first",
    )
    run.add_argument("--session", metavar="ID", help="the name of the new session")
    run.add_argument("--model", metavar="NAME", help="such as anthropic:claude-…, instead of yours")
    run.add_argument(
        "--yes", action="store_true", help="allow everything but secrets without asking"
    )
    _add_project(run)
    _add_showing(run)


def _add_sessions(top: "_Verbs") -> None:
    sessions = _verb(top, "sessions", "the sessions of a project, newest first")
    _add_project(sessions)
    _add_json(sessions)


def _add_demo(top: "_Verbs") -> None:
    demo = _verb(
        top,
        "demo",
        "a run without a network: a sample project is mended, a worker killed on the way",
    )
    demo.add_argument("--keep", metavar="DIR", help="put the sample project there")
    _add_showing(demo)


def _add_project(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", metavar="DIR", help="the project's directory (default: here)")
    verb.add_argument("--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s")


def _add_showing(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--plain", action="store_true", help="plain lines, also in a terminal")
    _add_json(verb)


class _Verbs(Protocol):
    """What argparse gives for adding commands to; its own name for it is private."""

    def add_parser(
        self, name: str, *, help: str, description: str, allow_abbrev: bool
    ) -> argparse.ArgumentParser: ...


def _verb(verbs: _Verbs, name: str, text: str) -> argparse.ArgumentParser:
    sentence = text[0].upper() + text[1:] + "."
    verb = verbs.add_parser(name, help=text, description=sentence, allow_abbrev=False)
    verb.set_defaults(parser=verb, command=name)
    return verb


def _add_place(verb: argparse.ArgumentParser) -> None:
    place = verb.add_argument_group("where the board is")
    place.add_argument(
        "--project", metavar="DIR", help="default: the nearest directory with a state dir, upward"
    )
    place.add_argument(
        "--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s"
    )
    place.add_argument("--session", metavar="ID", help="default: the only one, else the newest")
    _add_json(verb)


def _add_json(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="for programs: JSON on standard output")


def _add_task(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("task", metavar="TASK", help=_TASK_HELP)


def _init(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", metavar="DIR", help="default: the working directory")
    verb.add_argument(
        "--language", choices=["en", "zh"], default="en", help="of the built-in texts (%(default)s)"
    )
    _add_json(verb)


def _doctor(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--project", metavar="DIR", help="default: the nearest directory that is set up, upward"
    )
    verb.add_argument("--state-dir", metavar="NAME", default=STATE_DIR, help="default: %(default)s")
    verb.add_argument("--offline", action="store_true", help="do not ask the model anything")
    _add_json(verb)


def _list(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--all", action="store_true", help="also Tasks that have ended")
    verb.add_argument("--status", help="only Tasks of this status")
    verb.add_argument("--limit", type=natural, default=50, help="at most so many (%(default)s)")
    verb.add_argument("--offset", type=natural, default=0, help="leave out so many of the newest")


def _show(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    _add_choice(verb)


def _replay(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("--at", metavar="SEQ", type=seq, required=True, help="the moment to show")
    _add_choice(verb)


def _add_choice(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--all", action="store_true", help="every step, however many there are")
    verb.add_argument("--status", metavar="A,B", help="only steps of these statuses")
    verb.add_argument("--pool", metavar="NAME", help="only steps of this worker pool")


def _log(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("--after", metavar="SEQ", type=natural, help="begin behind this line")
    verb.add_argument(
        "--limit", type=natural, help="so many: the last ones, or the first ones --after SEQ"
    )
    verb.add_argument("--all", action="store_true", help="every event (as --json does)")
    verb.add_argument("--follow", action="store_true", help="go on until the Task ends, or Ctrl-C")


def _verify(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("tasks", metavar="TASK", nargs="*", help=f"{_TASK_HELP}; default: all")


def _diff(verb: argparse.ArgumentParser) -> None:
    _add_task(verb)
    verb.add_argument("before", metavar="SEQ", type=seq, help="the one moment")
    verb.add_argument("after", metavar="SEQ", type=seq, help="the other moment")


_BOARD: Final[Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], str]]] = {
    "list": (_list, "the Tasks of a session, newest first"),
    "show": (_show, "a Task as it is: its steps as a tree, who holds what"),
    "log": (_log, "what happened, event by event"),
    "replay": (_replay, "a Task as it was at some line of its log"),
    "verify": (_verify, "check logs from the first byte to the last"),
    "diff": (_diff, "what changed between two lines of a log"),
}


def natural(text: str) -> int:
    """Read a number that is not negative."""
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def seq(text: str) -> int:
    """Read the number of a line."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value

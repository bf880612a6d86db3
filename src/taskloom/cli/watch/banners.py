"""The words around a run for people: how it begins, what the Orchestrator says, how it ends."""

from typing import Final

from taskloom.agent import Message, Result
from taskloom.app.session_host import Host
from taskloom.cli.invocation import resume_command
from taskloom.view.format import clean, one_line, plural, some

_LINES_MAX: Final = 400
"""Of what the Orchestrator says at once."""


def opening(host: Host) -> list[str]:
    """Say what the session is, and what a host before this one left."""
    info = host.session.info
    lines = [f"session {info.session_id}: {one_line(info.goal)}"]
    if host.released_steps:
        count = plural(len(host.released_steps), "step")
        lines.append(f"{count} came back from a host that died: {some(host.released_steps)}")
    return lines


def reply(message: Message) -> list[str]:
    """Return what the Orchestrator says, line by line; nothing of it is obeyed."""
    lines = [clean(line.rstrip().expandtabs(4)) for line in message.text.strip().splitlines()]
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], f"… and {plural(len(lines) - _LINES_MAX, 'more line')}"]
    return lines


def closing(result: Result, host: Host, *, was_quit: bool) -> list[str]:
    """Say how it ended, if not well, and how to go on."""
    if result.stop_reason in ("completed", "returned_directly") and not was_quit:
        return []
    how = f"Go on with: {resume(host)}"
    if was_quit:
        return [f"Stopped; nothing is lost. {how}"]
    if result.error is not None:
        error = one_line(f"{type(result.error).__name__}: {result.error}")
        return [f"The run failed: {error}", f"What was done is kept. {how}"]
    reason = result.stop_reason.replace("_", " ")
    return [f"The run ended before its plan: {reason}. {how}"]


def resume(host: Host) -> str:
    """Return the command that goes on with a session, from the directory one is in."""
    return resume_command(host.session.session_id, host.session.project, host.session.state_dir)

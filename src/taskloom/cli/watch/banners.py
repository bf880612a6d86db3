"""The lines around a run: how it starts, what the Orchestrator writes, how it ends."""

from typing import Final

from taskloom.agent import Message, Result
from taskloom.app.session_host import Host
from taskloom.cli.invocation import resume_command
from taskloom.view.format import clean, join_names, one_line, plural

_LINES_MAX: Final = 400
"""Of one reply of the Orchestrator."""


def opening(host: Host) -> list[str]:
    """Name the session, and the steps that a dead host had held."""
    info = host.session.info
    lines = [f"session {info.session_id}: {one_line(info.goal)}"]
    if host.released_steps:
        count = plural(len(host.released_steps), "step")
        lines.append(f"{count} of a dead host returned to ready: {join_names(host.released_steps)}")
    return lines


def reply_lines(message: Message) -> list[str]:
    """Return the lines of a reply, with control characters escaped."""
    lines = [clean(line.rstrip().expandtabs(4)) for line in message.text.strip().splitlines()]
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], f"… and {plural(len(lines) - _LINES_MAX, 'more line')}"]
    return lines


def closing(result: Result, host: Host, *, was_quit: bool) -> list[str]:
    """Say how a run ended that did not succeed, and how to resume it."""
    if result.stop_reason in ("completed", "returned_directly") and not was_quit:
        return []
    resume = f"Resume with: {resume_host(host)}"
    if was_quit:
        return [f"Stopped; nothing is lost. {resume}"]
    if result.error is not None:
        error = one_line(f"{type(result.error).__name__}: {result.error}")
        return [f"The run failed: {error}", f"Completed steps are kept. {resume}"]
    reason = result.stop_reason.replace("_", " ")
    return [f"The run stopped before the plan was completed: {reason}. {resume}"]


def resume_host(host: Host) -> str:
    """Return the command that resumes the host's session."""
    return resume_command(host.session.session_id, host.session.project, host.session.state_dir)

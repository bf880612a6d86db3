"""From the state of a run to its result: messages that a next run can go on from."""

from typing import Final

from taskloom.agent.messages import Message
from taskloom.agent.model_texts import Texts
from taskloom.agent.result import Result, StopReason
from taskloom.agent.run_state import RunState

SUCCESS: Final = ("completed", "returned_directly")


def result_of(
    progress: RunState,
    texts: Texts,
    reason: StopReason | None = None,
    error: Exception | None = None,
) -> Result:
    """Return the result of a run that stops here; by default for the reason it ended before."""
    stop = reason or progress.ended or "failed"
    return Result(
        run_id=progress.run_id,
        stop_reason=stop,
        messages=[*progress.messages, *_open_results(progress, texts)],
        message=_final(progress, stop),
        usage=progress.usage,
        iterations=progress.iterations,
        interrupts=progress.interrupts if stop == "interrupted" else (),
        error=error,
    )


def _final(progress: RunState, stop: StopReason) -> Message | None:
    if progress.direct:
        found = (one for one in reversed(progress.messages) if one.tool_call_id == progress.direct)
        return next(found, None)
    if stop != "completed":
        return None
    new = reversed(progress.messages)
    return next((message for message in new if message.role == "assistant"), None)


def _open_results(progress: RunState, texts: Texts) -> list[Message]:
    """Answer the calls of a turn that was not closed: providers refuse calls without results."""
    last = progress.messages[-1] if progress.messages else None
    if last is None or not last.tool_calls:
        return []
    return [
        progress.finished.get(call.id)
        or Message.tool(
            call,
            (texts.outcome_unknown if call.id in progress.started else texts.not_run).format(
                name=call.name
            ),
            is_error=True,
        )
        for call in last.tool_calls
    ]

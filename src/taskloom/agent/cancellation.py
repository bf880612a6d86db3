"""What comes out of foreign code and is not what it looks like."""

import asyncio
import math

import anyio


def is_stray_cancellation() -> bool:
    """Tell, where a cancellation was caught, whether nobody asked for one.

    Code that awaits a task which somebody else cancelled raises the same error as code that is
    itself cancelled; only the second may end a run as cancelled.
    """
    task = asyncio.current_task()
    asked = task is not None and task.cancelling() > 0
    return not asked and anyio.current_effective_deadline() > -math.inf


def encodable(text: str) -> str:
    """Return the text with a mark for each half character: nothing could write those down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text

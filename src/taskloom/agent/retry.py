"""When a failed model call is made again, and after how long."""

import random
from collections.abc import Callable

from msgspec import Struct

from taskloom.agent.errors import HookError
from taskloom.agent.messages import Message

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 10.0
"""Longer waits help nobody: past this, a person should look."""

ASKED_MAX_S = 120.0
"""A provider that wants a longer pause has failed: a run that seems to hang helps nobody."""


class Attempt(Struct, frozen=True):
    """One try of a model call that may be made again: an error, or a reply to judge."""

    number: int
    error: Exception | None = None
    reply: Message | None = None


def on_any_error(attempt: Attempt) -> bool:
    """Retry every error that may pass by itself; accept every reply."""
    error = attempt.error
    if error is None or isinstance(error, HookError):
        return False
    return bool(getattr(error, "retryable", True))


def doubling(attempt: int) -> float:
    """Wait 0.1 s, 0.2 s, 0.4 s… up to 10 s, and up to half as long again by chance."""
    # The exponent is bounded, so that a very large count does not overflow.
    wait_s = min(BACKOFF_FIRST_S * 2.0 ** min(attempt - 1, 30), BACKOFF_MAX_S)
    return float(min(wait_s * (1 + random.random() / 2), BACKOFF_MAX_S))


class Retry(Struct, frozen=True, kw_only=True):
    """`Agent(..., retry=Retry(max_retries=3))`.

    `should_retry` sees each failed attempt, and each reply too: returning True for a reply
    rejects it. `backoff` gives the wait in seconds after attempt 1, 2, 3…; a provider that
    says how long to wait is heard when it asks for more; past two minutes it counts as failed.
    """

    max_retries: int = 3
    should_retry: Callable[[Attempt], bool] = on_any_error
    backoff: Callable[[int], float] = doubling

    def wait_s(self, attempt: Attempt) -> float:
        """Return the wait before the next attempt."""
        return max(self.backoff(attempt.number), _asked_s(attempt))


def asks_too_much(attempt: Attempt) -> bool:
    """Tell whether the provider asks for a wait that no run can bear."""
    return _asked_s(attempt) > ASKED_MAX_S


def _asked_s(attempt: Attempt) -> float:
    return float(getattr(attempt.error, "retry_after_s", None) or 0.0)

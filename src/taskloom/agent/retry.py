"""When a failed model call is repeated, and after how long."""

import random
from collections.abc import Callable

from msgspec import Struct

from taskloom.agent.errors import HookError
from taskloom.agent.messages import Message

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 10.0
"""A failure that lasts longer than this needs a person, not another attempt."""

RETRY_AFTER_MAX_S = 120.0
"""If a provider asks for a longer wait, the call fails, so that the run does not seem to hang."""


class Attempt(Struct, frozen=True):
    """One attempt at a model call: an error, or a reply to judge."""

    number: int
    error: Exception | None = None
    reply: Message | None = None


def on_any_error(attempt: Attempt) -> bool:
    """Retry every error that may be temporary; accept every reply."""
    error = attempt.error
    if error is None or isinstance(error, HookError):
        return False
    return bool(getattr(error, "retryable", True))


def doubling(attempt: int) -> float:
    """Return 0.1 s, 0.2 s, 0.4 s … up to 10 s, plus up to half of that at random."""
    # The exponent is bounded, so that a very large count does not overflow.
    wait_s = min(BACKOFF_FIRST_S * 2.0 ** min(attempt - 1, 30), BACKOFF_MAX_S)
    return float(min(wait_s * (1 + random.random() / 2), BACKOFF_MAX_S))


class Retry(Struct, frozen=True, kw_only=True):
    """`Agent(..., retry=Retry(max_retries=3))`.

    `should_retry` gets each failed attempt, and each reply too: returning True for a reply rejects
    it. `backoff` returns the wait in seconds after attempt 1, 2, 3 …; if the provider asks for a
    longer wait, that counts, and if it asks for more than two minutes, the call has failed.
    """

    max_retries: int = 3
    should_retry: Callable[[Attempt], bool] = on_any_error
    backoff: Callable[[int], float] = doubling

    def wait_s(self, attempt: Attempt) -> float:
        """Return the wait before the next attempt."""
        return max(self.backoff(attempt.number), _retry_after_s(attempt))


def asks_for_too_long_a_wait(attempt: Attempt) -> bool:
    """Return whether the provider asks for a longer wait than a run should make."""
    return _retry_after_s(attempt) > RETRY_AFTER_MAX_S


def _retry_after_s(attempt: Attempt) -> float:
    return float(getattr(attempt.error, "retry_after_s", None) or 0.0)

"""What a provider's failure means for the one who asked: one table, from error to advice."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct
from pydantic_ai import exceptions

from taskloom.agent.errors import ModelError


class _Meaning(Struct, frozen=True):
    kind: str
    retryable: bool
    advice: str


_MEANINGS: Final[tuple[tuple[type[Exception], _Meaning], ...]] = (
    (
        exceptions.ModelAuthenticationError,
        _Meaning("authentication", False, "The key was refused: check it and its rights."),
    ),
    (
        exceptions.ModelQuotaExceededError,
        _Meaning("quota", False, "The account's quota is used up: raise it or use another."),
    ),
    (
        exceptions.ModelRateLimitError,
        _Meaning("rate_limit", True, "Too many requests: wait, or ask less often."),
    ),
    (
        exceptions.ModelContextWindowExceededError,
        _Meaning("context_window", False, "The conversation is too long: shorten it."),
    ),
    (
        exceptions.ModelNotFoundError,
        _Meaning("not_found", False, "The provider has no such model: check its name."),
    ),
    (
        exceptions.ModelRequestRejectedError,
        _Meaning("rejected", False, "The provider refused the request: see its reason."),
    ),
    (
        exceptions.ModelTimeoutError,
        _Meaning("timeout", True, "No answer in time: try again, or set a longer `timeout`."),
    ),
    (
        exceptions.ModelConnectionError,
        _Meaning("connection", True, "The connection failed or was cut: try again."),
    ),
    (
        exceptions.ModelAPIError,
        _Meaning("server", True, "The provider failed: try again later."),
    ),
    (
        exceptions.UserError,
        _Meaning("configuration", False, "The model or its settings are not set up right."),
    ),
)
"""The first that fits counts, so the special stands before the general."""

_BAD_REPLY: Final = _Meaning("bad_reply", True, "The reply could not be understood: try again.")


_OTHER_SHAPE: Final = (ValueError, AttributeError, TypeError, LookupError, RecursionError)
"""What comes of JSON that is none, or of another shape than the library looks for."""


@contextmanager
def explained(model: str) -> Generator[None]:
    """Turn what the library raises into a `ModelError` that says how to go on."""
    try:
        yield
    except ModelError:
        raise
    except (exceptions.AgentRunError, exceptions.UserError) as error:
        raise failure(model, error) from error
    except _OTHER_SHAPE as error:
        raise failure(model, error) from error


def not_set_up(model: str, error: Exception) -> ModelError:
    """Return the failure of a model that could not even be opened."""
    return ModelError(
        f"{model} cannot be opened: {error}. Write `provider:model`, such as `openai:gpt-…`, and "
        "give `api_key` or set the provider's environment variable.",
        kind="configuration",
        retryable=False,
    )


def failure(model: str, error: Exception) -> ModelError:
    """Return the failure that an error of the library means."""
    fitting = (meaning for kind, meaning in _MEANINGS if isinstance(error, kind))
    meaning = next(fitting, _BAD_REPLY)
    return ModelError(
        f"{model}: {meaning.advice} ({type(error).__name__.lstrip('_')}: {error})",
        kind=meaning.kind,
        retryable=meaning.retryable,
        retry_after_s=getattr(error, "retry_after", None),
    )

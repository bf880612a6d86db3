"""From an error of the model library to a `ModelError` with advice, in one table."""

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
        _Meaning("authentication", False, "The key was refused: check it and its permissions."),
    ),
    (
        exceptions.ModelQuotaExceededError,
        _Meaning("quota", False, "The account's quota is used up: raise it or use another one."),
    ),
    (
        exceptions.ModelRateLimitError,
        _Meaning("rate_limit", True, "Too many requests: wait, or send fewer."),
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
        _Meaning("connection", True, "The connection failed: try again."),
    ),
    (
        exceptions.ModelAPIError,
        _Meaning("server", True, "The provider failed: try again later."),
    ),
    (
        exceptions.UserError,
        _Meaning("configuration", False, "The model or its settings are invalid."),
    ),
)
"""The first match counts, so a subclass comes before its base class."""

_BAD_REPLY: Final = _Meaning("bad_reply", True, "The reply is malformed: try again.")


_OTHER_SHAPE: Final = (ValueError, AttributeError, TypeError, LookupError, RecursionError)
"""What the library raises for a reply that is not JSON, or not of the expected shape."""


@contextmanager
def explained(model: str) -> Generator[None]:
    """Turn what the library raises into a `ModelError` that says what to do."""
    try:
        yield
    except ModelError:
        raise
    except (exceptions.AgentRunError, exceptions.UserError) as error:
        raise failure(model, error) from error
    except _OTHER_SHAPE as error:
        raise failure(model, error) from error


def not_opened(model: str, error: Exception) -> ModelError:
    """Return the error of a model that cannot be opened."""
    return ModelError(
        f"{model} cannot be opened: {error}. Write `provider:model`, such as `openai:gpt-…`, and "
        "give `api_key` or set the provider's environment variable.",
        kind="configuration",
        retryable=False,
    )


def failure(model: str, error: Exception) -> ModelError:
    """Return the `ModelError` for an error of the library."""
    found = (meaning for kind, meaning in _MEANINGS if isinstance(error, kind))
    meaning = next(found, _BAD_REPLY)
    return ModelError(
        f"{model}: {meaning.advice} ({type(error).__name__.lstrip('_')}: {error})",
        kind=meaning.kind,
        retryable=meaning.retryable,
        retry_after_s=getattr(error, "retry_after", None),
    )

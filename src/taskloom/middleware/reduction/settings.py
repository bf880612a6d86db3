"""The settings of a reduction, checked once and looked up by tool."""

from collections.abc import Collection, Mapping
from typing import Final, get_args

from msgspec import Struct

from taskloom.agent import Language
from taskloom.files import Backend
from taskloom.middleware.reduction.handlers import (
    ClearHandler,
    PathOf,
    PostProcess,
    TruncHandler,
)
from taskloom.middleware.reduction.tokens import TokenCounter, utf8_tokens

ROOT_DIR: Final = ".taskloom/reduction"
"""In the project's state directory, where a workspace tool reaches it under the same path."""


class ToolConfig(Struct, frozen=True, kw_only=True):
    """The settings of one tool; what is None is as the reduction's own settings say."""

    backend: Backend | None = None
    skip_truncation: bool | None = None
    trunc_handler: TruncHandler | None = None
    skip_clear: bool | None = None
    clear_handler: ClearHandler | None = None


class Retention(Struct, frozen=True, kw_only=True):
    """When saved content may go: the oldest first, and never what a live message points to.

    `min_age_s` protects conversations that rest between two runs, which nobody can see: no
    content younger than that is removed, whatever the other two say.
    """

    max_bytes: int | None = None
    max_age_s: float | None = None
    min_age_s: float = 86_400.0


class Choice(Struct, frozen=True):
    """What holds for one tool."""

    backend: Backend | None
    truncates: bool
    trunc_handler: TruncHandler | None
    clears: bool
    clear_handler: ClearHandler | None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings; `ToolReduction` tells what each means."""

    backend: Backend | None
    root_dir: str = ROOT_DIR
    skip_truncation: bool = False
    skip_clear: bool = False
    read_file_tool_name: str = "read_file"
    trust_own_read_tool: bool = False
    max_length_for_trunc: int = 50_000
    preview_length: int = 400
    token_counter: TokenCounter = utf8_tokens
    max_tokens_for_clear: int = 30_000
    clear_retention_suffix_limit: int = 1
    clear_at_least_tokens: int = 0
    clear_down_to_tokens: int = 0
    clear_arguments_over: int | None = 2_000
    clear_post_process: PostProcess | None = None
    tool_config: Mapping[str, ToolConfig] = {}
    trunc_exclude: Collection[str] = ()
    clear_exclude: Collection[str] = ()
    trunc_path: PathOf | None = None
    clear_path: PathOf | None = None
    retention: Retention | None = None
    language: Language | None = None

    def choose(self, tool: str) -> Choice:
        """Return what holds for a tool, field by field."""
        own = self.tool_config.get(tool, _NONE)
        skip_truncation = _first(own.skip_truncation, self.skip_truncation)
        skip_clear = _first(own.skip_clear, self.skip_clear)
        return Choice(
            own.backend or self.backend,
            not skip_truncation and tool not in self.trunc_exclude,
            own.trunc_handler,
            not skip_clear and tool not in self.clear_exclude,
            own.clear_handler,
        )

    @property
    def clears(self) -> bool:
        """Whether any tool's results are ever cleared."""
        return not self.skip_clear or any(
            own.skip_clear is False for own in self.tool_config.values()
        )

    @property
    def backends(self) -> list[Backend]:
        """Every backend, the reduction's own first."""
        found: list[Backend] = []
        for one in (self.backend, *(own.backend for own in self.tool_config.values())):
            if one is not None and not any(one is known for known in found):
                found.append(one)
        return found


_NONE: Final = ToolConfig()


def _first(own: bool | None, others: bool) -> bool:  # two settings of one name
    return others if own is None else own


_NUMBERS: Final = (
    "max_length_for_trunc",
    "preview_length",
    "max_tokens_for_clear",
    "clear_retention_suffix_limit",
    "clear_at_least_tokens",
    "clear_down_to_tokens",
)


def check(settings: Settings) -> None:
    """See that the settings can be meant.

    Raises:
        ValueError: they cannot; the message says which and what to do.
    """
    for name in _NUMBERS:
        _check_number(name, getattr(settings, name))
    if settings.clear_arguments_over is not None:
        _check_number("clear_arguments_over", settings.clear_arguments_over)
    _check_names(settings)
    _check_backends(settings)
    if settings.retention is not None:
        _check_retention(settings.retention)


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a whole number of 0 or more, not {value!r}.")


def _check_names(settings: Settings) -> None:
    parts = settings.root_dir.split("/")
    if ".." in parts or not any(parts):
        raise ValueError(f"root_dir must name a directory without `..`, not {settings.root_dir!r}.")
    if not settings.read_file_tool_name.isidentifier():
        raise ValueError(
            f"read_file_tool_name must be a tool's name, not {settings.read_file_tool_name!r}."
        )
    known = get_args(Language)
    if settings.language is not None and settings.language not in known:
        raise ValueError(
            f"language {settings.language!r} has no texts; there are {', '.join(known)}."
        )
    for name in ("trunc_exclude", "clear_exclude"):
        if isinstance(getattr(settings, name), str):
            raise ValueError(f"{name} is a list of tool names, not one string.")  # noqa: TRY004  # one error for all wrong settings
    for name, own in settings.tool_config.items():
        if not isinstance(own, ToolConfig):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
            raise ValueError(f"tool_config[{name!r}] must be a ToolConfig, not {own!r}.")  # noqa: TRY004  # one error for all wrong settings


def _check_backends(settings: Settings) -> None:
    if settings.backend is not None:
        return
    if not settings.skip_truncation:
        raise ValueError(
            "ToolReduction needs a backend to save long results to. Give one, for instance "
            "MemoryFiles(), or switch truncation off with skip_truncation=True."
        )
    for name, own in settings.tool_config.items():
        if own.skip_truncation is False and own.backend is None:
            raise ValueError(
                f"tool_config[{name!r}] switches truncation on, but neither it nor the "
                "ToolReduction has a backend to save to."
            )


def _check_retention(retention: Retention) -> None:
    if retention.max_bytes is None and retention.max_age_s is None:
        raise ValueError("Retention needs max_bytes or max_age_s; with neither nothing ever goes.")
    for name in ("max_bytes", "max_age_s", "min_age_s"):
        value = getattr(retention, name)
        if value is not None and not value >= 0:
            raise ValueError(f"Retention.{name} must be 0 or more, not {value!r}.")

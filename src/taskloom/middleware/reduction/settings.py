"""The settings of a reduction, and the types of custom handlers."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, TypeAlias, get_args

from msgspec import Struct

from taskloom.agent import Language, Part, State
from taskloom.files import Backend
from taskloom.middleware.reduction.tokens import TokenCounter, utf8_tokens

ROOT_DIR: Final = ".taskloom/reduction"
"""In the project's state directory, where a workspace tool finds it under the same path."""

ToolContent: TypeAlias = str | tuple[Part, ...]
"""A tool's result: text, or parts."""


class ToolDetail(Struct, frozen=True):
    """One tool call and its result; `tool_argument` is JSON text."""

    tool_name: str
    call_id: str
    tool_argument: str
    tool_result: ToolContent


class TruncResult(Struct, frozen=True, kw_only=True):
    """The answer of a truncation handler.

    With `need_trunc` the model gets `tool_result` instead. With `need_offload`, `offload_content`
    is first saved to `offload_file_path`; if that fails, the result is not changed.
    """

    need_trunc: bool = False
    tool_result: ToolContent | None = None
    need_offload: bool = False
    offload_file_path: str = ""
    offload_content: str = ""


class ClearResult(Struct, frozen=True, kw_only=True):
    """The answer of a clear handler; a field that is None is not changed.

    `tool_argument` is the JSON text of an object. With `need_offload`, `offload_content` is first
    saved to `offload_file_path`; if that fails, nothing is changed.
    """

    need_clear: bool = False
    tool_argument: str | None = None
    tool_result: ToolContent | None = None
    need_offload: bool = False
    offload_file_path: str = ""
    offload_content: str = ""


TruncHandler: TypeAlias = Callable[[ToolDetail], TruncResult | Awaitable[TruncResult]]
"""Decides how the result of a tool call is truncated."""

ClearHandler: TypeAlias = Callable[[ToolDetail], ClearResult | Awaitable[ClearResult]]
"""Decides how an old tool result is cleared."""

PathGenerator: TypeAlias = Callable[[ToolDetail], str]
PostProcess: TypeAlias = Callable[[State], State | Awaitable[State | None] | None]


class ToolConfig(Struct, frozen=True, kw_only=True):
    """The settings of one tool; None means the reduction's own setting."""

    backend: Backend | None = None
    skip_truncation: bool | None = None
    trunc_handler: TruncHandler | None = None
    skip_clear: bool | None = None
    clear_handler: ClearHandler | None = None


class Retention(Struct, frozen=True, kw_only=True):
    """When saved files are removed: the oldest first, and never one that a live message names.

    `min_age_s` protects conversations that pause between two runs, which the reduction cannot
    see: no younger file is removed, whatever the other two limits say.
    """

    max_bytes: int | None = None
    max_age_s: float | None = None
    min_age_s: float = 86_400.0


class ToolSettings(Struct, frozen=True):
    """The effective settings of one tool."""

    backend: Backend | None
    truncates: bool
    trunc_handler: TruncHandler | None
    clears: bool
    clear_handler: ClearHandler | None


class _PositionalSettings(Struct, frozen=True):
    backend: Backend | None = None


class ReductionSettings(_PositionalSettings, frozen=True, kw_only=True):
    """All settings of `ToolReduction`; `docs/guide/reduction.md` describes each."""

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
    trunc_path: PathGenerator | None = None
    clear_path: PathGenerator | None = None
    retention: Retention | None = None
    language: Language | None = None

    def for_tool(self, tool: str) -> ToolSettings:
        """Return the effective settings of a tool."""
        own = self.tool_config.get(tool, _NO_CONFIG)
        skip_truncation, skip_clear = own.skip_truncation, own.skip_clear
        if skip_truncation is None:
            skip_truncation = self.skip_truncation
        if skip_clear is None:
            skip_clear = self.skip_clear
        return ToolSettings(
            own.backend or self.backend,
            not skip_truncation and tool not in self.trunc_exclude,
            own.trunc_handler,
            not skip_clear and tool not in self.clear_exclude,
            own.clear_handler,
        )

    @property
    def clears(self) -> bool:
        """Whether the results of any tool are cleared."""
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


_NO_CONFIG: Final = ToolConfig()

_NUMBERS: Final = (
    "max_length_for_trunc",
    "preview_length",
    "max_tokens_for_clear",
    "clear_retention_suffix_limit",
    "clear_at_least_tokens",
    "clear_down_to_tokens",
)


def check_settings(settings: ReductionSettings) -> None:
    """Check all settings.

    Raises:
        ValueError: one is not valid; the message names it and says what to do.
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


def _check_names(settings: ReductionSettings) -> None:
    parts = settings.root_dir.split("/")
    if ".." in parts or not any(parts):
        raise ValueError(f"root_dir must name a directory without `..`, not {settings.root_dir!r}.")
    if not settings.read_file_tool_name.isidentifier():
        raise ValueError(
            f"read_file_tool_name must be a tool name, not {settings.read_file_tool_name!r}."
        )
    known = get_args(Language)
    if settings.language is not None and settings.language not in known:
        raise ValueError(
            f"language {settings.language!r} is not supported; use one of {', '.join(known)}."
        )
    for name in ("trunc_exclude", "clear_exclude"):
        if isinstance(getattr(settings, name), str):
            raise ValueError(f"{name} must be a list of tool names, not one string.")  # noqa: TRY004  # one error for all wrong settings
    for name, own in settings.tool_config.items():
        if not isinstance(own, ToolConfig):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
            raise ValueError(f"tool_config[{name!r}] must be a ToolConfig, not {own!r}.")  # noqa: TRY004  # one error for all wrong settings


def _check_backends(settings: ReductionSettings) -> None:
    if settings.backend is not None:
        return
    if not settings.skip_truncation:
        raise ValueError(
            "ToolReduction needs a backend to save long results to. Pass one, for instance "
            "MemoryFiles(), or disable truncation with skip_truncation=True."
        )
    for name, own in settings.tool_config.items():
        if own.skip_truncation is False and own.backend is None:
            raise ValueError(
                f"tool_config[{name!r}] enables truncation, but neither it nor the "
                "ToolReduction has a backend to save to."
            )


def _check_retention(retention: Retention) -> None:
    if retention.max_bytes is None and retention.max_age_s is None:
        raise ValueError(
            "Retention needs max_bytes or max_age_s; with neither nothing is ever removed."
        )
    for name in ("max_bytes", "max_age_s", "min_age_s"):
        value = getattr(retention, name)
        if value is not None and not value >= 0:
            raise ValueError(f"Retention.{name} must be 0 or more, not {value!r}.")

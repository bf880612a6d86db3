"""`ToolReduction`: the middleware that keeps tool results from filling the context."""

import time
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Concatenate, Final, ParamSpec, TypeVar

from taskloom.agent import (
    Message,
    Middleware,
    Part,
    RichStreamingToolHandler,
    RichToolHandler,
    RunSetup,
    State,
    StreamingToolHandler,
    TextPart,
    ToolHandler,
    ToolRequest,
    as_tool,
    run_language,
)
from taskloom.middleware.reduction.clearing import Clearing
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload
from taskloom.middleware.reduction.pruning import (
    SavedFile,
    list_saved,
    prune,
    referencing_texts,
)
from taskloom.middleware.reduction.read_tool import read_tool
from taskloom.middleware.reduction.settings import (
    ReductionSettings,
    Retention,
    ToolDetail,
    ToolSettings,
    check_settings,
)
from taskloom.middleware.reduction.store import ResultStore
from taskloom.middleware.reduction.streams import StreamTruncation
from taskloom.middleware.reduction.texts import reduction_texts
from taskloom.middleware.reduction.tokens import TokenCache, TokenCounter
from taskloom.middleware.reduction.truncation import Truncation

READ_SAVED: Final = "read_saved_result"
"""The name of the read tool where the agent has its own tool with the configured name."""

_P = ParamSpec("_P")
_S = TypeVar("_S")
_M = TypeVar("_M")


def _takes_fields_of(
    settings: Callable[_P, _S],
) -> Callable[[Callable[[_M, _S], None]], Callable[Concatenate[_M, _P], None]]:
    """Let a constructor take the fields of its settings, typed, without listing them again."""

    def decorate(init: Callable[[_M, _S], None]) -> Callable[Concatenate[_M, _P], None]:
        def __init__(self: _M, /, *args: _P.args, **kwargs: _P.kwargs) -> None:  # noqa: N807 - it replaces a constructor
            init(self, settings(*args, **kwargs))

        __init__.__doc__ = init.__doc__
        return __init__

    return decorate


class _RunData:
    """The data of one run, kept in the run's context."""

    def __init__(
        self,
        counter: TokenCounter,
        read_tool_name: str,
        *,
        adds_read_tool: bool,
        messages: Sequence[Message] = (),
    ) -> None:
        self.tokens = TokenCache(counter)
        self.read_tool_name = read_tool_name
        self.adds_read_tool = adds_read_tool
        self.first_messages = messages
        self.return_directly: Collection[str] = ()
        self.saved_paths: set[str] = set()

    def referencing_texts(self) -> Iterator[str]:
        """Yield all text of the run that may name a saved file."""
        yield from referencing_texts(self.tokens.messages or self.first_messages)
        yield from self.saved_paths  # Also paths that are in no message yet.


_RUNS: Final[ContextVar[Mapping[int, _RunData]]] = ContextVar("taskloom_reduction")


class ToolReduction(Middleware):
    """Saves long results at once, and old ones when the context is full.

    Agent(model, tools, [ToolReduction(MemoryFiles())])
    """

    @_takes_fields_of(ReductionSettings)
    def __init__(self, settings: ReductionSettings) -> None:
        """Take the fields of `ReductionSettings`; `docs/guide/reduction.md` describes each.

        Raises:
            ValueError: a setting is not valid.
        """
        check_settings(settings)
        self._settings = settings
        self._store = ResultStore(settings.root_dir, settings.backends)
        trunc = Offload("trunc", self._store, settings.trunc_path, self._record_path)
        clear = Offload("clear", self._store, settings.clear_path, self._record_path)
        self._truncation = Truncation(settings, trunc, self._notices)
        self._clearing = Clearing(settings, clear, self._notices)
        self._runs: weakref.WeakSet[_RunData] = weakref.WeakSet()

    async def before_agent(self, setup: RunSetup) -> None:
        """Add the read tool, and remove saved files by the retention."""
        settings = self._settings
        names = {as_tool(one).name for one in setup.tools}
        name, taken = settings.read_file_tool_name, settings.read_file_tool_name in names
        adds_read_tool = not (taken and settings.trust_own_read_tool)
        if taken and adds_read_tool:
            name = _free_name(names)
        run = _RunData(
            settings.token_counter, name, adds_read_tool=adds_read_tool, messages=setup.messages
        )
        # The set itself and not a copy: later middlewares may change it.
        run.return_directly = setup.return_directly
        self._runs.add(run)
        _RUNS.set({**_RUNS.get({}), id(self): run})
        if adds_read_tool and settings.backends:
            texts = reduction_texts(settings.language or run_language())
            setup.tools.append(read_tool(name, self._store, texts, settings.max_length_for_trunc))
        if settings.retention is not None:
            await self._try_prune(setup)

    async def _try_prune(self, setup: RunSetup) -> None:
        try:
            await self.prune(setup.messages)
        except Exception as error:  # noqa: BLE001  # a failed clean-up must not end the run
            no_call = ToolDetail("", "", "{}", "")
            await self._truncation.offload.warn(no_call, self._store.root_dir, error)

    def _run(self) -> _RunData:
        run = _RUNS.get({}).get(id(self))
        if run is None:  # A hook was called outside a run: nothing is kept.
            settings = self._settings
            return _RunData(
                settings.token_counter, settings.read_file_tool_name, adds_read_tool=True
            )
        return run

    def _record_path(self, path: str) -> None:
        self._run().saved_paths.add(path)

    def _notices(self) -> Notices:
        settings = self._settings
        texts = reduction_texts(settings.language or run_language())
        return Notices(texts, self._run().read_tool_name, settings.preview_length)

    async def before_model(self, state: State) -> State | None:
        """Clear old results if the context is over its limit."""
        if not self._settings.clears:
            return None
        return await self._clearing.clear(state, self._run().tokens)

    def _settings_for(self, request: ToolRequest) -> ToolSettings | None:
        """Return the settings of a call; None if its result is not truncated."""
        run = self._run()
        if run.adds_read_tool and request.name == run.read_tool_name:
            return None  # The read tool limits its own results, and they are saved already.
        if request.name in run.return_directly:
            return None  # The caller gets the result itself, not a notice.
        settings = self._settings.for_tool(request.name)
        return settings if settings.truncates else None

    @asynccontextmanager
    async def _truncate_errors(
        self, request: ToolRequest, settings: ToolSettings | None
    ) -> AsyncGenerator[None]:
        try:
            yield
        except Exception as error:
            if settings is None:
                raise
            shorter = await self._truncation.error(request, error, settings)
            if shorter is None:
                raise
            raise shorter from error

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        """Truncate a text result."""
        settings = self._settings_for(request)
        async with self._truncate_errors(request, settings):
            result = await call(request)
        if settings is None:
            return result
        text = result if isinstance(result, str) else str(result)  # pyright: ignore[reportUnnecessaryIsInstance]  # inner wrappers may return anything
        return await self._truncation.text(request, text, settings)

    async def wrap_rich_tool_call(
        self, request: ToolRequest, call: RichToolHandler
    ) -> Sequence[Part]:
        """Truncate the text in parts."""
        settings = self._settings_for(request)
        async with self._truncate_errors(request, settings):
            result = await call(request)
        return (
            result if settings is None else await self._truncation.parts(request, result, settings)
        )

    def wrap_streaming_tool_call(
        self, request: ToolRequest, call: StreamingToolHandler
    ) -> AsyncIterator[str]:
        """Truncate a stream of text."""
        settings = self._settings_for(request)
        if settings is None:
            return call(request)
        stream = StreamTruncation(self._truncation, request, settings, plain=True)
        return _texts(stream.cut(_as_parts(call(request))))

    def wrap_rich_streaming_tool_call(
        self, request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        """Truncate a stream of parts."""
        settings = self._settings_for(request)
        if settings is None:
            return call(request)
        return StreamTruncation(self._truncation, request, settings, plain=False).cut(call(request))

    async def saved_files(self) -> list[SavedFile]:
        """Return all saved files under the root directory, oldest first."""
        return await list_saved(self._store)

    async def prune(
        self, messages: Iterable[Message] = (), retention: Retention | None = None
    ) -> list[str]:
        """Remove saved files, and return their paths.

        Args:
            messages: conversations stored elsewhere; files that they or the current runs name
                are kept.
            retention: which files to remove; by default the reduction's own setting.

        Raises:
            ValueError: neither the call nor the reduction has a retention.
        """
        retention = retention or self._settings.retention
        if retention is None:
            raise ValueError("Pass a Retention to prune() or to the ToolReduction.")
        live = [*referencing_texts(messages)]
        for run in list(self._runs):
            live += run.referencing_texts()
        return await prune(self._store, retention, live, time.time())


def _free_name(names: Collection[str]) -> str:
    number, name = 1, READ_SAVED
    while name in names:
        number += 1
        name = f"{READ_SAVED}_{number}"
    return name


async def _as_parts(chunks: AsyncIterator[str]) -> AsyncIterator[Part]:
    try:
        async for chunk in chunks:
            yield TextPart(chunk)
    finally:
        await _close(chunks)


async def _texts(parts: AsyncIterator[Part]) -> AsyncIterator[str]:
    try:
        async for part in parts:
            if isinstance(part, TextPart):
                yield part.text
    finally:
        await _close(parts)


async def _close(stream: AsyncIterator[object]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()

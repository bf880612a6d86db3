"""`ToolReduction`: the middleware that keeps tool results from eating the context."""

import time
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from taskloom.agent import (
    Language,
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
)
from taskloom.files import Backend
from taskloom.middleware.reduction.clearing import Clearing
from taskloom.middleware.reduction.handlers import PathOf, PostProcess, ToolDetail
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload
from taskloom.middleware.reduction.pruning import SavedFile, list_saved, prune, texts_of
from taskloom.middleware.reduction.read_tool import read_tool
from taskloom.middleware.reduction.settings import (
    ROOT_DIR,
    Choice,
    Retention,
    Settings,
    ToolConfig,
    check,
)
from taskloom.middleware.reduction.store import Store
from taskloom.middleware.reduction.streams import Stream
from taskloom.middleware.reduction.texts import reduction_texts
from taskloom.middleware.reduction.token_cache import TokenCache
from taskloom.middleware.reduction.tokens import TokenCounter, utf8_tokens
from taskloom.middleware.reduction.truncation import Truncation

READ_SAVED: Final = "read_saved_result"
"""The reader's name where the agent has a tool of its own under the other one."""


class _Here:
    """What one run has of a reduction; it lives in the run's context and dies with it."""

    def __init__(
        self, counter: TokenCounter, reader: str, *, own: bool, given: Sequence[Message] = ()
    ) -> None:
        self.ledger = TokenCache(counter)
        self.reader = reader
        self.own = own
        self.given = given
        self.direct: Collection[str] = ()
        self.paths: set[str] = set()

    def pointing(self) -> Iterator[str]:
        """Yield all text of the run that may point to something saved."""
        yield from texts_of(self.ledger.known or self.given)
        yield from self.paths  # Also what no message tells of yet.


_HERE: Final[ContextVar[Mapping[int, _Here]]] = ContextVar("taskloom_reduction")


class ToolReduction(Middleware):
    """Saves long results as they come and old ones when the context is full.

    Agent(model, tools, [ToolReduction(MemoryFiles())])
    """

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        root_dir: str = ROOT_DIR,
        skip_truncation: bool = False,
        skip_clear: bool = False,
        read_file_tool_name: str = "read_file",
        trust_own_read_tool: bool = False,
        max_length_for_trunc: int = 50_000,
        preview_length: int = 400,
        token_counter: TokenCounter = utf8_tokens,
        max_tokens_for_clear: int = 30_000,
        clear_retention_suffix_limit: int = 1,
        clear_at_least_tokens: int = 0,
        clear_down_to_tokens: int = 0,
        clear_arguments_over: int | None = 2_000,
        clear_post_process: PostProcess | None = None,
        tool_config: Mapping[str, ToolConfig] | None = None,
        trunc_exclude: Collection[str] = (),
        clear_exclude: Collection[str] = (),
        trunc_path: PathOf | None = None,
        clear_path: PathOf | None = None,
        retention: Retention | None = None,
        language: Language | None = None,
    ) -> None:
        """Put a reduction together; `docs/guide/reduction.md` tells what each setting does.

        Raises:
            ValueError: the settings cannot be meant so.
        """
        self._settings = Settings(
            backend=backend,
            root_dir=root_dir,
            skip_truncation=skip_truncation,
            skip_clear=skip_clear,
            read_file_tool_name=read_file_tool_name,
            trust_own_read_tool=trust_own_read_tool,
            max_length_for_trunc=max_length_for_trunc,
            preview_length=preview_length,
            token_counter=token_counter,
            max_tokens_for_clear=max_tokens_for_clear,
            clear_retention_suffix_limit=clear_retention_suffix_limit,
            clear_at_least_tokens=clear_at_least_tokens,
            clear_down_to_tokens=clear_down_to_tokens,
            clear_arguments_over=clear_arguments_over,
            clear_post_process=clear_post_process,
            tool_config=dict(tool_config or {}),
            trunc_exclude=trunc_exclude,
            clear_exclude=clear_exclude,
            trunc_path=trunc_path,
            clear_path=clear_path,
            retention=retention,
            language=language,
        )
        check(self._settings)
        self._set_up(self._settings)

    def _set_up(self, settings: Settings) -> None:
        store = Store(settings.root_dir, settings.backends)
        trunc = Offload("trunc", store, settings.trunc_path, self._remember)
        clear = Offload("clear", store, settings.clear_path, self._remember)
        self._store = store
        self._truncation = Truncation(settings, trunc, self._notices)
        self._clearing = Clearing(settings, clear, self._notices)
        self._live: weakref.WeakSet[_Here] = weakref.WeakSet()

    async def before_agent(self, setup: RunSetup) -> None:
        """Offer the read tool, and remove what the retention lets go."""
        settings = self._settings
        names = {as_tool(one).name for one in setup.tools}
        reader, taken = settings.read_file_tool_name, settings.read_file_tool_name in names
        own = not (taken and settings.trust_own_read_tool)
        if taken and own:
            reader = _free_name(names)
        here = _Here(settings.token_counter, reader, own=own, given=setup.messages)
        here.direct = setup.return_directly  # The set itself: later middlewares may change it.
        self._live.add(here)
        _HERE.set({**_HERE.get({}), id(self): here})
        if own and settings.backends:
            texts = reduction_texts(settings.language)
            setup.tools.append(read_tool(reader, self._store, texts, settings.max_length_for_trunc))
        if settings.retention is not None:
            await self._prune_unless_it_fails(setup)

    async def _prune_unless_it_fails(self, setup: RunSetup) -> None:
        try:
            await self.prune(setup.messages)
        except Exception as error:  # noqa: BLE001  # tidying up must not cost the run
            nobody = ToolDetail("", "", "{}", "")
            await self._truncation.offload.warn(nobody, self._store.root_dir, error)

    def _here(self) -> _Here:
        here = _HERE.get({}).get(id(self))
        if here is None:  # A hook called outside of a run: nothing is remembered.
            here = _Here(self._settings.token_counter, self._settings.read_file_tool_name, own=True)
        return here

    def _remember(self, path: str) -> None:
        self._here().paths.add(path)

    def _notices(self) -> Notices:
        settings = self._settings
        texts = reduction_texts(settings.language)
        return Notices(texts, self._here().reader, settings.preview_length)

    async def before_model(self, state: State) -> State | None:
        """Clear old results if the context is over its limit."""
        if not self._settings.clears:
            return None
        return await self._clearing.clear(state, self._here().ledger)

    def _choice(self, request: ToolRequest) -> Choice | None:
        """Return what holds for a call; None if its result is none of ours to cut."""
        here = self._here()
        if here.own and request.name == here.reader:
            return None  # It bounds itself, and what it reads is saved.
        if request.name in here.direct:
            return None  # It goes to the caller, who wants the result and not a notice.
        choice = self._settings.choose(request.name)
        return choice if choice.truncates else None

    @asynccontextmanager
    async def _errors_cut(
        self, request: ToolRequest, choice: Choice | None
    ) -> AsyncGenerator[None]:
        try:
            yield
        except Exception as error:
            if choice is None:
                raise
            shorter = await self._truncation.error(request, error, choice)
            if shorter is None:
                raise
            raise shorter from error

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        """Cut a text."""
        choice = self._choice(request)
        async with self._errors_cut(request, choice):
            result = await call(request)
        if choice is None:
            return result
        text = result if isinstance(result, str) else str(result)  # pyright: ignore[reportUnnecessaryIsInstance]  # wrappers inside may give anything
        return await self._truncation.text(request, text, choice)

    async def wrap_rich_tool_call(
        self, request: ToolRequest, call: RichToolHandler
    ) -> Sequence[Part]:
        """Cut the text of parts."""
        choice = self._choice(request)
        async with self._errors_cut(request, choice):
            result = await call(request)
        return result if choice is None else await self._truncation.parts(request, result, choice)

    def wrap_streaming_tool_call(
        self, request: ToolRequest, call: StreamingToolHandler
    ) -> AsyncIterator[str]:
        """Cut a stream of text."""
        choice = self._choice(request)
        if choice is None:
            return call(request)
        stream = Stream(self._truncation, request, choice, plain=True)
        return _texts(stream.cut(_as_parts(call(request))))

    def wrap_rich_streaming_tool_call(
        self, request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        """Cut a stream of parts."""
        choice = self._choice(request)
        if choice is None:
            return call(request)
        return Stream(self._truncation, request, choice, plain=False).cut(call(request))

    async def saved(self) -> list[SavedFile]:
        """List everything that is saved under the root directory, oldest first."""
        return await list_saved(self._store)

    async def prune(
        self, messages: Iterable[Message] = (), retention: Retention | None = None
    ) -> list[str]:
        """Remove saved content that may go, and return the paths.

        Args:
            messages: conversations kept elsewhere; what they point to stays, as does what the
                runs under way point to.
            retention: what may go; by default the reduction's own setting.

        Raises:
            ValueError: there is no such setting.
        """
        wanted = retention or self._settings.retention
        if wanted is None:
            raise ValueError("Say what may go: give a Retention here or to the ToolReduction.")
        live = [*texts_of(messages)]
        for here in list(self._live):
            live += here.pointing()
        return await prune(self._store, wanted, live, time.time())


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

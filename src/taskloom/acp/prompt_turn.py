"""One prompt turn: from what the person said to the stop reason, cancelled at any point or not."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import anyio
import anyio.to_thread
from acp.exceptions import RequestError

from taskloom.acp.event_updates import UpdateWriter
from taskloom.acp.modes import Mode
from taskloom.acp.router import INTERNAL, to_request_error
from taskloom.acp.session import LiveSession
from taskloom.acp.turn_agent import build_turn_agent
from taskloom.agent import Agent, Event, Message, ModelReply, Result, Run, ToolResult
from taskloom.errors import TaskloomError
from taskloom.session import CommandRecord, PromptRecord, title_of

FINISH_S: Final = 5.0
"""How long the end of a turn may take when the client no longer reads or the disk hangs."""

_STOP: Final = {"max_iterations": "max_turn_requests", "cancelled": "cancelled"}
_FINISH: Final = {"length": "max_tokens", "content_filter": "refusal"}
_LOG = logging.getLogger("taskloom.acp")


class PromptTurn:
    """One turn of a session. It is taken once."""

    def __init__(self, session: LiveSession) -> None:
        """Nothing happens yet; it can be cancelled already."""
        self._session = session
        self._scope = anyio.CancelScope()
        self._run: Run | None = None
        self._result: Result | None = None
        self._cancelled = False
        self._begun = False
        self.over = asyncio.Event()

    def cancel(self) -> None:
        """End the turn as cancelled, wherever it is."""
        self._cancelled = True
        if self._run is not None:
            self._run.cancel()
        else:
            self._scope.cancel()

    async def tell(self, asked: str, answering: Callable[[], Awaitable[str]]) -> str:
        """Answer with a text of our own, which the model does not get to know."""
        return await self._guarded(self._tell(asked, answering))

    async def take(self, message: Message, mode: Mode) -> str:
        """Let the agent work on what the person said; return the stop reason.

        Raises:
            RequestError: it failed; all that was done before is kept.
        """
        return await self._guarded(self._take(message, mode))

    async def _guarded(self, work: Coroutine[Any, Any, str]) -> str:
        """Do the turn's work, and end it in order whatever becomes of it."""
        stop = "cancelled"
        failure: BaseException | None = None
        self._session.publisher.release()
        try:
            with self._scope:
                stop = await work
        except TaskloomError as error:
            failure = to_request_error(error)
        except Exception as error:  # noqa: BLE001 - it is raised again when the turn is in order
            failure = error
        finally:
            failed = await self._finish("cancelled" if self._cancelled else stop)
            failure = failed or failure
            self.over.set()
        if self._cancelled:
            return "cancelled"  # Never an error, whatever the cancelling has caused.
        if failure is not None:
            raise failure
        return stop

    async def _tell(self, asked: str, answering: Callable[[], Awaitable[str]]) -> str:
        await self._begin()
        text = await answering()
        self._session.conversation.add(CommandRecord(asked, text))
        await self._session.say(text)
        return "end_turn"

    async def _take(self, message: Message, mode: Mode) -> str:
        session = self._session
        model = session.setup.make_model(session.cwd)
        await self._begin()
        given = [*session.conversation.messages, message]
        session.conversation.add(PromptRecord(message))
        await self._save()
        if not session.info.goal:
            title = title_of(message.text)
            await session.change(goal=title)
            await session.send({"sessionUpdate": "session_info_update", "title": title})
        kit = await build_turn_agent(session, mode)
        agent = Agent(
            model,
            kit.tools,
            kit.middleware,
            kit.instruction,
            name="taskloom",
            max_iterations=session.setup.max_iterations,
            retry=session.setup.retry,
            language=session.setup.language,
        )
        telling = UpdateWriter(
            session.send, session.desk, session.cwd, kinds=kit.kinds, heard=kit.heard
        )
        try:
            result = await self._listen(agent.run(given), telling)
            await session.staff.settle()
        finally:
            with anyio.move_on_after(FINISH_S, shield=True):
                await telling.close()
        if telling.tokens:
            size = max(session.setup.context_tokens, telling.tokens)
            await session.send(
                {"sessionUpdate": "usage_update", "used": telling.tokens, "size": size}
            )
        return _stop_reason(result)

    async def _begin(self) -> None:
        session = self._session
        await session.begin_turn()
        self._begun = True
        session.tasks.begin()
        await session.staff.begin()

    async def _listen(self, run: Run, telling: UpdateWriter) -> Result:
        self._run = run
        if self._cancelled:
            run.cancel()
        try:
            async for event in run:
                said = await telling.tell(event)
                if said is not None:
                    self._session.conversation.add(said)
                if _is_worth_keeping(event):
                    await self._save()
        finally:
            self._run = None
            self._result = _result_of(run)
        return run.result

    async def _save(self) -> None:
        await anyio.to_thread.run_sync(self._session.conversation.save)

    async def _finish(self, stop: str) -> Exception | None:
        """Keep what was said, and show the plans as they are; return what went wrong with it."""
        session, failure = self._session, None
        try:
            if self._begun:
                with anyio.move_on_after(FINISH_S, shield=True):
                    failure = await self._conclude(stop)
            for end in (session.staff.end, session.show_plans):
                with anyio.move_on_after(FINISH_S, shield=True):
                    await end()
        except (OSError, RequestError) as error:
            _LOG.warning("the plans could not be shown: %s", error)
        finally:
            session.publisher.hold()
            session.end_turn()
        return failure

    async def _conclude(self, stop: str) -> RequestError | None:
        """Write down the turn's end; return what kept that from being done."""
        conversation = self._session.conversation
        messages = None if self._result is None else self._result.messages
        try:
            await anyio.to_thread.run_sync(conversation.finish, messages, stop)
            await self._session.change()
        except TaskloomError as error:
            _LOG.warning("the turn could not be recorded: %s", error)
            return to_request_error(error)
        finally:
            conversation.end()
        return None


def _is_worth_keeping(event: Event) -> bool:
    """Tell whether a process that is killed now should have written down what it did."""
    if isinstance(event, ModelReply):
        return bool(event.message.tool_calls)
    return isinstance(event, ToolResult)


def _result_of(run: Run) -> Result | None:
    """Return a run's result; None if it never came to one."""
    try:
        return run.result
    except TaskloomError:
        return None


def _stop_reason(result: Result) -> str:
    """Return the protocol's word for how a run ended.

    Raises:
        RequestError: it failed.
    """
    if result.error is not None:
        if isinstance(result.error, TaskloomError):
            raise to_request_error(result.error) from result.error
        name = type(result.error).__name__
        raise RequestError(INTERNAL, f"The run failed: {name}: {result.error}") from result.error
    last = result.message.finish_reason if result.message is not None else ""
    return _STOP.get(result.stop_reason) or _FINISH.get(last, "end_turn")

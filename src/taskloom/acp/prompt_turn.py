"""One prompt turn: from the prompt to its stop reason, cancelled at any point or not."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import anyio
import anyio.to_thread
from acp.exceptions import RequestError

from taskloom.acp.modes import Mode
from taskloom.acp.protocol.router import INTERNAL, to_request_error
from taskloom.acp.protocol.updates import UpdateWriter
from taskloom.acp.session import OpenSession
from taskloom.acp.turn_agent import build_agent
from taskloom.agent import Event, Message, ModelReply, Result, Run, ToolResult
from taskloom.errors import TaskloomError
from taskloom.session import CommandRecord, PromptRecord, title_of

FINISH_S: Final = 5.0
"""How long each part of a turn's end may take if the client does not read or the disk hangs."""

_STOP: Final = {"max_iterations": "max_turn_requests", "cancelled": "cancelled"}
_FINISH: Final = {"length": "max_tokens", "content_filter": "refusal"}
_LOG = logging.getLogger("taskloom.acp")


class PromptTurn:
    """One turn of a session. Use it once: `run` or `answer`."""

    def __init__(self, session: OpenSession) -> None:
        """Take the session; the turn can be cancelled already."""
        self._session = session
        self._scope = anyio.CancelScope()
        self._run: Run | None = None
        self._result: Result | None = None
        self._cancelled = False
        self._begun = False
        self.ended = asyncio.Event()

    def cancel(self) -> None:
        """End the turn as cancelled, wherever it is."""
        self._cancelled = True
        if self._run is not None:
            self._run.cancel()
        else:
            self._scope.cancel()

    async def run(self, message: Message, mode: Mode) -> str:
        """Run the agent on a prompt; return the stop reason.

        Raises:
            RequestError: it failed; everything up to then is recorded.
        """
        return await self._finally_finish(self._run_agent(message, mode))

    async def answer(self, command: str, text: Callable[[], Awaitable[str]]) -> str:
        """Answer a command with a text that the model does not see; return the stop reason."""
        return await self._finally_finish(self._answer(command, text))

    async def _finally_finish(self, work: Coroutine[Any, Any, str]) -> str:
        """Do the turn's work, and finish the turn however the work ends."""
        stop = "cancelled"
        failure: BaseException | None = None
        self._session.publisher.release()
        try:
            with self._scope:
                stop = await work
        except TaskloomError as error:
            failure = to_request_error(error)
        except Exception as error:  # noqa: BLE001 - raised again when the turn is finished
            failure = error
        finally:
            failed = await self._finish("cancelled" if self._cancelled else stop)
            failure = failed or failure
            self.ended.set()
        if self._cancelled:
            return "cancelled"  # Never an error, even if the cancellation caused one.
        if failure is not None:
            raise failure
        return stop

    async def _answer(self, command: str, text: Callable[[], Awaitable[str]]) -> str:
        await self._begin()
        answer = await text()
        self._session.conversation.add(CommandRecord(command, answer))
        await self._session.send_text(answer)
        return "end_turn"

    async def _run_agent(self, message: Message, mode: Mode) -> str:
        session = self._session
        model = session.options.make_model(session.cwd)
        await self._begin()
        given = [*session.conversation.messages, message]
        session.conversation.add(PromptRecord(message))
        await self._save()
        if not session.info.goal:
            title = title_of(message.text)
            await session.update(goal=title)
            await session.send({"sessionUpdate": "session_info_update", "title": title})
        agent = await build_agent(session, mode, model)
        updates = UpdateWriter(
            session.send,
            session.tool_calls,
            session.cwd,
            kinds=session.tool_kinds,
            task_list=session.task_list,
        )
        try:
            result = await self._send_events(agent.run(given), updates)
            await session.workers.wait_idle()
        finally:
            with anyio.move_on_after(FINISH_S, shield=True):
                await updates.close()
        if updates.tokens:
            size = max(session.options.context_tokens, updates.tokens)
            usage = {"sessionUpdate": "usage_update", "used": updates.tokens, "size": size}
            await session.send(usage)
        return _stop_reason(result)

    async def _begin(self) -> None:
        session = self._session
        await session.begin_turn()
        self._begun = True
        session.task_list.begin_turn()
        await session.workers.begin_turn()

    async def _send_events(self, run: Run, updates: UpdateWriter) -> Result:
        self._run = run
        if self._cancelled:
            run.cancel()
        try:
            async for event in run:
                record = await updates.send_event(event)
                if record is not None:
                    self._session.conversation.add(record)
                if _needs_save(event):
                    await self._save()
        finally:
            self._run = None
            self._result = _result_of(run)
        return run.result

    async def _save(self) -> None:
        if self._session.conversation.has_unsaved:
            await anyio.to_thread.run_sync(self._session.conversation.save)

    async def _finish(self, stop: str) -> Exception | None:
        """Record the turn, stop workers, send the plans; return what could not be recorded."""
        session, failure = self._session, None
        try:
            if self._begun:
                with anyio.move_on_after(FINISH_S, shield=True):
                    failure = await self._record_end(stop)
            for finish in (session.workers.end_turn, session.send_plans):
                with anyio.move_on_after(FINISH_S, shield=True):
                    await finish()
        except (OSError, RequestError) as error:
            _LOG.warning("cannot send the plans: %s", error)
        finally:
            session.publisher.hold()
            session.end_turn()
        return failure

    async def _record_end(self, stop: str) -> RequestError | None:
        conversation = self._session.conversation
        messages = None if self._result is None else self._result.messages
        try:
            await anyio.to_thread.run_sync(conversation.finish, messages, stop)
            await self._session.update()
        except TaskloomError as error:
            _LOG.warning("cannot record the turn: %s", error)
            return to_request_error(error)
        finally:
            conversation.end()
        return None


def _needs_save(event: Event) -> bool:
    """Return whether what happened must be in the transcript even if the process is killed now."""
    if isinstance(event, ModelReply):
        return bool(event.message.tool_calls)
    return isinstance(event, ToolResult)


def _result_of(run: Run) -> Result | None:
    """Return a run's result; None if it never got one."""
    try:
        return run.result
    except TaskloomError:
        return None


def _stop_reason(result: Result) -> str:
    """Return the protocol's stop reason for a run that ended.

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

"""One model call, from the outside in: failover, retry, events, wrappers, model.

Only a reply that was accepted leaves here. The pieces of an attempt that was not are marked
as superseded before the next attempt's pieces come.
"""

import anyio

from taskloom.agent.agent_config import AgentConfig
from taskloom.agent.cancellation import encodable
from taskloom.agent.chat_model import ChatModel, Delta, ModelRequest
from taskloom.agent.errors import HookError, ModelError, ReplyRejectedError, RetriesExhaustedError
from taskloom.agent.events import ModelDelta, ModelSuperseded
from taskloom.agent.messages import Message, ToolCall, new_id
from taskloom.agent.middleware import ModelHandler
from taskloom.agent.middleware_chain import wrap_model
from taskloom.agent.retry import Attempt, asks_too_much
from taskloom.agent.run_context import RunContext
from taskloom.agent.tracing import (
    CHAT,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    REQUEST_MODEL,
    active_tracer,
    span,
)


class ModelCaller:
    """The model calls of one run; it remembers the model that worked."""

    def __init__(self, plan: AgentConfig, live: RunContext) -> None:
        """Begin with the agent's own model."""
        self._plan = plan
        self._live = live
        self._tracer = active_tracer()
        self._tried = 0
        self._broken: ModelSuperseded | None = None
        self._use(plan.model)

    def _use(self, model: ChatModel) -> None:
        self._model = model
        self._handler: ModelHandler = wrap_model(
            self._live, self._plan.hooks.wrap_model, model.generate
        )

    async def ask(self, request: ModelRequest) -> Message:
        """Return the accepted reply, with an id and with ids for its calls."""
        while True:
            try:
                return await self._ask_one_model(request)
            except HookError:
                raise
            except Exception as error:
                successor = self._successor(error)
                if successor is None:
                    raise
                self._use(successor)

    def _successor(self, error: Exception) -> ChatModel | None:
        failover = self._plan.failover
        self._tried += 1
        if callable(failover):
            return failover(Attempt(self._tried, error))
        return failover[self._tried - 1] if self._tried <= len(failover) else None

    async def _ask_one_model(self, request: ModelRequest) -> Message:
        retry, number = self._plan.retry, 1
        while True:
            attempt = await self._attempt(request, number)
            if retry is None or not retry.should_retry(attempt):
                if attempt.error is not None:
                    raise attempt.error
                assert attempt.reply is not None
                return attempt.reply
            self._supersede(attempt)
            if number > retry.max_retries or asks_too_much(attempt):
                last = attempt.error or ReplyRejectedError()
                raise RetriesExhaustedError(number, last) from last
            await anyio.sleep(retry.wait_s(attempt))
            number += 1

    async def _attempt(self, request: ModelRequest, number: int) -> Attempt:
        if self._broken is not None:
            await self._live.emit(self._broken)
            self._broken = None
        self._message_id = new_id("m_")
        self._streamed = False
        if self._live.stream:
            request = request.replace(on_delta=self._on_delta)
        try:
            reply = await self._traced(request)
            return Attempt(number, reply=_checked(reply).stamped(self._message_id))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; retry judges it
            attempt = Attempt(number, error)
            self._supersede(attempt)
            return attempt

    async def _traced(self, request: ModelRequest) -> Message:
        if self._tracer is None:
            return await self._handler(request)
        model = self._model.name
        with span(self._tracer, CHAT, model, {REQUEST_MODEL: model}) as current:
            reply = await self._handler(request)
            if reply.usage is not None:
                current.set_attribute(INPUT_TOKENS, reply.usage.input_tokens)
                current.set_attribute(OUTPUT_TOKENS, reply.usage.output_tokens)
            return reply

    def _supersede(self, attempt: Attempt) -> None:
        if self._streamed:
            why = str(attempt.error or ReplyRejectedError())
            self._broken = ModelSuperseded(self._message_id, attempt.number, why)

    async def _on_delta(self, delta: Delta) -> None:
        self._streamed = True
        await self._live.emit(ModelDelta(self._message_id, delta))


def _checked(reply: object) -> Message:
    if not isinstance(reply, Message) or reply.role != "assistant":
        got = f"a {reply.role} message" if isinstance(reply, Message) else type(reply).__name__
        raise ModelError(
            f"The model call gave {got} instead of an assistant message; a `wrap_model` hook "
            "must return what `await call(request)` returned, changed or not.",
            kind="no_reply",
            retryable=False,
        )
    if not _is_content(reply.content) or not all(map(_is_call, reply.tool_calls)):
        raise ModelError(
            "The model's reply is malformed: its content must be text or a tuple of parts, and "
            "the id, name and arguments of its tool calls must be text.",
            kind="bad_reply",
        )
    return with_call_ids(_encodable(reply))


def _is_content(content: object) -> bool:
    return isinstance(content, str | tuple)


def _is_call(call: ToolCall) -> bool:
    return all(isinstance(value, str) for value in (call.id, call.name, call.arguments))  # pyright: ignore[reportUnnecessaryIsInstance]  # a foreign model made it


def _encodable(reply: Message) -> Message:
    content = reply.content
    if isinstance(content, str) and encodable(content) is not content:
        reply = reply.replace(content=encodable(content))
    if any(encodable(call.arguments) is not call.arguments for call in reply.tool_calls):
        calls = (ToolCall(one.id, one.name, encodable(one.arguments)) for one in reply.tool_calls)
        reply = reply.replace(tool_calls=tuple(calls))
    return reply


def with_call_ids(reply: Message) -> Message:
    """Give each tool call an id of its own: some servers give none, or the same to all."""
    calls = reply.tool_calls
    if len({call.id for call in calls if call.id}) == len(calls):
        return reply
    seen: set[str] = set()
    fixed: list[ToolCall] = []
    for call in calls:
        id_ = call.id if call.id and call.id not in seen else new_id("c_")
        seen.add(id_)
        fixed.append(ToolCall(id_, call.name, call.arguments))
    return reply.replace(tool_calls=tuple(fixed))

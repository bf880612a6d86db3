"""One model call, from the outside in: failover, retry, events, wrappers, model.

Only an accepted reply leaves here. If an attempt fails after its first chunks were sent, a
`ModelSuperseded` event goes out before the chunks of the next attempt.
"""

import anyio

from taskloom.agent.chat_model import ChatModel, Delta, ModelRequest
from taskloom.agent.errors import HookError, ModelError, ReplyRejectedError, RetriesExhaustedError
from taskloom.agent.events import ModelDelta, ModelSuperseded
from taskloom.agent.loop.config import AgentConfig
from taskloom.agent.loop.hooks import wrap_model
from taskloom.agent.loop.run_context import RunContext
from taskloom.agent.loop.tracing import CHAT, REQUEST_MODEL, set_usage, span
from taskloom.agent.messages import Message, ToolCall, encodable, new_id
from taskloom.agent.middleware import ModelHandler
from taskloom.agent.retry import Attempt, asks_for_too_long_a_wait


class ModelCaller:
    """The model calls of one run; after a failover it keeps the model that worked."""

    def __init__(self, config: AgentConfig, context: RunContext) -> None:
        self._config = config
        self._context = context
        self._models_failed = 0
        self._superseded: ModelSuperseded | None = None
        self._use(config.model)

    def _use(self, model: ChatModel) -> None:
        self._model = model
        self._handler: ModelHandler = wrap_model(
            self._context, self._config.hooks.wrap_model, model.generate
        )

    async def ask(self, request: ModelRequest) -> Message:
        """Return the accepted reply, with an id and with ids for its calls."""
        while True:
            try:
                return await self._ask_one_model(request)
            except HookError:
                raise
            except Exception as error:
                model = self._next_model(error)
                if model is None:
                    raise
                self._use(model)

    def _next_model(self, error: Exception) -> ChatModel | None:
        failover = self._config.failover
        self._models_failed += 1
        failed = self._models_failed
        if callable(failover):
            return failover(Attempt(failed, error))
        return failover[failed - 1] if failed <= len(failover) else None

    async def _ask_one_model(self, request: ModelRequest) -> Message:
        retry, number = self._config.retry, 1
        while True:
            attempt = await self._attempt(request, number)
            if retry is None or not retry.should_retry(attempt):
                if attempt.error is not None:
                    raise attempt.error
                assert attempt.reply is not None
                return attempt.reply
            self._supersede(attempt)
            if number > retry.max_retries or asks_for_too_long_a_wait(attempt):
                last = attempt.error or ReplyRejectedError()
                raise RetriesExhaustedError(number, last) from last
            await anyio.sleep(retry.wait_s(attempt))
            number += 1

    async def _attempt(self, request: ModelRequest, number: int) -> Attempt:
        if self._superseded is not None:
            await self._context.emit(self._superseded)
            self._superseded = None
        self._message_id = new_id("m_")
        self._streamed = False
        if self._context.stream:
            request = request.replace(on_delta=self._on_delta)
        name = self._model.name
        try:
            with span(self._context.tracer, CHAT, name, {REQUEST_MODEL: name}) as current:
                reply = _checked(await self._handler(request))
                set_usage(current, reply.usage)
            return Attempt(number, reply=reply.with_id(self._message_id))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; retry judges it
            attempt = Attempt(number, error)
            self._supersede(attempt)
            return attempt

    def _supersede(self, attempt: Attempt) -> None:
        if self._streamed:
            why = str(attempt.error or ReplyRejectedError())
            self._superseded = ModelSuperseded(self._message_id, attempt.number, why)

    async def _on_delta(self, delta: Delta) -> None:
        self._streamed = True
        await self._context.emit(ModelDelta(self._message_id, delta))


def _checked(reply: object) -> Message:
    if not isinstance(reply, Message) or reply.role != "assistant":
        got = f"a {reply.role} message" if isinstance(reply, Message) else type(reply).__name__
        raise ModelError(
            f"The model call returned {got} instead of an assistant message; a `wrap_model` hook "
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
    return all(isinstance(value, str) for value in (call.id, call.name, call.arguments))  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's model made it


def _encodable(reply: Message) -> Message:
    content = reply.content
    if isinstance(content, str) and encodable(content) is not content:
        reply = reply.replace(content=encodable(content))
    if any(encodable(call.arguments) is not call.arguments for call in reply.tool_calls):
        calls = (ToolCall(one.id, one.name, encodable(one.arguments)) for one in reply.tool_calls)
        reply = reply.replace(tool_calls=tuple(calls))
    return reply


def with_call_ids(reply: Message) -> Message:
    """Give each tool call a unique id: some servers send none, or the same one for all."""
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

"""Sends plans to a client: changes in a burst are joined, and the last state is always sent.

    publisher = PlanPublisher(send, capabilities)
    publisher.publish(ItemsPlan("release", entries))     # sent soon
    await publisher.flush()                              # before the answer to a prompt

`send` sends one update; `session_sender(connection, session_id)` returns one for a connection of
the official SDK. `capabilities` are the client's, as they came over the wire.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from taskloom.acp.plans.client_state import ClientPlanState
from taskloom.acp.plans.encoding import Update, plan_format_of
from taskloom.acp.plans.plan import Plan

JOIN_S: Final = 0.15
"""At most one update per plan in this time: fast enough to look live, slow enough to read."""

_LOG = logging.getLogger("taskloom.acp")

Send: TypeAlias = Callable[[Update], Awaitable[None]]
"""Sends one update."""


class Scheduled(Protocol):
    """What `Timer.call_later` returns."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


class Timer(Protocol):
    """A clock that calls back; an event loop is one."""

    def time(self) -> float:
        """Return the time in seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Scheduled:
        """Call back after a delay."""
        ...


class PlanPublisher:
    """The plans of one session as one client sees them. For one event loop."""

    def __init__(
        self,
        send: Send,
        capabilities: Mapping[str, Any] | None,
        *,
        join_s: float = JOIN_S,
        timer: Timer | None = None,
    ) -> None:
        """Choose the format by what the client announced.

        Args:
            send: sends one update.
            capabilities: `clientCapabilities` of the initialize request, as they came.
            join_s: at most one update per plan in this time.
            timer: by default the running event loop.
        """
        self._state = ClientPlanState(plan_format_of(capabilities))
        self._send = send
        self._join_s = join_s
        self._timer = timer
        self._timers: dict[str, Scheduled] = {}
        self._sent_at: dict[str, float] = {}
        self._sending_lock = asyncio.Lock()
        self._sending: set[asyncio.Task[None]] = set()
        self._held = False

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The current plans, in the order in which they were first published."""
        return self._state.plans

    def publish(self, plan: Plan) -> None:
        """Add a plan or replace the one with its id; it is sent soon.

        Raises:
            RefusedError: its id belongs to a plan of another type.
        """
        self._schedule(self._state.put(plan))

    def remove(self, plan_id: str) -> None:
        """Remove a plan; a state of it that was not sent yet is skipped."""
        slot = self._state.remove(plan_id)
        if slot is not None:
            self._schedule(slot)

    async def conclude(self, plan: Plan) -> None:
        """Send a plan's last state at once, and remove the plan soon after."""
        slot = self._state.put(plan)
        async with self._sending_lock:
            await self._send_slot(slot)
        self.remove(plan.id)

    def hold(self) -> None:
        """Send nothing until `release`, except on `flush`."""
        self._held = True
        self._cancel_timers()

    def release(self) -> None:
        """Send changes again, first those that waited."""
        self._held = False
        for slot in self._state.stale:
            self._schedule(slot)

    async def flush(self) -> None:
        """Return when the client has been sent the current state of every plan."""
        self._cancel_timers()
        async with self._sending_lock:
            for slot in self._state.stale:
                await self._send_slot(slot)

    async def replay(self) -> None:
        """Send every plan, to a client that has seen none of them."""
        self._state.forget_sent()
        await self.flush()

    async def aclose(self) -> None:
        """Stop sending."""
        self.hold()
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _schedule(self, slot: str) -> None:
        if self._held or slot in self._timers:
            return
        timer = self._timer or asyncio.get_running_loop()
        last = self._sent_at.get(slot)
        wait = 0.0 if last is None else last + self._join_s - timer.time()
        # Never at once: what the caller changes before it next awaits is joined.
        self._timers[slot] = timer.call_later(max(wait, 0.0), lambda: self._start_sending(slot))

    def _start_sending(self, slot: str) -> None:
        self._timers.pop(slot, None)
        task = asyncio.get_running_loop().create_task(self._send_or_log(slot))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_or_log(self, slot: str) -> None:
        try:
            async with self._sending_lock:
                if not self._held:
                    await self._send_slot(slot)
        except Exception as error:  # noqa: BLE001 - a background task; `flush` tries again
            _LOG.warning("cannot send a plan update: %s", error)

    async def _send_slot(self, slot: str) -> None:
        updates = self._state.take_updates(slot)
        if not updates:
            return
        timer = self._timer or asyncio.get_running_loop()
        self._sent_at[slot] = timer.time()
        try:
            for update in updates:
                await self._send(update)
        except BaseException:
            self._state.mark_unknown(slot)
            raise

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


def session_sender(connection: object, session_id: str) -> Send:
    """Return a `send` for one session over a connection of the official Python SDK.

    Args:
        connection: an `acp.AgentSideConnection`, or any object with `send_notification`.
        session_id: the session of the plans.

    Raises:
        TypeError: it is neither.
    """
    # The agent's side of a connection cannot send fields that its models lack, such as the
    # proposal's `id`; the JSON-RPC connection inside it can.
    inner: Any = connection if hasattr(connection, "send_notification") else None
    inner = inner or getattr(connection, "_conn", None)
    if not hasattr(inner, "send_notification"):
        raise TypeError(f"{connection!r} is not a connection: it has no `send_notification`")

    async def send(update: Update) -> None:
        await inner.send_notification("session/update", {"sessionId": session_id, "update": update})

    return send

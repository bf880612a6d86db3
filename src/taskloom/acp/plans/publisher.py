"""Plans on their way to a client: bursts joined, nothing said twice, the last state always sent.

    publisher = PlanPublisher(send, capabilities)
    publisher.publish(ItemsPlan("release", entries))     # now, or joined with what comes
    await publisher.flush()                              # before a turn is answered

`send` takes one `update` and puts it on the wire; `over(connection, session_id)` makes one for
a connection of the official SDK. `capabilities` are the client's, as they came over the wire.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from taskloom.acp.plans.client_state import ClientPlanState
from taskloom.acp.plans.encoding import Update, plan_format_of
from taskloom.acp.plans.plan import Plan

JOIN_S: Final = 0.15
"""One update per plan and this time: fast enough to look live, slow enough to be read."""

_LOG = logging.getLogger("taskloom.acp")

Send: TypeAlias = Callable[[Update], Awaitable[None]]
"""Puts one update on the wire."""


class Alarm(Protocol):
    """What `Timer.call_later` gives back."""

    def cancel(self) -> None:
        """Do not call after all."""
        ...


class Timer(Protocol):
    """The two things asked of a clock; an event loop has them."""

    def time(self) -> float:
        """Return the time in seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Alarm:
        """Call back after a while."""
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
        """Choose the dialect by what the client announced.

        Args:
            send: puts one update on the wire.
            capabilities: `clientCapabilities` of the initialize request, as they came.
            join_s: at most one update per plan in this time.
            timer: by default the running event loop.
        """
        self._ledger = ClientPlanState(plan_format_of(capabilities))
        self._send = send
        self._join_s = join_s
        self._timer = timer
        self._alarms: dict[str, Alarm] = {}
        self._sent_at: dict[str, float] = {}
        self._turn = asyncio.Lock()
        self._sending: set[asyncio.Task[None]] = set()
        self._held = False

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The live plans, in the order in which they first came."""
        return self._ledger.plans

    def publish(self, plan: Plan) -> None:
        """Show a plan, new or in place of the one with its id; it goes out soon.

        Raises:
            RefusedError: its id belongs to a plan of another type.
        """
        self._schedule(self._ledger.put(plan))

    def remove(self, plan_id: str) -> None:
        """Take a plan away; its last state, if it waits to be shown, is skipped."""
        line = self._ledger.remove(plan_id)
        if line is not None:
            self._schedule(line)

    async def conclude(self, plan: Plan) -> None:
        """Show a plan's last state, whatever the time, and take the plan away soon after."""
        line = self._ledger.put(plan)
        async with self._turn:
            await self._settle(line)
        self.remove(plan.id)

    def hold(self) -> None:
        """Send nothing by itself from now on, until `release`; `flush` still sends."""
        self._held = True
        self._cancel_alarms()

    def release(self) -> None:
        """Send again by itself, first what waited."""
        self._held = False
        for line in self._ledger.owed:
            self._schedule(line)

    async def flush(self) -> None:
        """Return when the client has been sent the true state of every plan."""
        self._cancel_alarms()
        async with self._turn:
            for line in self._ledger.owed:
                await self._settle(line)

    async def replay(self) -> None:
        """Send every live plan whole, to a client that knows none of them."""
        self._ledger.forget()
        await self.flush()

    async def aclose(self) -> None:
        """Stop; what was not sent is not sent any more."""
        self.hold()
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _schedule(self, line: str) -> None:
        if self._held or line in self._alarms:
            return
        timer = self._timer or asyncio.get_running_loop()
        last = self._sent_at.get(line)
        wait = 0.0 if last is None else last + self._join_s - timer.time()
        # Never at once, even if it may be: what else this step of the program changes goes along.
        self._alarms[line] = timer.call_later(max(wait, 0.0), lambda: self._ring(line))

    def _ring(self, line: str) -> None:
        self._alarms.pop(line, None)
        task = asyncio.get_running_loop().create_task(self._send_later(line))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_later(self, line: str) -> None:
        try:
            async with self._turn:
                if not self._held:
                    await self._settle(line)
        except Exception as error:  # noqa: BLE001 - nobody waits here; `flush` will try again
            _LOG.warning("a plan update could not be sent: %s", error)

    async def _settle(self, line: str) -> None:
        updates = self._ledger.settle(line)
        if not updates:
            return
        timer = self._timer or asyncio.get_running_loop()
        self._sent_at[line] = timer.time()
        try:
            for update in updates:
                await self._send(update)
        except BaseException:
            self._ledger.unsettle(line)
            raise

    def _cancel_alarms(self) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        self._alarms.clear()


class Notifying(Protocol):
    """What is asked of a JSON-RPC connection."""

    async def send_notification(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        ...


def over(connection: object, session_id: str) -> Send:
    """Return a `send` for one session over a connection of the official Python SDK.

    Args:
        connection: an `acp.AgentSideConnection`, or anything with `send_notification`.
        session_id: the session whose plans these are.

    Raises:
        TypeError: it is neither.
    """
    # The agent's side of a connection has no public way to send what its models lack, such as the
    # proposal's `id`; the JSON-RPC connection inside it has.
    inner: Any = connection if hasattr(connection, "send_notification") else None
    inner = inner or getattr(connection, "_conn", None)
    if not hasattr(inner, "send_notification"):
        raise TypeError(f"{connection!r} is no connection: it has no `send_notification`")
    wire: Notifying = inner

    async def send(update: Update) -> None:
        await wire.send_notification("session/update", {"sessionId": session_id, "update": update})

    return send

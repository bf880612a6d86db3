"""The plans of a session, what the client has been sent of them, and what must be sent next.

Pure: no clock and no connection. A change marks a slot as stale; `take_updates` returns the updates
for one slot and counts them as sent. A slot is one plan, or, for a client that knows entries only,
the flat list of all of them.
"""

from typing import Final, get_args

from taskloom.acp.plans.encoding import (
    PlanFormat,
    Update,
    as_message,
    entries_update,
    plan_removed,
    plan_update,
)
from taskloom.acp.plans.plan import EntryState, ItemsPlan, Plan
from taskloom.errors import Code, RefusedError

ENTRIES: Final = ""
"""The slot of the flat list; no plan has an empty id."""

STATES: Final[tuple[str, ...]] = get_args(EntryState)

_UNKNOWN: Final = ItemsPlan("", ())
"""Stands for what was sent when it is unknown whether it arrived; equal to no plan."""


class ClientPlanState:
    """The plans of one session, for one client."""

    def __init__(self, format_: PlanFormat) -> None:
        """Start without plans."""
        self.format = format_
        self._plans: dict[str, Plan] = {}
        self._types: dict[str, type[Plan]] = {}
        self._sent: dict[str, Plan | tuple[ItemsPlan, ...]] = {}
        self._stale: dict[str, None] = {}
        self._messages = 0

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The live plans, in the order in which they first came."""
        return tuple(self._plans.values())

    @property
    def stale(self) -> tuple[str, ...]:
        """The slots on which the client is behind, the longest waiting first."""
        return tuple(self._stale)

    def put(self, plan: Plan) -> str:
        """Add a plan or replace the one with its id; return its slot.

        Raises:
            RefusedError: it has no id, or one that belongs to a plan of another type, or an entry
                of an unknown state.
        """
        if not plan.id:
            raise RefusedError(Code.VALIDATION_ERROR, "A plan needs an id that is not empty.")
        if isinstance(plan, ItemsPlan):
            _check_states(plan)
        known = self._types.setdefault(plan.id, type(plan))
        if known is not type(plan):
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"The plan `{plan.id}` has another type already, and an id never changes its "
                "type. Give this plan an id of its own.",
                {"plan_id": plan.id},
            )
        self._plans[plan.id] = plan
        return self._mark_stale(plan)

    def remove(self, plan_id: str) -> str | None:
        """Remove a plan; return its slot, None if there is no such plan."""
        plan = self._plans.pop(plan_id, None)
        return None if plan is None else self._mark_stale(plan)

    def forget_sent(self) -> None:
        """Count everything as not sent, for a client that has seen nothing."""
        self._sent.clear()
        self._stale.clear()
        for plan in self._plans.values():
            self._mark_stale(plan)

    def take_updates(self, slot: str) -> list[Update]:
        """Return the updates that the client needs for one slot, and count them as sent."""
        self._stale.pop(slot, None)
        if slot == ENTRIES:
            return self._take_entries()
        plan, sent = self._plans.get(slot), self._sent.get(slot)
        if plan == sent:
            return []
        if plan is None:
            self._sent.pop(slot, None)
            if self.format is PlanFormat.ENTRIES_ONLY:
                return []  # A message cannot be taken back.
            return [plan_removed(slot, self.format)]
        self._sent[slot] = plan
        if self.format is not PlanFormat.ENTRIES_ONLY:
            return [plan_update(plan, self.format)]
        assert not isinstance(plan, ItemsPlan), "entries have a slot of their own"
        self._messages += 1
        return [as_message(plan, f"plan-{plan.id}-{self._messages}")]

    def mark_unknown(self, slot: str) -> None:
        """Note that the updates of a slot may not have reached the client."""
        self._sent[slot] = _UNKNOWN
        self._stale[slot] = None

    def _take_entries(self) -> list[Update]:
        # As the flat list has them: without titles, and a plan without entries is not in it.
        lists = tuple(
            ItemsPlan(plan.id, plan.entries)
            for plan in self._plans.values()
            if isinstance(plan, ItemsPlan) and plan.entries
        )
        if lists == self._sent.get(ENTRIES, ()):
            return []
        self._sent[ENTRIES] = lists
        return [entries_update(lists)]

    def _mark_stale(self, plan: Plan) -> str:
        flat = self.format is PlanFormat.ENTRIES_ONLY and isinstance(plan, ItemsPlan)
        slot = ENTRIES if flat else plan.id
        self._stale[slot] = None
        return slot


def _check_states(plan: ItemsPlan) -> None:
    """Refuse an unknown state here, where the caller can be found."""
    for entry in plan.entries:
        if entry.state not in STATES:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"An entry of the plan `{plan.id}` has the unknown state "
                f"{entry.state!r}. Use one of {', '.join(STATES)}.",
                {"plan_id": plan.id},
            )

"""What the plans are, what the client was told of them, and what it must be told next.

Pure: no clock and no connection. A change marks a line as owed; `settle` gives the updates for
one line and counts them as told. A line is a plan, or, for a client that knows entries only, the
one flat list of all of them.
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
"""The line of the flat list; no plan has an empty id."""

STATES: Final[tuple[str, ...]] = get_args(EntryState)

_UNKNOWN: Final = ItemsPlan("", ())
"""In place of what was told, when nobody knows whether it arrived; equal to no plan."""


class ClientPlanState:
    """The plans of one session, for one client."""

    def __init__(self, dialect: PlanFormat) -> None:
        """Begin with no plans, and a client that was told nothing."""
        self.dialect = dialect
        self._plans: dict[str, Plan] = {}
        self._types: dict[str, type[Plan]] = {}
        self._told: dict[str, Plan | tuple[ItemsPlan, ...]] = {}
        self._owed: dict[str, None] = {}
        self._messages = 0

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The live plans, in the order in which they first came."""
        return tuple(self._plans.values())

    @property
    def owed(self) -> tuple[str, ...]:
        """The lines on which the client is behind, the longest waiting first."""
        return tuple(self._owed)

    def put(self, plan: Plan) -> str:
        """Add a plan or replace the one with its id; return its line.

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
        return self._owe(plan)

    def remove(self, plan_id: str) -> str | None:
        """Take a plan away; return its line, None if there is no such plan."""
        plan = self._plans.pop(plan_id, None)
        return None if plan is None else self._owe(plan)

    def forget(self) -> None:
        """Count everything as untold, for a client that starts afresh."""
        self._told.clear()
        self._owed.clear()
        for plan in self._plans.values():
            self._owe(plan)

    def settle(self, line: str) -> list[Update]:
        """Return what brings the client up to date on one line; nothing if it is already."""
        self._owed.pop(line, None)
        if line == ENTRIES:
            return self._settle_entries()
        plan, told = self._plans.get(line), self._told.get(line)
        if plan == told:
            return []
        if plan is None:
            self._told.pop(line, None)
            if self.dialect is PlanFormat.ENTRIES_ONLY:
                return []  # What was said in a message stays said.
            return [plan_removed(line, self.dialect)]
        self._told[line] = plan
        if self.dialect is not PlanFormat.ENTRIES_ONLY:
            return [plan_update(plan, self.dialect)]
        assert not isinstance(plan, ItemsPlan), "entries have a line of their own"
        self._messages += 1
        return [as_message(plan, f"plan-{plan.id}-{self._messages}")]

    def unsettle(self, line: str) -> None:
        """Take back that a line was told: it may not have reached the client."""
        self._told[line] = _UNKNOWN
        self._owed[line] = None

    def _settle_entries(self) -> list[Update]:
        # As the flat list has them: without titles, and a plan without entries is not in it.
        lists = tuple(
            ItemsPlan(plan.id, plan.entries)
            for plan in self._plans.values()
            if isinstance(plan, ItemsPlan) and plan.entries
        )
        if lists == self._told.get(ENTRIES, ()):
            return []
        self._told[ENTRIES] = lists
        return [entries_update(lists)]

    def _owe(self, plan: Plan) -> str:
        flat = self.dialect is PlanFormat.ENTRIES_ONLY and isinstance(plan, ItemsPlan)
        line = ENTRIES if flat else plan.id
        self._owed[line] = None
        return line


def _check_states(plan: ItemsPlan) -> None:
    """Refuse a state that could not be said: later, nobody would know where it came from."""
    for entry in plan.entries:
        if entry.state not in STATES:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"An entry of the plan `{plan.id}` has the state {entry.state!r}; there are "
                f"{', '.join(STATES)}.",
                {"plan_id": plan.id},
            )

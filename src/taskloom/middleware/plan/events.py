"""What a front end is told when a plan changes."""

from msgspec import Struct

from taskloom.middleware.plan.item import PlanItem


class PlanChanged(Struct, frozen=True):
    """The data of a `CustomEvent`: the complete plan after a change, ready to be drawn.

    Show `active_form` for tasks in progress. Of two events the one with the higher `revision` is
    the later. `finished` says that the last open task was completed; the list may be empty next.
    """

    tasks: tuple[PlanItem, ...]
    revision: int
    finished: bool = False

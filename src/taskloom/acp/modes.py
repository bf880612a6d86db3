"""The modes of a session, among which the person chooses."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

CONFIG_ID: Final = "mode"


class Mode(Struct, frozen=True, kw_only=True):
    """What the agent may do, and the instruction that goes with it."""

    id: str
    name: str
    description: str
    writes: bool = False
    """It may write files and run commands, with permission."""
    plans: bool = True
    """It may make plans."""
    orchestrates: bool = False
    """It works through workers and the task board."""
    instruction: str = ""


CODE: Final = Mode(
    id="code",
    name="Code",
    description="Works on the project itself: reads, plans, and asks before it writes or runs.",
    writes=True,
)
ASK: Final = Mode(
    id="ask",
    name="Ask",
    description="Answers questions: reads the project and changes nothing.",
    plans=False,
    instruction="Only answer: you can read the project, and cannot change it.",
)
PLAN: Final = Mode(
    id="plan",
    name="Plan",
    description="Makes a plan: reads the project, writes the plan, changes no files.",
    instruction=(
        "Make a plan and do not carry it out: no files can be changed. Put the steps into the "
        "task list, and publish a longer text with publish_plan."
    ),
)
ORCHESTRATE: Final = Mode(
    id="orchestrate",
    name="Orchestrate",
    description="Plans on the task board and lets workers carry it out, side by side.",
    plans=False,
    orchestrates=True,
)

_ALL: Final = (CODE, ASK, PLAN, ORCHESTRATE)

DEFAULT_MODES: Final = {"run": ORCHESTRATE.id, "demo": ORCHESTRATE.id, "library": ORCHESTRATE.id}
"""The mode of a session that another interface created, by its kind."""


def modes_of(*, orchestrates: bool) -> dict[str, Mode]:
    """Return the modes on offer, by id; the first is the default."""
    return {mode.id: mode for mode in _ALL if orchestrates or not mode.orchestrates}


def mode_state(modes: Sequence[Mode], current: str) -> dict[str, Any]:
    """Return the modes as `SessionModeState`."""
    return {
        "currentModeId": current,
        "availableModes": [
            {"id": mode.id, "name": mode.name, "description": mode.description} for mode in modes
        ],
    }


def config_options(modes: Sequence[Mode], current: str) -> list[dict[str, Any]]:
    """Return the configuration options: the mode, for clients that look for it here."""
    return [
        {
            "id": CONFIG_ID,
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": current,
            "options": [
                {"value": mode.id, "name": mode.name, "description": mode.description}
                for mode in modes
            ],
        }
    ]

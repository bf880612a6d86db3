"""Slash commands: announced to the client, and taken from the beginning of a prompt."""

from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct

Name: TypeAlias = Literal["plan", "board", "tasks"]


class SlashCommand(Struct, frozen=True):
    """A command as a person typed it."""

    name: Name
    rest: str


ANNOUNCED: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "plan",
        "description": "Make a plan for something without changing files, or show the plans",
        "input": {"hint": "what to plan; nothing shows the plans there are"},
    },
    {
        "name": "board",
        "description": "Show the Tasks on the board, or turn their plan view on or off",
        "input": {"hint": "show, hide, a task_id, or nothing"},
    },
    {"name": "tasks", "description": "Show the agent's own task list"},
)

_NAMES: Final = frozenset(command["name"] for command in ANNOUNCED)


def read_command(text: str) -> SlashCommand | None:
    """Return the command that a prompt is; None if it is none of ours."""
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    name, _, more = name.partition("\n")
    if name not in _NAMES:
        return None
    return SlashCommand(cast("Name", name), f"{more} {rest}".strip())


def commands_update() -> dict[str, Any]:
    """Return the update that announces the commands."""
    return {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [dict(command) for command in ANNOUNCED],
    }

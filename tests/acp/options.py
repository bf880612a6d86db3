"""Options with a scripted model, and a person who answers questions."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from taskloom.acp import AcpOptions
from taskloom.agent import ScriptedModel
from taskloom.agent.scripted import Script


def options_of(script: Script, folder: Path, **more: Any) -> AcpOptions:
    """A setup whose model follows a script; one model serves all turns."""
    model = ScriptedModel(script)
    return AcpOptions(make_model=lambda _: model, index_dir=folder / "index", version="0", **more)


def choosing(option: str | None) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    """A person who always chooses the same; None closes the dialog."""

    async def choose(_: dict[str, Any]) -> dict[str, Any]:
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return choose

"""The guide for writing a Task, a text of its own in each language."""

from functools import cache
from importlib.resources import files

from taskloom.agent import Language


@cache
def task_guide(language: Language) -> str:
    """Return the guide."""
    return (files("taskloom.orchestrator") / "guides" / f"task_dag.{language}.md").read_text(
        "utf-8"
    )

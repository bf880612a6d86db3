"""publish_plan and dismiss_plan: the agent's own way to a plan that is a document or a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from taskloom.acp.plans.plan import FilePlan, MarkdownPlan
from taskloom.agent import Tool, tool

OWN_PLAN = "doc-"
"""What the ids of published plans begin with, so that a model cannot take over another plan."""

PlanId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


def plan_tools(
    publish: Callable[[MarkdownPlan | FilePlan], None],
    dismiss: Callable[[str], bool],
    resolve: Callable[[str], Path],
) -> list[Tool]:
    """Return both tools.

    Args:
        publish: shows a plan.
        dismiss: takes one away; False if there is none.
        resolve: returns where a path really is, and refuses one that leads out.
    """

    async def publish_plan(
        id: PlanId,
        kind: Literal["markdown", "file"],
        content: str = "",
        path: str = "",
        title: str = "",
    ) -> str:
        if kind == "markdown":
            if not content.strip():
                raise ValueError("a markdown plan needs `content`: the whole text of the plan")
            publish(MarkdownPlan(OWN_PLAN + id, content, title))
        else:
            if not path:
                raise ValueError("a file plan needs `path`: the file that holds the plan")
            file = resolve(path)
            if not file.is_file():
                raise FileNotFoundError(f"there is no file `{path}`; write it first")
            publish(FilePlan(OWN_PLAN + id, file.as_uri(), title or file.name))
        return f"The plan `{id}` is shown. Publish it again under the same id to change it."

    async def dismiss_plan(id: PlanId) -> str:
        if dismiss(OWN_PLAN + id):
            return f"The plan `{id}` is no longer shown."
        return f"There is no plan `{id}`; nothing was changed."

    publish_text = (
        "Show the person a plan that is a document (a design, a large plan): Markdown text, or a "
        "file of the project. The same id replaces it. Steps belong in the task list instead."
    )
    return [
        tool(description=publish_text, idempotent=True)(publish_plan),
        tool(description="Take away a plan that publish_plan has shown.", idempotent=True)(
            dismiss_plan
        ),
    ]

"""Documents and files that an agent published as plans, and the tools with which it does."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from taskloom.acp.plans.plan import FilePlan, MarkdownPlan
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.agent import Tool, tool
from taskloom.atomic_write import write_file
from taskloom.errors import RefusedError

PUBLISHED_PLAN: Final = "doc-"
"""The prefix of the ids of published plans, so that a model cannot replace another plan."""

_LOG = logging.getLogger("taskloom.acp")

Document = MarkdownPlan | FilePlan
PlanId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class PublishedPlans:
    """The published plans of one session, kept in a file of its directory."""

    def __init__(self, path: Path, publisher: PlanPublisher) -> None:
        """Name the file; nothing is read yet."""
        self._path = path
        self._publisher = publisher
        self._plans: dict[str, Document] = {}

    def load(self) -> None:
        """Publish the plans in the file."""
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=list[Document])
        except FileNotFoundError:
            return
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _LOG.warning("cannot read %s, so its plans are not shown: %s", self._path, error)
            return
        for plan in found:
            self._plans[plan.id] = plan
            try:
                self._publisher.publish(plan)
            except RefusedError as refused:
                _LOG.warning("cannot show a plan of %s: %s", self._path, refused)

    def publish(self, plan: Document) -> None:
        """Publish a plan and save it."""
        self._publisher.publish(plan)
        self._plans[plan.id] = plan
        self._save()

    def dismiss(self, plan_id: str) -> bool:
        """Remove a plan; return False if there is none."""
        if self._plans.pop(plan_id, None) is None:
            return False
        self._publisher.remove(plan_id)
        self._save()
        return True

    def tools(self, resolve: Callable[[str], Path]) -> list[Tool]:
        """Return `publish_plan` and `dismiss_plan`.

        Args:
            resolve: returns the real path of a file, and refuses one outside the project.
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
                self.publish(MarkdownPlan(PUBLISHED_PLAN + id, content, title))
            else:
                if not path:
                    raise ValueError("a file plan needs `path`: the file that holds the plan")
                file = resolve(path)
                if not file.is_file():
                    raise FileNotFoundError(f"there is no file `{path}`; write it first")
                self.publish(FilePlan(PUBLISHED_PLAN + id, file.as_uri(), title or file.name))
            return f"The plan `{id}` is shown. Publish it again under the same id to change it."

        async def dismiss_plan(id: PlanId) -> str:
            if self.dismiss(PUBLISHED_PLAN + id):
                return f"The plan `{id}` is no longer shown."
            return f"There is no plan `{id}`; nothing was changed."

        publish_text = (
            "Show the person a plan that is a document (a design, a large plan): Markdown text, "
            "or a file of the project. The same id replaces it. Steps belong in the task list."
        )
        dismiss_text = "Remove a plan that publish_plan has shown."
        return [
            tool(description=publish_text, idempotent=True)(publish_plan),
            tool(description=dismiss_text, idempotent=True)(dismiss_plan),
        ]

    def _save(self) -> None:
        write_file(self._path, msgspec.json.encode(list(self._plans.values())))

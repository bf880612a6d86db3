"""The documents and files an agent published as plans: shown, and kept for the next process."""

import logging
from pathlib import Path

import msgspec

from taskloom.acp.plans.plan import FilePlan, MarkdownPlan
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.atomic_write import write_file
from taskloom.errors import RefusedError

_LOG = logging.getLogger("taskloom.acp")
Document = MarkdownPlan | FilePlan


class PublishedPlans:
    """The published plans of one session, in a file beside its transcript."""

    def __init__(self, path: Path, publisher: PlanPublisher) -> None:
        """Name the file; nothing is read yet."""
        self._path = path
        self._publisher = publisher
        self._plans: dict[str, Document] = {}

    def load(self) -> None:
        """Hand what was published before to the publisher."""
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=list[Document])
        except FileNotFoundError:
            return
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _LOG.warning("%s cannot be read; its plans are not shown: %s", self._path, error)
            return
        for plan in found:
            self._plans[plan.id] = plan
            try:
                self._publisher.publish(plan)
            except RefusedError as refused:
                _LOG.warning("a plan of %s cannot be shown: %s", self._path, refused)

    def publish(self, plan: Document) -> None:
        """Show a plan and keep it."""
        self._publisher.publish(plan)
        self._plans[plan.id] = plan
        self._save()

    def dismiss(self, plan_id: str) -> bool:
        """Take a plan away; False if there is none."""
        if self._plans.pop(plan_id, None) is None:
            return False
        self._publisher.remove(plan_id)
        self._save()
        return True

    def _save(self) -> None:
        write_file(self._path, msgspec.json.encode(list(self._plans.values())))

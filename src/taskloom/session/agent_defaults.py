"""How agents of a session call models and keep their context small, in every interface."""

from pathlib import Path
from typing import Final

from taskloom.agent import Language, Retry
from taskloom.files import LocalFiles
from taskloom.middleware import ToolReduction

RETRY: Final = Retry(max_retries=3)
"""A model that is overloaded for a moment must not end hours of work."""

CONTEXT_TOKENS: Final = 200_000
"""The context of today's models."""


def tool_reduction(
    project: Path,
    directory: Path,
    *,
    language: Language | None = None,
    context_tokens: int = CONTEXT_TOKENS,
) -> ToolReduction:
    """Return the middleware that saves long tool results, and old ones in a half full context.

    Args:
        project: the project, whose `read_file` tool reads what is saved.
        directory: where results are saved, inside the project.
        language: of the notices; None for the default.
        context_tokens: how much the model can take.
    """
    return ToolReduction(
        LocalFiles(project),
        root_dir=directory.relative_to(project).as_posix(),
        trust_own_read_tool=True,  # The workspace's read_file reaches what is saved there.
        max_tokens_for_clear=context_tokens // 2,
        language=language,
    )

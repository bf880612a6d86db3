"""The texts for the agents of orchestrator mode, in English and Chinese."""

from functools import cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent import Language, Translations
from taskloom.orchestrator.executors.executor import AgentDefinition

Guide: TypeAlias = Literal["orchestrator", "worker", "task_dag"]


class AgentTexts(Struct, frozen=True):
    """The short texts of one language."""

    job: str
    """The beginning of a worker run's prompt."""
    reminder: str
    """For an Orchestrator that stops before its Tasks have ended."""
    names: dict[str, tuple[str, str]]
    """Name and description of the built-in agents."""


_EN: Final = AgentTexts(
    job=(
        "You are dispatched to Task {task_id} ({title}), pool {pool}. Claim at most one ready step."
    ),
    reminder=(
        "These Tasks have not ended: {tasks}. Continue them, or end them with"
        " agent.task_complete, agent.task_fail or agent.task_cancel."
    ),
    names={
        "orchestrator": (
            "Orchestrator",
            "Plans a goal as a Task on the board, dispatches workers, and brings it to its end.",
        ),
        "worker": (
            "Worker",
            "Takes one step of a Task, carries it out with the working tools, and reports the"
            " result.",
        ),
    },
)

_ZH: Final = AgentTexts(
    job="你被派往 Task {task_id}（{title}），池 {pool}。最多认领一个 ready 的步骤。",
    reminder=(
        "以下 Task 尚未结束：{tasks}。请继续推进，或者用 agent.task_complete、agent.task_fail 或"
        " agent.task_cancel 结束它。"
    ),
    names={
        "orchestrator": ("编排者", "把目标规划成任务板上的任务，派遣执行者，并推进到结束。"),
        "worker": ("执行者", "领取任务中的一个步骤，用工作工具完成它，并报告结果。"),
    },
)

agent_texts: Final = Translations(en=_EN, zh=_ZH)
"""`agent_texts(language)` returns the short texts of a language."""


@cache
def guide(name: Guide, language: Language) -> str:
    """Return the instruction of a built-in agent, or the guide for writing a Task."""
    path = files("taskloom.orchestrator") / "guides" / f"{name}.{language}.md"
    return path.read_text("utf-8")


def built_in_agent(
    role: Literal["orchestrator", "worker"], language: Language, agent_id: str
) -> AgentDefinition:
    """Return the definition of a built-in agent."""
    name, description = agent_texts(language).names[role]
    return AgentDefinition(
        id=agent_id,
        name=name,
        description=description,
        body=guide(role, language),
        tags=("general",) if role == "worker" else (),
        source=f"built-in {agent_id}",
    )

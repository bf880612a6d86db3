"""What the agent itself says to the model, in each language it knows.

One record of format strings per language, with the same fields, so that a missing text is a
type error. `set_language` sets the default of the process; an agent may have its own.
"""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Language: TypeAlias = Literal["en", "zh"]


class Texts(Struct, frozen=True, kw_only=True):
    """The built-in texts of one language; braces name what is filled in."""

    unknown_tool: str
    no_tools: str
    bad_json: str
    not_an_object: str
    bad_arguments: str
    tool_raised: str
    outcome_unknown: str
    not_run: str
    agent_tool: str
    agent_tool_task: str


EN: Final = Texts(
    unknown_tool="There is no tool `{name}` to call here. The tools are: {tools}.",
    no_tools="There is no tool `{name}` to call here: no tools are offered. Answer in text.",
    bad_json="The arguments of `{name}` are not valid JSON: {reason}. Call it again.",
    not_an_object="The arguments of `{name}` must be one JSON object, such as {example}.",
    bad_arguments="The arguments of `{name}` are wrong: {reason}. Correct them and call again.",
    tool_raised="The tool `{name}` failed: {reason}",
    outcome_unknown=(
        "The call of `{name}` was interrupted and its outcome is unknown: it may or may not have "
        "had its effect. Check what is the case before calling it again."
    ),
    not_run="The call of `{name}` was not carried out: the run was stopped before it.",
    agent_tool="Hand a task to the agent `{name}` and get its answer.",
    agent_tool_task="What the agent shall do, with all it needs to know.",
)

ZH: Final = Texts(
    unknown_tool="这里没有可调用的工具 `{name}`。可用的工具有：{tools}。",
    no_tools="这里没有可调用的工具 `{name}`：当前不提供任何工具。请直接用文字回答。",
    bad_json="`{name}` 的参数不是有效的 JSON：{reason}。请重新调用。",
    not_an_object="`{name}` 的参数必须是一个 JSON 对象，例如 {example}。",
    bad_arguments="`{name}` 的参数有误：{reason}。请改正后重新调用。",
    tool_raised="工具 `{name}` 执行失败：{reason}",
    outcome_unknown=(
        "对 `{name}` 的调用被中断，结果未知：它可能已经生效，也可能没有。"
        "请先查明实际情况，再决定是否重新调用。"
    ),
    not_run="对 `{name}` 的调用没有执行：运行在此之前已停止。",
    agent_tool="把一项任务交给智能体 `{name}`，并取回它的回答。",
    agent_tool_task="要智能体完成的任务，以及它需要知道的一切。",
)

_ALL: Final[dict[Language, Texts]] = {"en": EN, "zh": ZH}
_default: list[Language] = ["en"]


def set_language(language: Language) -> None:
    """Set the language of every agent of this process that has none of its own."""
    if language not in _ALL:
        raise ValueError(f"No texts in {language!r}; there are {', '.join(_ALL)}.")
    _default[0] = language


def language_or_default(language: Language | None) -> Language:
    """Return the language asked for, else that of the process."""
    return language or _default[0]


def language_of(given: Texts) -> Language:
    """Return the language that texts are in."""
    return next(language for language, known in _ALL.items() if known is given)


def texts(language: Language | None = None) -> Texts:
    """Return the texts of a language, by default that of the process."""
    return _ALL[language_or_default(language)]

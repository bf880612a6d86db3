"""What the agent itself tells the model, in each language."""

from typing import Final

from msgspec import Struct

from taskloom.agent.language import Language, Translations
from taskloom.agent.messages import Message, ToolCall


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
    unknown_tool="There is no tool `{name}`. The available tools are: {tools}.",
    no_tools="There is no tool `{name}`: no tools are available. Answer with text.",
    bad_json="The arguments of `{name}` are not valid JSON: {reason}. Call it again.",
    not_an_object="The arguments of `{name}` must be one JSON object, such as {example}.",
    bad_arguments="The arguments of `{name}` are wrong: {reason}. Correct them and call again.",
    tool_raised="The tool `{name}` failed: {reason}",
    outcome_unknown=(
        "The call of `{name}` was interrupted and its outcome is unknown: it may or may not have "
        "taken effect. Check before calling it again."
    ),
    not_run="The call of `{name}` was not executed: the run stopped first.",
    agent_tool="Give a task to the agent `{name}` and return its answer.",
    agent_tool_task="What the agent must do, with everything it needs to know.",
)

ZH: Final = Texts(
    unknown_tool="没有工具 `{name}`。可用的工具有：{tools}。",
    no_tools="没有工具 `{name}`：当前没有可用的工具。请直接用文字回答。",
    bad_json="`{name}` 的参数不是有效的 JSON：{reason}。请重新调用。",
    not_an_object="`{name}` 的参数必须是一个 JSON 对象，例如 {example}。",
    bad_arguments="`{name}` 的参数有误：{reason}。请改正后重新调用。",
    tool_raised="工具 `{name}` 执行失败：{reason}",
    outcome_unknown=(
        "对 `{name}` 的调用被中断，结果未知：它可能已经生效，也可能没有。"
        "请先检查，再决定是否重新调用。"
    ),
    not_run="对 `{name}` 的调用没有执行：运行在此之前已停止。",
    agent_tool="把一项任务交给智能体 `{name}`，并取回它的回答。",
    agent_tool_task="要智能体完成的任务，以及它需要知道的一切。",
)

texts: Final = Translations(en=EN, zh=ZH)
"""`texts(language)` returns the texts of a language."""


def unknown_outcome(call: ToolCall, language: Language | None = None) -> Message:
    """Return the error result of a call that was interrupted, so that its outcome is unknown."""
    text = texts(language).outcome_unknown.format(name=call.name)
    return Message.tool(call, text, is_error=True)

"""The texts of the reduction for the model, in each language; braces are placeholders."""

from typing import Final

from msgspec import Struct

from taskloom.agent import Translations


class ReductionTexts(Struct, frozen=True, kw_only=True):
    """The texts of one language."""

    too_large: str
    too_large_parts: str
    streamed: str
    beginning: str
    end: str
    view: str
    cleared: str
    cleared_unsaved: str
    argument: str
    read_tool: str
    read_path: str
    read_offset: str
    read_limit: str
    read_char_offset: str
    more_lines: str
    more_chars: str
    empty: str
    past_end: str
    past_line: str
    no_file: str
    not_saved: str


EN: Final = ReductionTexts(
    too_large="Output too large ({size} characters). Full output saved to: {path}",
    too_large_parts="Output too large ({size} characters of text). All parts saved to: {path}",
    streamed="Output cut after {count} of {size} characters. Full output saved to: {path}",
    beginning="Preview (first {count} characters):",
    end="Preview (last {count} characters):",
    view="Use {tool} to view",
    cleared="Tool result saved to: {path}",
    cleared_unsaved="[Old tool result cleared. Call the tool again if you need it.]",
    argument="[{size} characters, saved with the other arguments to: {path}]",
    read_tool=(
        "Read a tool result that was saved because it was long or old. Take the path from the "
        "notice that replaced it. A long result is returned in chunks; the end of each chunk "
        "says how to continue."
    ),
    read_path="The path, exactly as in the notice.",
    read_offset="The first line to return, counted from 1.",
    read_limit="The maximum number of lines to return.",
    read_char_offset="The number of characters to skip at the start of the first line.",
    more_lines="[More follows: continue with offset={line}.]",
    more_chars="[More of line {line} follows: continue with offset={line}, char_offset={chars}.]",
    empty="[The saved content is empty.]",
    past_end="`{path}` has no line {line}; ask for an earlier one.",
    past_line="Line {line} of `{path}` has only {size} characters; ask for a smaller char_offset.",
    no_file=(
        "There is no saved result `{path}`. Use the path exactly as in the notice, or call the "
        "original tool again."
    ),
    not_saved=(
        "`{path}` is not a saved tool result; those are in `{root}`. This tool can read only them."
    ),
)

ZH: Final = ReductionTexts(
    too_large="输出过长（{size} 个字符）。完整输出已保存到：{path}",
    too_large_parts="输出过长（文本共 {size} 个字符）。全部内容已保存到：{path}",
    streamed="输出在 {count} 个字符处截断，全文共 {size} 个字符。完整输出已保存到：{path}",
    beginning="预览（前 {count} 个字符）：",
    end="预览（后 {count} 个字符）：",
    view="使用 {tool} 查看",
    cleared="工具结果已保存到：{path}",
    cleared_unsaved="[较早的工具结果已清除。如有需要，请重新调用该工具。]",
    argument="[{size} 个字符，已与其他参数一起保存到：{path}]",
    read_tool=(
        "读取因过长或较早而被保存的工具结果。路径请取自替代它的提示。"
        "较长的结果分段返回，每段结尾会说明如何继续。"
    ),
    read_path="路径，与提示中给出的一致。",
    read_offset="要返回的第一行，从 1 开始计数。",
    read_limit="最多返回多少行。",
    read_char_offset="在第一行开头要跳过多少个字符。",
    more_lines="[后面还有内容：请用 offset={line} 继续。]",
    more_chars="[第 {line} 行还有内容：请用 offset={line}, char_offset={chars} 继续。]",
    empty="[保存的内容为空。]",
    past_end="`{path}` 没有第 {line} 行；请读取更靠前的行。",
    past_line="`{path}` 的第 {line} 行只有 {size} 个字符；请用更小的 char_offset。",
    no_file="没有已保存的内容 `{path}`。请原样使用提示中的路径，或重新调用产生该结果的工具。",
    not_saved="`{path}` 不是已保存的工具结果；它们都在 `{root}` 中。此工具只能读取它们。",
)

reduction_texts: Final = Translations(en=EN, zh=ZH)
"""`reduction_texts(language)` returns the texts of a language."""

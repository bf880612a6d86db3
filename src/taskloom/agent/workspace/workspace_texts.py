"""What the workspace tools tell the model, in each language."""

from typing import Final

from msgspec import Struct

from taskloom.agent.language import Translations


class WorkspaceTexts(Struct, frozen=True, kw_only=True):
    """The texts of one language; braces name what is filled in."""

    read_file: str
    list_dir: str
    search: str
    write_file: str
    edit_file: str
    run_command: str
    path: str
    folder: str
    offset: str
    limit: str
    pattern: str
    glob: str
    content: str
    old: str
    new: str
    replace_all: str
    argv: str
    timeout_s: str
    no_file: str
    no_folder: str
    is_directory: str
    binary: str
    empty: str
    more_lines: str
    more_entries: str
    more_matches: str
    no_match: str
    bad_pattern: str
    written: str
    edited: str
    old_missing: str
    old_ambiguous: str
    no_program: str
    exit_code: str
    timed_out: str
    not_permitted: str
    hidden: str
    moved: str
    outside_sandbox: str
    sandboxed: str


EN: Final = WorkspaceTexts(
    read_file="Read a text file of the project; lines are numbered.",
    list_dir="List a directory of the project; directories end in a slash.",
    search="Search the project's files for a regular expression; returns path:line:text.",
    write_file="Write a whole file of the project; creates it or replaces it.",
    edit_file="Replace a piece of text in a file of the project.",
    run_command="Run a program in the project, without a shell; returns output and exit code.",
    path="Path of the file, relative to the project.",
    folder="Path of the directory, relative to the project.",
    offset="First line, starting from 1.",
    limit="Maximum number of lines.",
    pattern="Regular expression.",
    glob="Only files that match this glob, such as *.py.",
    content="The whole new content.",
    old="The text to replace, exactly as in the file; include enough context to be unique.",
    new="The replacement.",
    replace_all="Replace every occurrence instead of exactly one.",
    argv='The program and its arguments, one item each, such as ["pytest", "-q"].',
    timeout_s="Seconds after which the program is killed.",
    no_file="there is no file `{path}`; use list_dir or search to find it",
    no_folder="there is no directory `{path}`; use list_dir to find it",
    is_directory="`{path}` is a directory; use list_dir",
    binary="`{path}` is not a text file",
    empty="(empty)",
    more_lines="[more lines: continue with offset={number}]",
    more_entries="[{number} more entries]",
    more_matches="[more than {number} matches: narrow the pattern, path or glob]",
    no_match="No match.",
    bad_pattern="the pattern is not a valid regular expression: {reason}",
    written="Wrote {chars} characters to {path}.",
    edited="Edited {path}: {count} replaced.",
    old_missing="`old` was not found in {path}; read the file and copy the text exactly",
    old_ambiguous="`old` occurs {count} times in {path}; add context, or use replace_all",
    no_program="there is no program `{program}`",
    exit_code="[exit code {code}]",
    timed_out="[killed after {seconds} s: timed out]",
    not_permitted="No permission to {action}: {what}. Do without it, or ask the user.",
    hidden="`{path}` belongs to Taskloom and is not available; use the project's own files.",
    moved="`{path}` leads elsewhere than before the question; nothing was done. Look again.",
    outside_sandbox="Run without the sandbox, which allows no network and no writes outside the "
    "project; a person is asked. Only if the command cannot work inside.",
    sandboxed="[the {sandbox} sandbox refused something: {refused}. If the command needs it, call "
    "again with outside_sandbox=true; a person is asked.]",
)

ZH: Final = WorkspaceTexts(
    read_file="读取项目中的文本文件；各行带行号。",
    list_dir="列出项目中的目录；目录名以斜杠结尾。",
    search="在项目文件中按正则表达式搜索；结果为 路径:行号:文本。",
    write_file="写入项目中的整个文件：新建文件或替换原有内容。",
    edit_file="替换项目文件中的一段文本。",
    run_command="在项目中运行程序，不经过 shell；返回输出和退出码。",
    path="文件路径，相对于项目目录。",
    folder="目录路径，相对于项目目录。",
    offset="起始行，从 1 开始计数。",
    limit="最多读取的行数。",
    pattern="正则表达式。",
    glob="只搜索匹配的文件，例如 *.py。",
    content="完整的新内容。",
    old="要替换的文本，与文件中完全一致；带上足够的上下文使其唯一。",
    new="替换后的文本。",
    replace_all="替换所有出现之处，而不只是一处。",
    argv='程序及其参数，每项一个元素，例如 ["pytest", "-q"]。',
    timeout_s="超过多少秒后终止。",
    no_file="没有文件 `{path}`；请用 list_dir 或 search 查找",
    no_folder="没有目录 `{path}`；请用 list_dir 查找",
    is_directory="`{path}` 是目录；请用 list_dir",
    binary="`{path}` 不是文本文件",
    empty="（空）",
    more_lines="[还有更多行：用 offset={number} 继续读取]",
    more_entries="[还有 {number} 项]",
    more_matches="[匹配超过 {number} 处：请缩小 pattern、path 或 glob]",
    no_match="没有匹配。",
    bad_pattern="pattern 不是有效的正则表达式：{reason}",
    written="已向 {path} 写入 {chars} 个字符。",
    edited="已在 {path} 中替换 {count} 处。",
    old_missing="在 {path} 中没有找到 `old`；请先读取文件并原样复制",
    old_ambiguous="`old` 在 {path} 中出现 {count} 次；请给出更多上下文，或使用 replace_all",
    no_program="没有程序 `{program}`",
    exit_code="[退出码 {code}]",
    timed_out="[{seconds} 秒后终止：超时]",
    not_permitted="没有权限执行 {action}：{what}。请换一种做法，或询问用户。",
    hidden="`{path}` 属于 Taskloom，不可使用；请使用项目自身的文件。",
    moved="`{path}` 在询问之后指向了别处；没有执行任何操作。请重新查看。",
    outside_sandbox="不使用沙箱运行（沙箱内没有网络，也不能在项目之外写入）；会先询问用户。"
    "仅当命令在沙箱内无法工作时使用。",
    sandboxed="[{sandbox} 沙箱拒绝了某项操作：{refused}。如果命令确实需要，请以 "
    "outside_sandbox=true 再次调用；会先询问用户。]",
)

workspace_texts: Final = Translations(en=EN, zh=ZH)
"""`workspace_texts(language)` returns the texts of a language."""

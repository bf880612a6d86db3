"""The texts of the planning tools, in each language.

They are short, because descriptions and schemas are sent with every request of a run.
"""

from typing import Final

from msgspec import Struct

from taskloom.agent import Translations


class PlanTexts(Struct, frozen=True, kw_only=True):
    """The texts of one language; braces are placeholders."""

    create: str
    get: str
    update: str
    list: str
    subject: str
    description: str
    active_form: str
    metadata: str
    task_id: str
    new_subject: str
    new_description: str
    new_active_form: str
    status: str
    add_blocks: str
    add_blocked_by: str
    remove_blocks: str
    remove_blocked_by: str
    owner: str
    new_metadata: str
    created: str
    task: str
    task_status: str
    task_description: str
    task_blocked_by: str
    task_blocks: str
    task_owner: str
    line_owner: str
    line_blocked_by: str
    updated: str
    unchanged: str
    deleted: str
    finished: str
    cleared: str
    no_tasks: str
    left_out: str
    empty: str
    bad_id: str
    unknown: str
    unknown_empty: str
    unreadable: str
    itself: str
    cycle: str
    contradiction: str
    blocked: str
    bad_status: str
    not_text: str
    too_deep: str
    storage: str
    reminder: str
    reminder_more: str


EN: Final = PlanTexts(
    create=(
        "Add a task to your task list. Use the list when work has three or more steps, when the "
        "user names several things or asks for a plan, and when new instructions arrive. Do not "
        "use it for a single simple step or a plain question.\n"
        "Call TaskList first to avoid duplicates. A new task is pending; set its dependencies "
        "with TaskUpdate."
    ),
    get=(
        "Read one task in full: description, status, what blocks it and what it blocks. Read it "
        "before you start on it, and start only if no open task blocks it."
    ),
    update=(
        "Change a task; give only what changes.\n"
        "Status goes pending, in_progress, completed. Set in_progress before you begin, and "
        "completed as soon as the task is done. Do not complete it while tests fail, work is "
        "partial or errors are unsolved: keep it in_progress, and add a task for the obstacle. "
        "A task cannot start before its blockers are completed. deleted removes a task "
        "permanently.\n"
        'Examples: {"taskId": "1", "status": "in_progress"}; '
        '{"taskId": "2", "addBlockedBy": ["1"]}; {"taskId": "3", "owner": "reviewer"}.'
    ),
    list=(
        "Show all tasks with status, owner and open blockers. A task is available if it is "
        "pending, has no owner and is not blocked; take the lowest id first. Call it again after "
        "completing a task to see what that unblocked."
    ),
    subject="What to do, short and imperative: Run the tests.",
    description="What is needed, with enough detail for another agent to do it.",
    active_form="The same while it is being done: Running the tests.",
    metadata="Further values to store with the task.",
    task_id="Id of the task, digits only.",
    new_subject="New subject.",
    new_description="New description.",
    new_active_form="New active form; empty removes it.",
    status="New status.",
    add_blocks="Ids of tasks that cannot start before this one is completed.",
    add_blocked_by="Ids of tasks that must be completed before this one.",
    remove_blocks="Ids of tasks that no longer wait for this one.",
    remove_blocked_by="Ids of tasks that this one no longer waits for.",
    owner="Who works on it; empty releases it.",
    new_metadata="Values to merge; null removes a key.",
    created="Task #{id} created successfully: {subject}",
    task="Task #{id}: {subject}",
    task_status="Status: {status}",
    task_description="Description: {description}",
    task_blocked_by="Blocked by: {ids}",
    task_blocks="Blocks: {ids}",
    task_owner="Owner: {owner}",
    line_owner=" [owner: {owner}]",
    line_blocked_by=" [blocked by {ids}]",
    updated="Updated task #{id} {fields}",
    unchanged="Task #{id} is unchanged: the call has no field to change.",
    deleted="Updated task #{id} deleted",
    finished="All tasks are completed: the list is finished.",
    cleared="All tasks are completed: the list is finished and has been cleared.",
    no_tasks="No tasks found.",
    left_out="(Not shown, because their files cannot be read: {ids}.)",
    empty="`{field}` must not be empty; describe the task, or omit the field in an update",
    bad_id='`{id}` is not a task id; ids are digits only, such as "1", as TaskList shows them',
    unknown="there is no task #{id}; the tasks are {ids}",
    unknown_empty="there is no task #{id}, and the list is empty; TaskCreate adds a task",
    unreadable=(
        "the file of task #{id} cannot be read: {reason}; other tasks are not affected, and "
        "status deleted removes it"
    ),
    itself="task #{id} cannot block itself; remove its own id from the list",
    cycle=(
        "this would make a cycle, in which no task could ever start: {path}; omit one of these "
        "dependencies, or remove one with removeBlockedBy"
    ),
    contradiction="{ids}: one call cannot both add and remove an edge; do one of the two",
    blocked=(
        "task #{id} cannot be {status} yet, because it is blocked by {blockers}; complete these "
        "first, or remove the dependency with removeBlockedBy"
    ),
    bad_status="`{status}` is not a status; it is one of {statuses}",
    too_deep="metadata is nested more than {levels} levels deep; use a flatter structure",
    not_text="a text contains a lone surrogate, which cannot be stored; write the text again",
    storage=(
        "The task list could not be read or written: {reason}. Nothing was changed; try again, "
        "and continue without the list if it keeps failing."
    ),
    reminder=(
        "The task list has not been used for a while. If it still fits what you do, keep it up to "
        "date with TaskUpdate; delete what no longer applies. Do not mention this reminder. Open "
        "tasks:"
    ),
    reminder_more="and {count} more; TaskList shows all",
)

ZH: Final = PlanTexts(
    create=(
        "向你的任务列表添加一个任务。当工作有三个或更多步骤、用户列出多件事或要求做计划、"
        "以及收到新的指示时，用它来规划。单个简单步骤或普通提问则不必使用。\n"
        "先查看 TaskList，避免重复添加。新任务的状态为 pending；用 TaskUpdate 设置依赖关系。"
    ),
    get=(
        "读取一个任务的完整内容：描述、状态、被哪些任务阻塞、阻塞哪些任务。"
        "开始之前先读取；没有未完成的阻塞任务时才开始。"
    ),
    update=(
        "修改一个任务；只给出要改变的内容。\n"
        "状态依次为 pending、in_progress、completed。开始前设为 in_progress，"
        "完成后立即设为 completed。测试失败、工作不完整或错误未解决时不要标为完成："
        "保持 in_progress，并为障碍添加新任务。阻塞它的任务全部完成之前不能开始。"
        "deleted 会永久删除任务。\n"
        '示例：{"taskId": "1", "status": "in_progress"}；'
        '{"taskId": "2", "addBlockedBy": ["1"]}；{"taskId": "3", "owner": "reviewer"}。'
    ),
    list=(
        "显示所有任务及其状态、负责人和未完成的阻塞任务。状态为 pending、没有负责人且未被阻塞的"
        "任务可以着手；优先编号最小的。完成一个任务后再次查看，找出因此解除阻塞的任务。"
    ),
    subject="要做的事，简短的祈使句：运行测试。",
    description="需要做什么，详细到别人也能完成。",
    active_form="进行时的说法：正在运行测试。",
    metadata="要随任务保存的其他值。",
    task_id="任务编号，只含数字。",
    new_subject="新的标题。",
    new_description="新的描述。",
    new_active_form="新的进行时说法；为空则去掉。",
    status="新的状态。",
    add_blocks="在本任务完成之前不能开始的任务编号。",
    add_blocked_by="必须先于本任务完成的任务编号。",
    remove_blocks="不再需要等待本任务的任务编号。",
    remove_blocked_by="本任务不再需要等待的任务编号。",
    owner="负责人；为空则释放。",
    new_metadata="要合并的值；null 删除该键。",
    created="任务 #{id} 创建成功：{subject}",
    task="任务 #{id}：{subject}",
    task_status="状态：{status}",
    task_description="描述：{description}",
    task_blocked_by="被阻塞于：{ids}",
    task_blocks="阻塞：{ids}",
    task_owner="负责人：{owner}",
    line_owner=" [负责人：{owner}]",
    line_blocked_by=" [被 {ids} 阻塞]",
    updated="已更新任务 #{id}：{fields}",
    unchanged="任务 #{id} 没有变化：没有给出要改变的内容。",
    deleted="任务 #{id} 已删除",
    finished="所有任务都已完成：列表已完结。",
    cleared="所有任务都已完成：列表已完结并已清空。",
    no_tasks="没有任务。",
    left_out="（以下任务的文件无法读取，未列出：{ids}。）",
    empty="`{field}` 不能为空；请写明内容，更新时也可以省略它",
    bad_id='`{id}` 不是任务编号；编号只含数字，例如 "1"，以 TaskList 显示的为准',
    unknown="没有任务 #{id}；现有任务：{ids}",
    unknown_empty="没有任务 #{id}，列表是空的；用 TaskCreate 添加任务",
    unreadable=("任务 #{id} 的文件无法读取：{reason}；其他任务不受影响，可用状态 deleted 删除它"),
    itself="任务 #{id} 不能阻塞它自己；请去掉它自己的编号",
    cycle=(
        "这会形成循环，其中的任务永远无法开始：{path}；请去掉其中一个依赖，"
        "或用 removeBlockedBy 移除一个"
    ),
    contradiction="{ids} 不能在同一次调用中既添加又移除；请只做其中一项",
    blocked=(
        "任务 #{id} 还不能设为 {status}，因为它被 {blockers} 阻塞；请先完成这些任务，"
        "或用 removeBlockedBy 去掉依赖"
    ),
    bad_status="`{status}` 不是状态；可用的状态有 {statuses}",
    too_deep="metadata 的嵌套超过 {levels} 层；请用更扁平的结构",
    not_text="文本中含有不完整的字符，无法保存；请重新书写",
    storage="无法读写任务列表：{reason}。没有任何改变；请重试，若一直失败就不用列表继续工作。",
    reminder=(
        "任务列表已有一段时间没有使用。如果它仍与你的工作相符，请用 TaskUpdate 保持更新；"
        "删除不再适用的任务。不要提及此提醒。未完成的任务："
    ),
    reminder_more="另有 {count} 个；TaskList 显示全部",
)

plan_texts: Final = Translations(en=EN, zh=ZH)
"""`plan_texts(language)` returns the texts of a language."""

"""The descriptions of the Task tools for models, in English and Chinese.

A key is a tool's name, or a tool's name and an argument's with a dot between.
"""

from collections.abc import Mapping
from typing import Final

from taskloom.agent import Translations

_EN: Final[Mapping[str, str]] = {
    "task_template": "Get the guide for writing a good Task: read it before your first task_create."
    " Creates nothing.",
    "task_template.goal": "What the Task should achieve; it is returned with the guide.",
    "task_create": "Create a Task: the whole plan as a DAG of steps. You choose task_id, wal_name"
    " and every step_id (a-z 0-9 - _, at most 80 characters). Steps whose dependencies are"
    " completed become ready automatically; nothing starts until you dispatch workers.",
    "task_create.wal_name": "Name of the log file, without extension; may equal task_id.",
    "task_create.summary": "One paragraph: the goal, and when it is reached.",
    "task_create.steps": "Small steps with a clear end, ordered by depends_on_step_ids alone.",
    "task_get": "Read a Task with its steps. A big one comes as a summary with counts; read the"
    " rest with task_query_steps.",
    "task_get.include_terminal_steps": "Also completed, failed and cancelled steps (default true).",
    "task_list": "List this session's Tasks, newest first; ended ones only on request.",
    "task_update": "Change a Task's plan: operations applied in order, all or none. update_task"
    " (title, summary, status blocked or pending), add_step (step), update_step (step_id, fields),"
    " delete_step, cancel_step, reopen_step (step_id), add_dependency and remove_dependency"
    " (step_id, depends_on_step_id). Reopen a failed or blocked step to have it tried again.",
    "task_query_steps": "Query steps by status, pool or holder, a page at a time.",
    "task_query_steps.statuses": "Such as ready, blocked, failed. Finished ones only if named.",
    "task_claim_step": "Claim one ready step for this run. A run claims at most one step.",
    "task_update_step": "Write a step's state or result: running, blocked, completed, failed,"
    " cancelled, with result_summary, artifact_ids and reason. Content is changed with"
    " task_update.",
    "task_update_step.result_summary": "What was done and found, for the steps that build on it.",
    "task_update_step.artifact_ids": "Files or other things that were produced.",
    "task_update_step.reason": "Why it is blocked, failed or cancelled.",
    "task_complete": "Complete a Task: every required step is completed and no step is claimed.",
    "task_fail": "Fail a Task that cannot reach its goal. Its worker runs are stopped, open steps"
    " fail. This is final.",
    "task_cancel": "Cancel a Task that is no longer wanted. Its worker runs are stopped, open steps"
    " are cancelled. This is final.",
    "list_workers": "List the workers: which are idle, busy or unavailable, and what each does.",
    "dispatch_worker": "Start one run of a worker on a Task; it claims one ready step, does it and"
    " reports on the board. Returns when the run has ended, or at once with background=true. Call"
    " it several times in one turn to run several workers in parallel.",
    "dispatch_worker.instruction": "What the worker should do; it sees the step as well.",
    "dispatch_worker.worker_pool_id": "Pool to take a worker from; default: the default pool.",
    "dispatch_worker.worker_agent_id": "One particular worker; default: the first idle one.",
    "dispatch_worker.allowed_step_ids": "The only steps it may claim; leave out for any.",
    "dispatch_worker.context": "What else it needs to know.",
    "dispatch_worker.allowed_tools": "The only working tools it may use; can only narrow.",
    "dispatch_worker.expected_output_schema": "JSON schema that its final answer must match.",
    "dispatch_worker.timeout_ms": "How long the run may take.",
    "dispatch_worker.background": "Return at once with child_run_id; collect with wait_workers.",
    "wait_workers": "Wait for background runs and get their results.",
    "wait_workers.child_run_ids": "Which runs; default: all active runs.",
    "wait_workers.timeout_ms": "How long to wait; runs that continue are listed as running.",
    "cancel_worker": "Stop one worker run. The step it holds fails; reopen it to try again.",
}

_ZH: Final[Mapping[str, str]] = {
    "task_template": "取得编写 Task 的指南：第一次 task_create 之前请先阅读。不创建任何内容。",
    "task_template.goal": "该 Task 要达成的目标，会放在指南之前。",
    "task_create": "创建一个 Task：以步骤 DAG 表示的完整计划。task_id、wal_name 和每个 step_id 由你"
    "选定（a-z 0-9 - _，最多 80 个字符）。依赖全部完成的步骤会自动变为 ready；在你派遣 worker 之前"
    "不会有任何执行。",
    "task_create.wal_name": "日志文件名，不含扩展名；可以与 task_id 相同。",
    "task_create.summary": "一段话：目标，以及怎样算完成。",
    "task_create.steps": "小而有明确终点的步骤，顺序只由 depends_on_step_ids 决定。",
    "task_get": "读取一个 Task 及其步骤。很大的 Task 只返回摘要和计数；"
    "其余用 task_query_steps 读取。",
    "task_get.include_terminal_steps": "是否包含已完成、失败和取消的步骤（默认 true）。",
    "task_list": "列出本会话的 Task，最新的在前；已结束的需要明确要求。",
    "task_update": "修改 Task 的计划：操作按顺序应用，要么全部生效，要么全不生效。update_task"
    "（title、summary、status 为 blocked 或 pending）、add_step（step）、update_step"
    "（step_id、fields）、delete_step、cancel_step、reopen_step（step_id）、"
    "add_dependency 和 remove_dependency（step_id、depends_on_step_id）。"
    "把失败或受阻的步骤 reopen，即可再次尝试。",
    "task_query_steps": "按状态、池或持有者查询步骤，分页返回。",
    "task_query_steps.statuses": "例如 ready、blocked、failed。已结束的步骤需明确列出。",
    "task_claim_step": "为本次运行认领一个 ready 的步骤。一次运行一生只能认领一个步骤。",
    "task_update_step": "写入步骤的状态或结果：running、blocked、completed、failed、cancelled，以及"
    " result_summary、artifact_ids 和 reason。内容用 task_update 修改。",
    "task_update_step.result_summary": "做了什么、发现了什么，供后续步骤使用。",
    "task_update_step.artifact_ids": "产生的文件或其他成果。",
    "task_update_step.reason": "受阻、失败或取消的原因。",
    "task_complete": "顺利结束 Task：所有必需步骤已完成，且没有步骤正在执行。",
    "task_fail": "放弃 Task。其 worker 运行会被停止，未完成的步骤记为失败。不可撤销。",
    "task_cancel": "结束不再需要的 Task。其 worker 运行会被停止，未完成的步骤被取消。不可撤销。",
    "list_workers": "列出 worker：谁空闲、忙碌或不可用，各自擅长什么。",
    "dispatch_worker": "在某个 Task 上启动一次 worker 运行；它认领一个 ready 步骤，完成后在看板上"
    "报告。运行结束时返回；background=true 时立即返回。在同一轮中多次调用，可让多个 worker 并行。",
    "dispatch_worker.instruction": "worker 要做什么、注意什么；它也能看到步骤本身。",
    "dispatch_worker.worker_pool_id": "从哪个池选 worker；默认为默认池。",
    "dispatch_worker.worker_agent_id": "指定的 worker；默认取第一个空闲的。",
    "dispatch_worker.allowed_step_ids": "只允许认领的步骤；省略则不限。",
    "dispatch_worker.context": "它还需要知道的内容。",
    "dispatch_worker.allowed_tools": "只允许使用的工具；只能收窄。",
    "dispatch_worker.expected_output_schema": "最终回答必须符合的 JSON schema。",
    "dispatch_worker.timeout_ms": "运行的时间上限。",
    "dispatch_worker.background": "立即返回 child_run_id；用 wait_workers 收取结果。",
    "wait_workers": "等待后台运行并取得结果。",
    "wait_workers.child_run_ids": "等待哪些运行；默认为所有进行中的。",
    "wait_workers.timeout_ms": "等待多久；仍在进行的会标为 running。",
    "cancel_worker": "停止一次 worker 运行。它持有的步骤记为失败；reopen 后可再次尝试。",
}

tool_texts: Final = Translations(en=_EN, zh=_ZH)
"""`tool_texts(language)` returns the texts of a language."""

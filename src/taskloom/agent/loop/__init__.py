"""The ReAct loop of one run: its state, its stages, its model calls and its tool calls.

    loop            what comes next, and how a run ends
    config          what an agent was configured with
    hooks           the middleware's hooks, found once and called in order
    model_call      one model call with failover, retry and events
    tool_round      the tool calls of one reply; tool_call runs one of them
    subagent        an agent as a tool of another
    run_context     what the loop, the hooks and the tools of one run share
    run_state       the state of a run, changed by journal_entries and by nothing else
    run_source      where a run starts: messages, a journal or a checkpoint
    channel         from the loop to the reader of the events
    tracing         OpenTelemetry spans

Internal: users import from `taskloom.agent`.
"""

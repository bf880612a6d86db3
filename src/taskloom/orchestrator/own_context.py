"""The context a worker run lives in: that of its host, without the Orchestrator's run."""

from contextvars import Context, copy_context

from taskloom.agent.run_context import LIVE, SCOPE


def own_context() -> Context:
    """Return the present context without the agent run that is under way in it.

    A worker's function that sends events, keeps values or asks people would otherwise do so in the
    run of the Orchestrator that dispatched it. Traces and whatever else is set go along.
    """
    made = Context()
    for variable, value in copy_context().items():
        if variable is not LIVE and variable is not SCOPE:
            made.run(variable.set, value)
    return made

"""Jobs for the tests of executors: one claimed step, and a listener."""

from datetime import UTC, datetime

from taskloom.agent import Event
from taskloom.board import StepStatus, StepView
from taskloom.orchestrator import AgentDefinition, Job

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_step(summary: str = "") -> StepView:
    return StepView(
        step_id="s1",
        title="First",
        summary=summary,
        status=StepStatus.RUNNING,
        depends_on_step_ids=("s0",),
        required=True,
        worker_pool_id="default",
        claimed_by_agent_id="w1",
        claimed_by_run_id="r1",
        lease_expires_at=AT,
        result_summary=None,
        reason=None,
        artifact_ids=(),
        created_at=AT,
        updated_at=AT,
    )


def a_job(instruction: str = "Do it.", summary: str = "") -> Job:
    return Job(
        run_id="r1",
        worker_agent_id="w1",
        definition=AgentDefinition(id="d", name="D", description="Does."),
        task_id="t1",
        task_title="Everything",
        worker_pool_id="default",
        instruction=instruction,
        step=a_step(summary),
        inputs={"s0": "what came before"},
    )


class Heard:
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.lines: list[Event | str] = []

    async def __call__(self, said: Event | str) -> None:
        self.lines.append(said)

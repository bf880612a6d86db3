"""What the asynchronous and the blocking board have in common: a session and its actors."""

from taskloom.board import Actor, Role, Rules, Scope
from taskloom.ids import AgentId, PoolId, RunId, Seq, SessionId, StepId, TaskId
from taskloom.runtime.clock import Clock
from taskloom.runtime.handles import LeaseRenewer
from taskloom.runtime.log_reader import RecentChanges
from taskloom.runtime.task_writers import TaskWriters


class BoardActors:
    """Makes the actors of one session's runs."""

    def __init__(self, writers: TaskWriters) -> None:
        """Serve the Tasks of a session. A `Board` and a `SyncBoard` may serve the same ones."""
        self.writers = writers
        self._recent = RecentChanges(writers.found, writers.last_lines)
        self.lease_renewer = LeaseRenewer(writers.send, writers.rules.lease)

    @property
    def session_id(self) -> SessionId:
        """The session whose Tasks these are."""
        return self.writers.session_id

    @property
    def rules(self) -> Rules:
        """The length of a lease, the default pool and the size limits."""
        return self.writers.rules

    @property
    def clock(self) -> Clock:
        """Where leases and the times of events come from."""
        return self.writers.clock

    def orchestrator(self, agent_id: AgentId, *, run_id: RunId) -> Actor:
        """Return the actor for one run of an Orchestrator."""
        return Actor(
            agent_id=agent_id,
            run_id=run_id,
            session_id=self.session_id,
            role=Role.ORCHESTRATOR,
        )

    def worker(
        self,
        agent_id: AgentId,
        *,
        run_id: RunId,
        task_id: TaskId,
        worker_pool_id: PoolId | None = None,
        allowed_step_ids: frozenset[StepId] | None = None,
    ) -> Actor:
        """Return the actor for one run of a worker that was dispatched to a Task."""
        return Actor(
            agent_id=agent_id,
            run_id=run_id,
            session_id=self.session_id,
            role=Role.WORKER,
            scope=Scope(
                task_id=task_id,
                worker_pool_id=worker_pool_id or self.rules.default_worker_pool,
                allowed_step_ids=allowed_step_ids,
            ),
        )

    def durable_seq(self, task_id: TaskId) -> Seq | None:
        """Return the last durable line of an active Task; None if its log is not open yet."""
        writer = self.writers.known(task_id)
        return writer.durable_seq if writer is not None else None

"""One Task's state and its log: where commands of this process become durable changes.

The order is fixed: decide, stage the lines, evolve, make durable, publish, answer. Commands
that come while the disk is busy are decided on the state that is about to be true, and share
the next sync. Nobody sees that state before it is durable: answers and views wait for the sync
of everything they have seen. If the sync fails, the state is dropped and read again from the
log, and everybody who waited is told.

Thread-safe. Nothing here knows an event loop; see `board` for that.
"""

from collections.abc import Callable
from threading import Condition, Lock
from time import perf_counter
from typing import Final, TypeVar

from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    ClaimStep,
    Command,
    CreateTask,
    Event,
    ExpireLeases,
    Receipt,
    Rules,
    Task,
    decide,
    evolve,
)
from taskloom.board.actor import require_sight
from taskloom.codec import Chain, EventAuthor, encode, note_done
from taskloom.errors import (
    Code,
    DamagedLogError,
    RefusedError,
    StorageError,
    TaskloomError,
    UnavailableError,
)
from taskloom.ids import Seq
from taskloom.log import Position, Wal
from taskloom.runtime.clock import Clock
from taskloom.runtime.event_author import author_of, check_session
from taskloom.runtime.fork_safety import reset_after_fork
from taskloom.runtime.idempotency import CommandMemory, write_receipt
from taskloom.runtime.monotonic_time import MonotonicTime
from taskloom.runtime.pending_answer import PendingAnswer, WouldBlockError, interrupted
from taskloom.runtime.restore import restore
from taskloom.runtime.write_lock import WriteLock

_T = TypeVar("_T")

_READ_AT_ONCE_BYTES: Final = 1 << 18
"""More than this is not for an event loop's thread."""


class TaskWriter:
    """The single writer of one Task in this process."""

    def __init__(
        self,
        wal: Wal,
        clock: Clock,
        rules: Rules = DEFAULT_RULES,
        *,
        task: Task | None = None,
        open_again: Callable[[], Wal],
    ) -> None:
        """Take over an opened log. Unless its Task is given, the first question reads it."""
        self._wal = wal
        self._memory = CommandMemory(open_again)
        self._time = MonotonicTime(clock)
        self._rules = rules
        self._changed = Condition(Lock())
        self._turn = WriteLock(wal, self._changed)
        self._syncing = Lock()
        self._task = task
        self._chain = Chain(wal.position.crc)
        self._staged: list[bytearray] = []
        self._staged_after: Position = wal.position
        self.durable_seq: Seq = wal.position.seq
        self._in_flight = False
        self._epoch = 0
        self._failures: dict[int, tuple[Seq, TaskloomError]] = {}
        self._damage: UnavailableError | None = None
        self._listeners: list[Callable[[], None]] = []
        self.last_sync_s = 0.0
        reset_after_fork(self)
        self.is_alive = True
        """Whether this desk may go on: its Task has not ended and its log was found undamaged."""

    @property
    def wal_path(self) -> str:
        """Where the log is."""
        return self._wal.path

    @property
    def is_over(self) -> bool:
        """Whether the Task has ended, durably, as far as this process knows."""
        task = self._task
        return task is not None and task.is_terminal and task.seq <= self.durable_seq

    def after_fork(self) -> None:
        """In a new child process: begin anew. Locks and staged lines are the parent's."""
        self._changed = Condition(Lock())
        self._syncing = Lock()
        self._turn = WriteLock(self._wal, self._changed)
        self._staged = []
        self._in_flight = False
        self._listeners = []
        self._task = None
        self._failures[self._epoch] = (self.durable_seq, interrupted(self._wal.path))
        self._epoch += 1
        # The lock goes with the open file, which both processes share until one opens it anew.
        self._wal.close()

    # Asking.

    def offer(
        self, command: Command, actor: Actor, *, wait: bool = True
    ) -> "PendingAnswer[Receipt] | None":
        """Carry out a command, not yet durably; None if that would have to wait."""
        return self._in_turn(lambda task: self._carry_out(task, command, actor, wait), wait=wait)

    def look(
        self, ask: Callable[[Task], _T], actor: Actor, *, wait: bool = True
    ) -> "PendingAnswer[_T] | None":
        """Answer a question about the Task, leases reconciled first; None if it would wait."""

        def answer(task: Task) -> _T:
            require_sight(actor, task.task_id)
            self._expire_leases(task, actor)
            return ask(task)

        return self._in_turn(answer, wait=wait)

    def send(self, command: Command, actor: Actor) -> Receipt:
        """Carry out a command and wait until it is durable."""
        return self._await(self.offer(command, actor))

    def ask(self, ask: Callable[[Task], _T], actor: Actor) -> _T:
        """Answer a question with durable truth."""
        return self._await(self.look(ask, actor))

    def glance(self, ask: Callable[[Task], _T]) -> _T:
        """Answer a question with durable truth, leaving leases as they are."""
        return self._await(self._in_turn(ask, wait=True))

    def recall(self, command: CreateTask, actor: Actor) -> Receipt | None:
        """Return the answer to the command that made this Task, if it was this one."""

        def answer(task: Task) -> Receipt | None:
            if not self._memory.is_done(task, command, actor):
                return None
            return self._memory.recall(task, command, read_log=True)

        return self.glance(answer)

    def _await(self, pending: "PendingAnswer[_T] | None") -> _T:
        assert pending is not None, "whoever may wait gets a ticket"
        self.settle(pending)
        return pending.answer

    # Making durable.

    def is_safe(self, pending: PendingAnswer[_T]) -> bool:
        """Tell, without waiting, whether a ticket's answer may be given; if unsure, no."""
        return pending.seq <= self.durable_seq and pending.epoch == self._epoch

    def is_settled(self, pending: PendingAnswer[_T]) -> bool:
        """Return whether an answer is durable; raise `StorageError` if it never can be."""
        with self._changed:
            return self._is_settled(pending.seq, pending.epoch)

    def settle(self, pending: PendingAnswer[_T]) -> None:
        """Return when the answer is durable; raise `StorageError` if it cannot be."""
        with self._syncing:
            self._sync(pending.seq, pending.epoch)

    def try_settle(self, pending: PendingAnswer[_T]) -> bool:
        """Like `settle`, but return False at once if another thread is syncing."""
        if not self._syncing.acquire(blocking=False):
            return False
        try:
            self._sync(pending.seq, pending.epoch)
        finally:
            self._syncing.release()
        return True

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called, on any thread, after every durable change; return how to stop."""
        self._listeners.append(wake)

        def stop() -> None:
            if wake in self._listeners:  # Else it was dropped with its event loop.
                self._listeners.remove(wake)

        return stop

    def close(self) -> None:
        """Make durable what waits, then close the log."""
        while True:
            with self._syncing, self._changed:
                # Nobody is syncing now; what is staged, if anything, is ours to wait for.
                task, epoch = self._task, self._epoch
                if task is None or not self._staged:
                    self._leave_if_idle()
                    self._wal.close()
                    return
            with self._syncing:
                self._sync(task.seq, epoch)

    def _is_settled(self, seq: Seq, epoch: int) -> bool:
        if epoch != self._epoch:
            durable, failure = self._failures[epoch]
            if seq <= durable:
                return True
            raise failure
        return seq <= self.durable_seq

    def _sync(self, seq: Seq, epoch: int) -> None:
        with self._changed:
            if self._is_settled(seq, epoch):
                return
            task = self._task
            assert task is not None
            lines, self._staged = b"".join(self._staged), []
            after, then = self._staged_after, Position(task.seq, self._chain.crc)
            self._staged_after = then
            self._in_flight = True
        started = perf_counter()
        try:
            self._wal.append(lines, after=after, then=then)
        except BaseException as cause:
            self._wal.close()
            with self._changed:
                self._in_flight = False
                self._fail(
                    cause if isinstance(cause, TaskloomError) else interrupted(self._wal.path)
                )
            raise
        self.last_sync_s = perf_counter() - started
        with self._changed:
            self._in_flight = False
            self.durable_seq = then.seq
            if epoch != self._epoch:  # A bug elsewhere dropped the state meanwhile; this is safe.
                self._failures[epoch] = (then.seq, self._failures[epoch][1])
            self.is_alive = not self.is_over
            self._turn.count_sync()
            self._leave_if_idle()
        for wake in list(self._listeners) if self._listeners else ():
            try:
                wake()
            except RuntimeError:  # Its event loop is closed: nobody is there to be told.
                self._listeners.remove(wake)

    def _fail(self, failure: TaskloomError) -> None:
        """Drop what was not durable; the next question reads the log again."""
        self._failures[self._epoch] = (self.durable_seq, failure)
        self._epoch += 1
        self._failures.pop(self._epoch - 100, None)
        self._staged.clear()
        self._memory.forget()
        self._task = None
        self._turn.use_up()
        self._leave_if_idle()

    # Within a turn.

    def _in_turn(self, act: Callable[[Task], _T], *, wait: bool) -> "PendingAnswer[_T] | None":
        if not self._changed.acquire(blocking=wait):
            return None
        try:
            if self._damage is not None:
                raise self._damage
            begun = self._turn.enter(wait=wait)
            if begun is None:
                return None
            try:
                if begun and not self._catch_up(wait=wait):
                    return None
                task = self._task
                assert task is not None
                try:
                    outcome: _T | Exception = act(task)
                except WouldBlockError:
                    return None
                except Exception as no:  # told to the caller once it is settled
                    if self._task is not task:
                        raise  # The state was dropped; there is nothing to wait for.
                    outcome = no
                return PendingAnswer(outcome, task.seq, self._epoch)
            finally:
                self._leave_if_idle()
        finally:
            self._changed.release()

    def _leave_if_idle(self) -> None:
        if self._turn.is_ours and not self._staged and not self._in_flight:
            self._turn.leave()

    def _catch_up(self, *, wait: bool) -> bool:
        """Read what others wrote; tell whether that was done, for it may take long."""
        try:
            unread = self._wal.unread_bytes()
            task = self._task
            if unread == 0 and task is not None and task.seq == self._wal.position.seq:
                return True
            if not wait and (task is None or unread > _READ_AT_ONCE_BYTES):
                return False
            self._task = restore(self._wal, task)
            if self._task is not task:
                self._memory.forget()  # It may be another file: only what it says counts.
        except DamagedLogError as damage:
            self._task = None
            self._damage = UnavailableError(self._wal.path, damage.line, damage.cause)
            self.is_alive = False
            raise self._damage from damage
        except StorageError:
            self._task = None
            raise
        position = self._wal.position
        self._chain.crc = position.crc
        self._staged_after = position
        self.durable_seq = position.seq
        self.is_alive = not self.is_over
        return True

    def _carry_out(self, task: Task, command: Command, actor: Actor, wait: bool) -> Receipt:
        check_session(task, actor)
        if command.command_id is not None:
            require_sight(actor, task.task_id)
        if command.command_id is not None and self._memory.is_done(task, command, actor):
            again = self._memory.recall(task, command, read_log=wait)
            if again is None:
                raise WouldBlockError
            return again
        if isinstance(command, ClaimStep):
            require_sight(actor, task.task_id)
            self._expire_leases(task, actor)
        now = self._time.now(task.updated_at)
        first = task.seq + 1
        events = decide(task, command, actor, now, self._rules)
        self._stage(task, events, author_of(task, actor, now, command.command_id))
        receipt = write_receipt(task, command, first)
        if command.command_id is not None and events:
            self._memory.keep(command.command_id, receipt)
        return receipt

    def _expire_leases(self, task: Task, actor: Actor) -> None:
        now = self._time.now(task.updated_at)
        if task.is_terminal or not self._wal.is_writable:
            return  # A board that cannot be written to can still be looked at.
        end = task.next_lease_end()
        if end is not None and end <= now:
            events = decide(task, ExpireLeases(task_id=task.task_id), actor, now, self._rules)
            self._stage(task, events, author_of(task, actor, now, None))

    def _stage(self, task: Task, events: list[Event], origin: EventAuthor) -> None:
        if not events:
            return
        if task.foreign:
            raise RefusedError(
                Code.PERMISSION_DENIED,
                f"{self.wal_path} was written by another program: it can be read here, not "
                "changed. Create a new Task for further work.",
                {"task_id": task.task_id, "wal_path": self.wal_path},
            )
        after = task.seq
        base = self._staged_after.seq
        chain = Chain(self._chain.crc)
        try:
            lines = encode(events, origin, chain, after=after, base=base)
        except (TypeError, ValueError, OverflowError) as cause:
            raise RefusedError(
                Code.VALIDATION_ERROR, f"A value cannot be written to the log: {cause}."
            ) from cause
        try:
            for seq, event in enumerate(events, after + 1):
                evolve(task, event.payload, event.step_id, origin.at, seq)
        except BaseException as bug:
            # Half changed is worse than not there: the next question reads the log again.
            failure = TaskloomError(
                Code.INTERNAL_ERROR,
                f"The board decided what it cannot do ({bug}). Nothing was changed; please report "
                "this.",
            )
            self._fail(failure)
            raise failure from bug
        if origin.command_id is not None:
            for seq, event in enumerate(events, after + 1):
                note_done(task, origin.command_id, seq, origin.run_id, event)
        self._staged.append(lines)
        self._chain = chain

"""The single writer of one Task in this process: it turns commands into durable events.

Every command takes the same way:

1. `submit` takes the write lock, reads what other processes appended, authorises the actor,
   decides, stages the lines of the events and applies the events to the Task.
2. `commit` makes all staged lines durable with one write and one sync.
3. The caller takes the answer.

No caller sees what is not durable: every answer, refusal and view is a `PendingAnswer` that names
the last line it rests on. If that line is lost, `commit` raises the failure instead, and the next
request reads the Task again from the log.

Thread-safe. Nothing here knows an event loop; see `group_commit` for that.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Generic, TypeAlias, TypeVar

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
    authorise,
    decide_authorised,
    evolve,
    require_sight,
)
from taskloom.codec import Chain, EventAuthor, encode, note_done
from taskloom.errors import (
    Code,
    DamagedLogError,
    RefusedError,
    TaskloomError,
    UnavailableError,
)
from taskloom.ids import CommandId, Seq
from taskloom.log import Wal
from taskloom.runtime.clock import Clock, MonotonicClock
from taskloom.runtime.idempotency import CommandMemory, write_receipt
from taskloom.runtime.log_reader import restore
from taskloom.runtime.wal_writer import WalWriter
from taskloom.runtime.write_lock import WouldBlockError, reset_after_fork

_T = TypeVar("_T")
_Subject = TypeVar("_Subject")
_Who = TypeVar("_Who", bound=Actor | None)

Look: TypeAlias = Callable[[Task, str], _T]
"""What a reader makes of a Task and the path of its log: quick, changing and keeping nothing."""

_READ_AT_ONCE_BYTES: Final = 1 << 18
"""Reading more than this takes too long for an event loop's thread."""


class PendingAnswer(Generic[_T]):
    """An answer that holds once the log is durable up to line `seq`.

    A refusal waits as well: it, too, may rest on a change that is not durable yet.
    """

    __slots__ = ("epoch", "outcome", "seq", "writer")

    def __init__(self, writer: "TaskWriter", outcome: _T | Exception, seq: Seq, epoch: int) -> None:
        self.writer = writer
        self.outcome = outcome
        self.seq = seq
        self.epoch = epoch

    def result(self) -> _T:
        """Return the answer or raise the refusal. Call it after `commit`."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


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
        """Write to an open log. Without `task`, the first request reads the Task from it."""
        self._log = WalWriter(wal)
        self._memory = CommandMemory(open_again)
        self._clock = MonotonicClock(clock)
        self._rules = rules
        self._task = task
        # The epoch that `_task` belongs to. When the log's epoch has ended, lines were lost that
        # `_task` counts with: it is worth nothing, and the next request reads the log again.
        self._task_epoch = 0
        self._damage: UnavailableError | None = None
        self._listeners: list[Callable[[], None]] = []
        # False once the Task has ended durably or its log was found damaged. The session then
        # looks for the Task's log again before the next request: by then another process may
        # have given the id to a new Task, or somebody may have repaired the file.
        self.is_alive = True
        reset_after_fork(self)

    @property
    def wal_path(self) -> str:
        """Where the log is."""
        return self._log.wal.path

    @property
    def durable_seq(self) -> Seq:
        """The last line that is durable, as far as this process knows."""
        return self._log.durable_seq

    @property
    def last_sync_s(self) -> float:
        """How long the last sync took."""
        return self._log.last_sync_s

    @property
    def is_over(self) -> bool:
        """Whether the Task has ended, durably, as far as this process knows."""
        task = self._task
        return (
            task is not None
            and task.is_terminal
            and task.seq <= self._log.durable_seq
            and self._task_epoch == self._log.epoch
        )

    def after_fork(self) -> None:
        """In a forked child: forget what only the parent may write."""
        self._log.after_fork()
        self._listeners = []

    def submit(
        self, command: Command, actor: Actor, *, wait: bool = True
    ) -> PendingAnswer[Receipt]:
        """Decide a command and apply its events; `commit` makes them durable.

        Raises:
            WouldBlockError: It would have to wait, and `wait` is false. Nothing was done.
            StorageError: The log cannot be read.
            UnavailableError: The log is damaged.
        """
        return self._run(self._apply, command, actor, wait)

    def read(self, look: Look[_T], actor: Actor | None, *, wait: bool = True) -> PendingAnswer[_T]:
        """Return what `look` makes of the Task, after ended leases were taken back.

        Without an actor leases stay as they are. Raises like `submit`.
        """
        return self._run(self._look, look, actor, wait)

    def commit(self, pending: PendingAnswer[_T], *, wait: bool = True) -> None:
        """Return when everything the answer rests on is durable.

        Raises:
            StorageError: That could not be done; the answer must not be given.
            WouldBlockError: Another thread is syncing, and `wait` is false.
        """
        if not self._log.commit(pending.seq, pending.epoch, wait=wait):
            return
        if self.is_over:
            self.is_alive = False
        for wake in list(self._listeners) if self._listeners else ():
            try:
                wake()
            except RuntimeError:  # Its event loop is closed.
                self._listeners.remove(wake)

    def is_committed(self, pending: PendingAnswer[_T]) -> bool:
        """Return whether everything the answer rests on is durable. Never waits.

        Raises:
            StorageError: It was lost; the answer must not be given.
        """
        return self._log.is_committed(pending.seq, pending.epoch)

    def send(self, command: Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable."""
        pending = self.submit(command, actor)
        self.commit(pending)
        return pending.result()

    def ask(self, look: Look[_T], actor: Actor | None = None) -> _T:
        """Return what `look` makes of the Task, when all of it is durable."""
        pending = self.read(look, actor)
        self.commit(pending)
        return pending.result()

    def repeated(self, command: CreateTask, actor: Actor) -> Receipt | None:
        """Return the answer to the command that created this Task, if it was this one."""

        def look(task: Task, _wal_path: str) -> Receipt | None:
            if not self._memory.is_done(task, command, actor):
                return None
            return self._memory.recall(task, command, read_log=True)

        return self.ask(look)

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called, on any thread, after every durable change; return how to stop."""
        self._listeners.append(wake)

        def stop() -> None:
            if wake in self._listeners:  # Else it was dropped with its event loop.
                self._listeners.remove(wake)

        return stop

    def close(self) -> None:
        """Make durable what is staged, then close the log."""
        self._log.close()

    # What follows runs with the log's lock held.

    def _run(
        self,
        act: Callable[[Task, _Subject, _Who, bool], _T],
        subject: _Subject,
        actor: _Who,
        wait: bool,
    ) -> PendingAnswer[_T]:
        """Run `act` on the Task as it is now, while no other thread or process changes it."""
        if self._damage is not None:
            raise self._damage
        log = self._log
        others_appended = log.enter(wait)
        try:
            if others_appended:
                self._catch_up(wait=wait)
            task = self._task
            assert task is not None
            outcome: _T | Exception
            try:
                outcome = act(task, subject, actor, wait)
            except WouldBlockError:
                raise
            except Exception as refusal:
                if self._task_epoch != log.epoch:
                    raise  # The Task was lost; there is no line to wait for.
                outcome = refusal
            return PendingAnswer(self, outcome, task.seq, log.epoch)
        finally:
            log.leave()

    def _catch_up(self, *, wait: bool) -> None:
        """Read what other processes appended."""
        log = self._log
        task = self._task if self._task_epoch == log.epoch else None
        try:
            unread = log.wal.unread_bytes()
            if unread == 0 and task is not None and task.seq == log.wal.position.seq:
                return
            if not wait and (task is None or unread > _READ_AT_ONCE_BYTES):
                raise WouldBlockError
            self._task = None  # Should reading fail, it is half changed.
            self._task = restore(log.wal, task)
        except DamagedLogError as damage:
            self._damage = UnavailableError(self.wal_path, damage.line, damage.cause)
            self.is_alive = False
            raise self._damage from damage
        if self._task is not task:
            self._memory.forget()  # It may be another file: only what it says counts.
        self._task_epoch = log.epoch
        log.read_on()
        self.is_alive = not self.is_over

    def _look(self, task: Task, look: Look[_T], actor: Actor | None, _wait: bool) -> _T:
        if actor is not None:
            require_sight(actor, task.task_id)
            self._expire_leases(task, actor)
        return look(task, self.wal_path)

    def _apply(self, task: Task, command: Command, actor: Actor, wait: bool) -> Receipt:
        authorise(task, command, actor)
        command_id = command.command_id
        if command_id is not None and self._memory.is_done(task, command, actor):
            again = self._memory.recall(task, command, read_log=wait)
            if again is None:
                raise WouldBlockError  # The log has the answer, and reading it takes long.
            return again
        if isinstance(command, ClaimStep):
            self._expire_leases(task, actor)
        now = self._clock.now(task.updated_at)
        first = task.seq + 1
        events = decide_authorised(task, command, actor, now, self._rules)
        if events:
            self._stage(task, events, actor, now, command_id)
        receipt = write_receipt(task, command, first)
        if command_id is not None and events:
            self._memory.keep(command_id, receipt)
        return receipt

    def _expire_leases(self, task: Task, actor: Actor) -> None:
        """Take back the leases that have ended: decisions and views must not count them."""
        now = self._clock.now(task.updated_at)
        if task.is_terminal or not self._log.wal.is_writable:
            return  # A board that cannot be written to can still be read.
        end = task.next_lease_end()
        if end is not None and end <= now:
            expire = ExpireLeases(task_id=task.task_id)
            events = decide_authorised(task, expire, actor, now, self._rules)
            self._stage(task, events, actor, now, None)

    def _stage(
        self,
        task: Task,
        events: list[Event],
        actor: Actor,
        now: datetime,
        command_id: CommandId | None,
    ) -> None:
        """Stage the lines of one decision, and apply its events to the Task."""
        if task.from_reference_log:
            raise RefusedError(
                Code.PERMISSION_DENIED,
                f"{self.wal_path} was written by another program: it can be read here, not "
                "changed. Create a new Task for further work.",
                {"task_id": task.task_id, "wal_path": self.wal_path},
            )
        log, after = self._log, task.seq
        author = EventAuthor(
            task.session_id,
            task.task_id,
            task.event_prefix,
            actor.agent_id,
            actor.run_id,
            now,
            command_id,
        )
        # First the lines, on a chain of their own: a value that cannot be written must change
        # neither the Task nor the checksum.
        chain = Chain(log.chain.crc)
        try:
            lines = encode(events, author, chain, after=after, base=log.base)
        except (TypeError, ValueError, OverflowError) as cause:
            raise RefusedError(
                Code.VALIDATION_ERROR, f"A value cannot be written to the log: {cause}."
            ) from cause
        try:
            for seq, event in enumerate(events, after + 1):
                evolve(task, event.payload, event.step_id, now, seq)
                if command_id is not None:
                    note_done(task, command_id, seq, actor.run_id, event)
        except BaseException as bug:
            failure = TaskloomError(
                Code.INTERNAL_ERROR,
                f"The board decided what it cannot do ({bug}). Nothing was changed; please report "
                "this.",
            )
            log.lose(failure)  # The Task is half changed: the log alone is still right.
            raise failure from bug
        log.stage(lines, chain, task.seq)

"""The Tasks of one session: the writer of each, found by the Task's id or made with a new Task.

The last line of a log alone tells that its Task has ended, so ended Tasks are read only on
request. What other processes create is found by looking at the directory again.
"""

from collections import OrderedDict
from collections.abc import Callable
from os import urandom
from threading import RLock
from typing import Final, TypeVar

from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    Command,
    CreateTask,
    Receipt,
    Role,
    Rules,
    Task,
    TaskCreated,
    TaskLine,
    UpdateBoard,
    check_command,
    create,
    decide_create,
    evolve,
    view_line,
)
from taskloom.board.validation import kind, refuse
from taskloom.codec import Chain, EventAuthor, encode, note_done
from taskloom.errors import Code, RefusedError, StorageError, TaskloomError, UnavailableError
from taskloom.ids import SessionId, TaskId
from taskloom.log import Log, Position, Wal
from taskloom.runtime.clock import Clock, SystemClock
from taskloom.runtime.idempotency import check_command_id, write_receipt
from taskloom.runtime.log_reader import LogEntry, LogIndex, gc_paused
from taskloom.runtime.task_writer import Look, PendingAnswer, TaskWriter
from taskloom.runtime.write_lock import WouldBlockError, reset_after_fork

_ENDED_KEPT_MAX: Final = 8
"""Ended Tasks kept open, because who reads one often reads it again."""

_AT_ONCE_MAX: Final = 100
"""Operations of an update that an event loop's thread may decide; more take too long for it."""


_T = TypeVar("_T")


class TaskWriters:
    """One session's Tasks. Thread-safe; may block."""

    def __init__(
        self,
        log: Log,
        session_id: SessionId,
        *,
        clock: Clock | None = None,
        rules: Rules = DEFAULT_RULES,
        new_prefix: Callable[[], str] = lambda: urandom(6).hex(),
    ) -> None:
        """Name the session; `resume` opens its Tasks.

        `new_prefix` makes what the event ids of a new log begin with, new for every log.
        """
        self.session_id = session_id
        self.rules = rules
        self._clock: Clock = clock or SystemClock()
        if self._clock.now().tzinfo is None:
            refuse("$.clock", "must tell moments with a time zone, such as datetime.now(UTC).")
        self._log = log
        self._new_prefix = new_prefix
        self._index = LogIndex(log)
        self._active: dict[TaskId, tuple[str, TaskWriter]] = {}
        self._ended: OrderedDict[str, TaskWriter] = OrderedDict()
        self._lock = RLock()
        self._closed = False
        reset_after_fork(self)

    def after_fork(self) -> None:
        """In a forked child: replace a lock that a thread of the parent may hold."""
        self._lock = RLock()

    @property
    def clock(self) -> Clock:
        """Where this session's time comes from."""
        return self._clock

    def resume(self) -> None:
        """Rebuild every active Task and take back the leases that ran out meanwhile."""
        with self._lock:
            self._closed = False
            host = Actor(
                agent_id="core", run_id="core", session_id=self.session_id, role=Role.ORCHESTRATOR
            )
            for found in self._index.scan():
                if found.ended is None and found.error is None:
                    try:
                        self._open(found).ask(_look_at_nothing, host)
                    except TaskloomError:
                        continue  # The next request for that Task gets the error.

    # Requests.

    def submit(self, command: CreateTask | Command, actor: Actor) -> PendingAnswer[Receipt]:
        """Decide a command at once, for an event loop; its answer still has to be committed.

        Raises:
            WouldBlockError: It cannot be decided at once. Nothing was done; `send` it.
        """
        if isinstance(command, CreateTask):
            raise WouldBlockError  # A new file takes several syncs.
        check_command(command)
        writer = self.known(command.task_id)
        if writer is None or (
            isinstance(command, UpdateBoard) and len(command.operations) > _AT_ONCE_MAX
        ):
            raise WouldBlockError
        return writer.submit(command, actor, wait=False)

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable."""
        if isinstance(command, CreateTask):
            return self.create(command, actor)
        check_command(command)
        writer = self.writer(command.task_id)
        was_alive = writer.is_alive
        try:
            return writer.send(command, actor)
        except TaskloomError:
            if writer.is_alive or not was_alive:
                raise
            # Another process ended the Task, and may have used its id for a new one.
            other = self.writer(command.task_id)
            if other is writer:
                raise
            return other.send(command, actor)
        finally:
            if not writer.is_alive:
                self.retire(command.task_id)

    def read(self, task_id: TaskId, look: Look[_T], actor: Actor) -> _T:
        """Return what `look` makes of a Task, active or ended."""
        writer = self.writer(task_id)
        was_alive = writer.is_alive
        answer = writer.ask(look, actor)
        if was_alive and not writer.is_alive:
            # Another process ended the Task, and may have used its id for a new one.
            return self.writer(task_id).ask(look, actor)
        return answer

    def known(self, task_id: TaskId) -> TaskWriter | None:
        """Return the writer of an active Task if it is open already. Does not block."""
        try:
            there = self._active.get(task_id)
        except TypeError:
            return None  # Callers may send anything; `writer` says what is wrong with it.
        return there[1] if there is not None and there[1].is_alive else None

    def writer(self, task_id: TaskId) -> TaskWriter:
        """Return the writer of a Task, active or ended, opening its log if need be.

        Raises:
            RefusedError: There is no such Task.
            StorageError: Its log cannot be opened.
        """
        if not isinstance(task_id, str):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$.task_id", f"must be a string, not {kind(task_id)}.")
        with self._lock:
            self._require_open()
            writer = self.known(task_id)
            if writer is not None:
                return writer
            found = self._index.find(task_id)
            if found is None:
                raise RefusedError(
                    Code.TASK_NOT_FOUND,
                    f"This session has no Task {str(task_id)[:100]!r}. List the Tasks to see "
                    "which there are.",
                    {"task_id": str(task_id)[:200]},
                )
            return self._open(found)

    def create(self, command: CreateTask, actor: Actor) -> Receipt:
        """Make a new Task, durably."""
        with gc_paused():
            return self._create(command, actor)

    def _create(self, command: CreateTask, actor: Actor) -> Receipt:
        if command.command_id is not None:
            check_command_id(command.command_id)
        now = self._clock.now()
        events = decide_create(command, actor, now, self.rules)
        first = events[0].payload
        assert isinstance(first, TaskCreated)
        with self._lock, self._log.exclusive():
            self._require_open()
            again = self._active_already(command, actor)
            if again is not None:
                return again
            author = EventAuthor(
                self.session_id,
                first.task.task_id,
                self._new_prefix(),
                actor.agent_id,
                actor.run_id,
                now,
                command.command_id,
            )
            chain = Chain()
            lines = encode(events, author, chain, after=0, base=0)
            then = Position(len(events), chain.crc)
            wal = self._log.create(first.task.wal_name, lines, then=then)
            del lines  # A big plan is big twice while both are there.
            task = create(first, now, 1, self.session_id)
            task.event_prefix = author.event_prefix
            for seq, event in enumerate(events[1:], 2):
                evolve(task, event.payload, event.step_id, now, seq)
            if command.command_id is not None:
                for seq, event in enumerate(events, 1):
                    note_done(task, command.command_id, seq, actor.run_id, event)
            self._add(first.task.wal_name, wal, task)
        return write_receipt(task, command, 1)

    def found(self) -> list[LogEntry]:
        """Return every log there is, newest first."""
        with self._lock:
            self._require_open()
            return self._index.scan()

    def last_lines(self, name: str, count: int) -> list[bytes]:
        """Return the last full lines of a log, without reading the rest."""
        return self._log.last_lines(name, count)

    def line(self, entry: LogEntry) -> TaskLine:
        """Return the line of a list for a log, with its error if it cannot be read."""
        try:
            if entry.error is not None:
                raise entry.error
            with self._lock:
                writer = self._open(entry)
            return writer.ask(view_line)
        except TaskloomError as error:
            return entry.unavailable(error, str(error.details.get("wal_path", entry.name)))

    def open_wal(self, task_id: TaskId) -> Wal:
        """Open a Task's log for reading along."""
        with self._lock:
            there = self._active.get(task_id)
            if there is not None:
                return self._log.open(there[0])
            self.writer(task_id)
            found = self._index.find(task_id)
            assert found is not None
            return self._log.open(found.name)

    def retire(self, task_id: TaskId) -> None:
        """Move the writer of a Task that has ended from the active ones to the ended ones."""
        with self._lock:
            there = self._active.get(task_id)
            if there is not None and there[1].is_over:
                del self._active[task_id]
                self._keep_ended(*there)

    def close(self) -> None:
        """Close every log. Every one is closed, also if one of them cannot be synced.

        Raises:
            StorageError: A change whose sender was cancelled could not be made durable.
        """
        with self._lock:
            writers = [writer for _, writer in self._active.values()] + list(self._ended.values())
            self._active.clear()
            self._ended.clear()
            self._closed = True
            failures: list[TaskloomError] = []
            for writer in writers:
                try:
                    writer.close()
                except TaskloomError as failure:
                    failures.append(failure)
            if failures:
                raise failures[0]

    def _require_open(self) -> None:
        if self._closed:
            raise StorageError("The board is closed; open it again with `open_board`.")

    def _open(self, found: LogEntry) -> TaskWriter:
        there = self._active.get(found.task_id)
        if there is not None and there[0] == found.name:
            if there[1].is_alive:
                return there[1]
            del self._active[found.task_id]
            if there[1].is_over:
                self._keep_ended(found.name, there[1])
            else:
                there[1].close()  # Its log was damaged; it may have been repaired since.
        if found.ended is not None:
            writer = self._ended.get(found.name) or self._new_writer(found.name)
            self._keep_ended(found.name, writer)
            return writer
        other = self._active.pop(found.task_id, None)
        if other is not None:
            self._keep_ended(*other)  # Another log of the same Task id; nothing is left open.
        kept = self._ended.get(found.name)
        if kept is not None:
            del self._ended[found.name]
        writer = kept or self._new_writer(found.name)
        self._active[found.task_id] = (found.name, writer)
        return writer

    def _keep_ended(self, name: str, writer: TaskWriter) -> None:
        before = self._ended.get(name)
        if before is not None and before is not writer:
            before.close()
        self._ended[name] = writer
        self._ended.move_to_end(name)
        if len(self._ended) > _ENDED_KEPT_MAX:
            self._ended.popitem(last=False)[1].close()

    def _new_writer(
        self, name: str, wal: Wal | None = None, task: Task | None = None
    ) -> TaskWriter:
        return TaskWriter(
            wal or self._log.open(name),
            self._clock,
            self.rules,
            task=task,
            open_again=lambda: self._log.open(name),
        )

    def _add(self, name: str, wal: Wal, task: Task) -> None:
        before = self._active.pop(task.task_id, None)
        if before is not None:
            self._keep_ended(*before)
        self._active[task.task_id] = (name, self._new_writer(name, wal, task))

    def _active_already(self, command: CreateTask, actor: Actor) -> Receipt | None:
        """Refuse a second active Task of the same id, unless this very command made the first."""
        found = self._index.find(command.task_id)
        if found is None or (found.ended is not None and command.command_id is None):
            return None
        writer = self._open(found)
        try:
            again = writer.repeated(command, actor)
        except UnavailableError:
            if self._index.find(command.task_id) is not None:
                raise
            return None  # It was a creation that a crash cut short, and is set aside now.
        if again is not None or found.ended is not None or writer.is_over:
            return again
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.task_id {command.task_id!r} is the id of an active Task ({found.name}). Choose "
            "another, or end that Task first.",
            {"path": "$.task_id", "wal_name": found.name},
        )


def _look_at_nothing(_task: Task, _wal_path: str) -> None:
    """Read nothing: the request alone restores the Task and takes back ended leases."""

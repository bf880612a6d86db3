"""The Tasks of one session: which there are, which are alive, and where a new one goes.

A Task that has ended is told by the last line of its log alone, and read only when somebody
asks for it. What other processes create is found by looking at the directory again.
"""

from collections import OrderedDict
from collections.abc import Callable
from secrets import token_hex
from threading import RLock
from typing import Final

from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    CreateTask,
    Receipt,
    Role,
    Rules,
    Task,
    TaskCreated,
    TaskLine,
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
from taskloom.runtime.fork_safety import reset_after_fork
from taskloom.runtime.gc_pause import gc_paused
from taskloom.runtime.idempotency import check_command_id, write_receipt
from taskloom.runtime.log_index import LogEntry, LogIndex
from taskloom.runtime.task_writer import TaskWriter

_OVER_KEPT_MAX: Final = 8
"""Ended Tasks kept open for whoever asks twice."""


class TaskWriters:
    """One session's Tasks. Thread-safe; may block."""

    def __init__(
        self,
        log: Log,
        session_id: SessionId,
        *,
        clock: Clock | None = None,
        rules: Rules = DEFAULT_RULES,
        new_prefix: Callable[[], str] = lambda: token_hex(6),
    ) -> None:
        """Name the session; `resume` looks at what is there.

        `new_prefix` makes up what the event ids of a new log begin with, new for every log.
        """
        self.session_id = session_id
        self.rules = rules
        self._clock: Clock = clock or SystemClock()
        if self._clock.now().tzinfo is None:
            refuse("$.clock", "must tell moments with a time zone, such as datetime.now(UTC).")
        self._log = log
        self._new_prefix = new_prefix
        self._catalogue = LogIndex(log)
        self._active: dict[TaskId, tuple[str, TaskWriter]] = {}
        self._over: OrderedDict[str, TaskWriter] = OrderedDict()
        self._lock = RLock()
        self._closed = False
        reset_after_fork(self)

    def after_fork(self) -> None:
        """In a new child process: a lock that a thread of the parent held is held by nobody."""
        self._lock = RLock()

    @property
    def clock(self) -> Clock:
        """Where this session's time comes from."""
        return self._clock

    def resume(self) -> None:
        """Rebuild every active Task and take back the leases that ran out meanwhile."""
        with self._lock:
            self._closed = False
            core = Actor(
                agent_id="core", run_id="core", session_id=self.session_id, role=Role.ORCHESTRATOR
            )
            for found in self._catalogue.scan():
                if found.ended is None and found.error is None:
                    try:
                        self._open(found).ask(lambda _: None, core)
                    except TaskloomError:
                        continue  # It answers for itself when somebody asks for it.

    def current(self, task_id: TaskId, writer: TaskWriter) -> TaskWriter | None:
        """Return another desk for the Task if this one turned out to be of one that has ended.

        Another process may have ended it and used its id for a new one.
        """
        if writer.is_alive or self._active.get(task_id, (None, None))[1] is not writer:
            return None
        other = self.writer(task_id)
        return other if other is not writer else None

    def known(self, task_id: TaskId) -> TaskWriter | None:
        """Return the desk of an active Task if it is open already. Does not block."""
        try:
            there = self._active.get(task_id)
        except TypeError:
            return None  # Callers may send anything; `desk` says what is wrong with it.
        return there[1] if there is not None and there[1].is_alive else None

    def writer(self, task_id: TaskId) -> TaskWriter:
        """Return the desk of a Task, opening what another process made since.

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
            found = self._catalogue.find(task_id)
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
            origin = EventAuthor(
                self.session_id,
                first.task.task_id,
                self._new_prefix(),
                actor.agent_id,
                actor.run_id,
                now,
                command.command_id,
            )
            chain = Chain()
            lines = encode(events, origin, chain, after=0, base=0)
            then = Position(len(events), chain.crc)
            wal = self._log.create(first.task.wal_name, lines, then=then)
            del lines  # A big plan is big twice while both are there.
            task = create(first, now, 1, self.session_id)
            task.event_prefix = origin.event_prefix
            for seq, event in enumerate(events[1:], 2):
                evolve(task, event.payload, event.step_id, now, seq)
            if command.command_id is not None:
                for seq, event in enumerate(events, 1):
                    note_done(task, command.command_id, seq, actor.run_id, event)
            self._adopt(first.task.wal_name, wal, task)
        return write_receipt(task, None, 1)

    def found(self) -> list[LogEntry]:
        """Return every log there is, newest first."""
        with self._lock:
            self._require_open()
            return self._catalogue.scan()

    def last_lines(self, name: str, count: int) -> list[bytes]:
        """Return the last full lines of a log, without reading the rest."""
        return self._log.last_lines(name, count)

    def line(self, found: LogEntry) -> TaskLine:
        """Show one of them in a list, with its error if it has one."""
        try:
            if found.error is not None:
                raise found.error
            with self._lock:
                writer = self._open(found)
            return writer.glance(lambda task: view_line(task, writer.wal_path))
        except TaskloomError as error:
            return TaskLine(
                task_id=found.task_id,
                wal_path=str(error.details.get("wal_path", found.name)),
                status="unavailable",
                updated_at=found.updated_at,
                error=error.as_dict(),
            )

    def open_wal(self, task_id: TaskId) -> Wal:
        """Open a Task's log for reading along."""
        with self._lock:
            there = self._active.get(task_id)
            if there is not None:
                return self._log.open(there[0])
            self.writer(task_id)
            found = self._catalogue.find(task_id)
            assert found is not None
            return self._log.open(found.name)

    def retire(self, task_id: TaskId) -> None:
        """Let go of a Task that has ended; it is opened again when somebody asks for it."""
        with self._lock:
            there = self._active.get(task_id)
            if there is not None and there[1].is_over:
                del self._active[task_id]
                self._keep_over(*there)

    def close(self) -> None:
        """Close every log. Every one is closed, also if one of them cannot be synced.

        Raises:
            StorageError: Something that nobody waited for could not be made durable.
        """
        with self._lock:
            writers = [writer for _, writer in self._active.values()] + list(self._over.values())
            self._active.clear()
            self._over.clear()
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
                self._keep_over(found.name, there[1])
            else:
                there[1].close()  # Its log was damaged; perhaps somebody mended it.
        if found.ended is not None:
            writer = self._over.get(found.name) or self._new_desk(found.name)
            self._keep_over(found.name, writer)
            return writer
        other = self._active.pop(found.task_id, None)
        if other is not None:
            self._keep_over(*other)  # Another log of the same Task id; nothing is left open.
        kept = self._over.get(found.name)
        if kept is not None:
            del self._over[found.name]
        writer = kept or self._new_desk(found.name)
        self._active[found.task_id] = (found.name, writer)
        return writer

    def _keep_over(self, name: str, writer: TaskWriter) -> None:
        before = self._over.get(name)
        if before is not None and before is not writer:
            before.close()
        self._over[name] = writer
        self._over.move_to_end(name)
        if len(self._over) > _OVER_KEPT_MAX:
            self._over.popitem(last=False)[1].close()

    def _new_desk(self, name: str, wal: Wal | None = None, task: Task | None = None) -> TaskWriter:
        return TaskWriter(
            wal or self._log.open(name),
            self._clock,
            self.rules,
            task=task,
            open_again=lambda: self._log.open(name),
        )

    def _adopt(self, name: str, wal: Wal, task: Task) -> None:
        before = self._active.pop(task.task_id, None)
        if before is not None:
            self._keep_over(*before)
        self._active[task.task_id] = (name, self._new_desk(name, wal, task))

    def _active_already(self, command: CreateTask, actor: Actor) -> Receipt | None:
        """Refuse a second active Task of the same id, unless this very command made the first."""
        found = self._catalogue.find(command.task_id)
        if found is None or (found.ended is not None and command.command_id is None):
            return None
        writer = self._open(found)
        try:
            again = writer.recall(command, actor)
        except UnavailableError:
            if self._catalogue.find(command.task_id) is not None:
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

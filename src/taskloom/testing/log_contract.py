"""The tests that every log must pass; see `taskloom.log.protocol` for the guarantees.

    class TestMyLog(LogContract):
        def make_log(self) -> Log:
            return MyLog(...)

Each test calls `make_log` once. A log that a second object can open overrides `same_log`; one
whose end can be torn overrides `tear`.
"""

from contextlib import closing
from datetime import UTC, datetime
from threading import Event as Signal
from threading import Thread
from typing import Final

from taskloom.board import Event, TaskRunning, TaskStatus
from taskloom.codec import Chain, EventAuthor, encode
from taskloom.errors import Code, FencedError, RefusedError
from taskloom.log import START, Log, Position, Wal

_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LONG_S: Final = 30.0
"""The timeout of waits that end at once on any machine."""


def some_lines(after: Position, count: int = 1, *, note: str = "") -> tuple[bytes, Position]:
    """Return the lines of one transaction after a position, and the position of their end."""
    chain = Chain(after.crc)
    origin = EventAuthor("s1", "t1", "e", "ann", "ann-1", _AT)
    event = Event(TaskRunning(TaskStatus.PENDING, reason=note))
    lines = encode([event] * count, origin, chain, after=after.seq, base=after.seq)
    return bytes(lines), Position(after.seq + count, chain.crc)


def append(wal: Wal, count: int = 1, *, note: str = "") -> bytes:
    """Append one transaction at the position of the handle."""
    lines, then = some_lines(wal.position, count, note=note)
    wal.append(lines, after=wal.position, then=then)
    return lines


def read(wal: Wal) -> bytes:
    """Return the new lines, read under the lock."""
    wal.acquire(wait=True)
    try:
        return b"".join(wal.read_new())
    finally:
        wal.release()


class LogContract:
    """Tests for a log: subclass it, define `make_log`, and run it with pytest."""

    def make_log(self) -> Log:
        """Return an empty log."""
        raise NotImplementedError

    def same_log(self, log: Log) -> Log:
        """Return the same logs as another process would open them, or the same object."""
        return log

    def tear(self, log: Log, name: str, torn: bytes) -> bool:  # noqa: ARG002 - for overrides
        """Append a torn write to a log; return False if its logs cannot be torn."""
        return False

    # Creating.

    def test_a_new_log_has_its_first_lines(self) -> None:
        """The handle from `create` and a new one agree."""
        log = self.make_log()
        lines, then = some_lines(START, 3)
        with log.exclusive(), closing(log.create("plan", lines, then=then)) as wal:
            assert wal.position == then
        with closing(self.same_log(log).open("plan")) as again:
            assert read(again) == lines
            assert again.position == then
            assert again.torn is None
            assert not again.is_reference_log

    def test_a_second_creation_of_one_name_is_refused(self) -> None:
        """And the lines of the first stay."""
        log = self.make_log()
        first = self._create(log, 2)
        lines, then = some_lines(START, 5, note="second")
        code = None
        try:
            with log.exclusive():
                log.create("plan", lines, then=then)
        except RefusedError as refusal:
            code = refusal.code
        assert code is Code.PATH_CONFLICT
        with closing(log.open("plan")) as wal:
            assert read(wal) == first

    def test_one_of_many_concurrent_creations_succeeds(self) -> None:
        """Each thread opens the same logs."""
        log = self.make_log()
        won: list[int] = []

        def create(number: int) -> None:
            mine = self.same_log(log)
            lines, then = some_lines(START, note=str(number))
            try:
                with mine.exclusive():
                    mine.create("plan", lines, then=then).close()
            except RefusedError:
                return
            won.append(number)

        _run_together([Thread(target=create, args=(number,)) for number in range(8)])
        assert len(won) == 1
        with closing(log.open("plan")) as wal:
            assert read(wal) == some_lines(START, note=str(won[0]))[0]

    def test_every_log_is_listed_with_its_size(self) -> None:
        """In any order."""
        log = self.make_log()
        assert log.entries() == []
        sizes = {name: len(self._create(log, 2, name=name)) for name in ("a", "b-2", "c_3")}
        assert {info.name: info.size_bytes for info in self.same_log(log).entries()} == sizes

    # Appending.

    def test_lines_are_read_in_the_order_of_their_appends(self) -> None:
        """Without a gap, whatever the size of the transactions."""
        log = self.make_log()
        written = [self._create(log, 1)]
        with closing(log.open("plan")) as wal:
            read(wal)
            wal.acquire(wait=True)
            written += [append(wal, count) for count in (1, 3, 64, 1)]
            wal.release()
            assert wal.position.seq == 70
        with closing(log.open("plan")) as again:
            assert read(again) == b"".join(written)
            assert again.position.seq == 70

    def test_an_append_after_anything_but_the_end_is_fenced_and_changes_nothing(self) -> None:
        """Too early, too late, and at the right number with another history."""
        log = self.make_log()
        created = self._create(log, 2)
        with closing(log.open("plan")) as wal:
            read(wal)
            end = wal.position
            wal.acquire(wait=True)
            for wrong in (START, Position(1, 7), Position(3, end.crc), Position(2, end.crc ^ 1)):
                lines, then = some_lines(wrong)
                _expect_fence(wal, lines, wrong, then)
            wal.release()
            wal.rewind()
            assert read(wal) == created

    def test_one_of_two_appends_after_the_same_position_succeeds(self) -> None:
        """The other is fenced, reads the new lines, and then succeeds."""
        log = self.make_log()
        self._create(log, 1)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        with closing(one), closing(two):
            assert read(one) == read(two)
            one.acquire(wait=True)
            first = append(one, note="one")
            one.release()
            two.acquire(wait=True)
            lines, then = some_lines(two.position, note="two")
            _expect_fence(two, lines, two.position, then)
            assert b"".join(two.read_new()) == first
            append(two, note="two")
            two.release()
            assert two.position.seq == 3

    def test_handles_see_each_others_appends(self) -> None:
        """Each reads exactly the lines that are new to it."""
        log = self.make_log()
        created = self._create(log, 1)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        with closing(one), closing(two):
            assert read(one) == read(two) == created
            for _ in range(3):
                for writer, reader in ((one, two), (two, one)):
                    writer.acquire(wait=True)
                    lines = append(writer, 2)
                    writer.release()
                    assert read(reader) == lines
                    assert read(writer) == b""
                    assert reader.position == writer.position

    # Locks.

    def test_the_lock_excludes_all_others(self) -> None:
        """Until it is released."""
        log = self.make_log()
        self._create(log, 1)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        with closing(one), closing(two):
            assert one.acquire(wait=False)
            assert not two.acquire(wait=False)
            assert not two.acquire(wait=False, shared=True)
            one.release()
            assert two.acquire(wait=False)
            two.release()

    def test_a_waiter_gets_the_lock(self) -> None:
        """As soon as the holder releases it."""
        log = self.make_log()
        self._create(log, 1)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        got = Signal()

        def wait() -> None:
            two.acquire(wait=True)
            got.set()
            two.release()

        with closing(one), closing(two):
            one.acquire(wait=True)
            waiter = Thread(target=wait)
            waiter.start()
            assert not got.is_set()
            one.release()
            assert got.wait(_LONG_S)
            waiter.join(_LONG_S)

    def test_a_shared_lock_excludes_writers(self) -> None:
        """Until it is released."""
        log = self.make_log()
        self._create(log, 1)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        with closing(one), closing(two):
            assert one.acquire(wait=True, shared=True)
            assert not two.acquire(wait=False)
            one.release()
            assert two.acquire(wait=False)
            two.release()

    def test_a_rewind_keeps_the_lock(self) -> None:
        """A writer rewinds under the lock, so that must not release it."""
        log = self.make_log()
        created = self._create(log, 2)
        one, two = log.open("plan"), self.same_log(log).open("plan")
        with closing(one), closing(two):
            read(one)
            one.acquire(wait=True)
            one.rewind()
            assert one.position == START
            assert b"".join(one.read_new()) == created
            assert not two.acquire(wait=False)
            append(one)
            one.release()

    # Recovery.

    def test_a_torn_write_is_never_read_and_the_next_append_replaces_it(self) -> None:
        """Half a line, and whole lines of half a transaction."""
        log = self.make_log()
        created = self._create(log, 2)
        with closing(log.open("plan")) as wal:
            read(wal)
            end = wal.position
        transaction = some_lines(end, 3, note="torn")[0]
        for torn in (
            transaction[:10],
            transaction[: transaction.index(b"\n") + 1],
            transaction[:-1],
        ):
            if not self.tear(log, "plan", torn):
                return
            with closing(self.same_log(log).open("plan")) as wal:
                assert read(wal) == created
                assert wal.torn is not None
                assert wal.torn.size_bytes == len(torn)
                assert wal.torn.after_seq == 2
        with closing(self.same_log(log).open("plan")) as wal:
            read(wal)
            wal.acquire(wait=True)
            lines = append(wal, note="after")
            wal.release()
        with closing(log.open("plan")) as again:
            assert read(again) == created + lines

    def test_the_last_lines_are_the_last_two(self) -> None:
        """Or one, if there is only one; whatever their length."""
        log = self.make_log()
        created = self._create(log, 1)
        assert log.last_lines("plan") == [created]
        with closing(log.open("plan")) as wal:
            read(wal)
            wal.acquire(wait=True)
            for note in ("short", "x" * 100_000, "y" * 20_000):
                append(wal, 3, note=note)
                wal.rewind()
                everything = b"".join(wal.read_new()).splitlines(keepends=True)
                assert log.last_lines("plan") == everything[-2:]
            wal.release()

    def _create(self, log: Log, count: int, *, name: str = "plan") -> bytes:
        lines, then = some_lines(START, count)
        with log.exclusive():
            log.create(name, lines, then=then).close()
        return lines


def _expect_fence(wal: Wal, lines: bytes, after: Position, then: Position) -> None:
    try:
        wal.append(lines, after=after, then=then)
    except FencedError:
        return
    raise AssertionError(f"an append after {after} succeeded")


def _run_together(threads: list[Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_LONG_S)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"

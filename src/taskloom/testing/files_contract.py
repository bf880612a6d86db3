"""The tests that every storage backend must pass; see `taskloom.files.Backend`.

    class TestMyFiles(FilesContract):
        def make_files(self) -> Backend:
            return MyFiles(...)

Each test calls `make_files` once for an empty storage. A storage that a second object can open
overrides `same_files`. The optional methods (`create`, `lock`, `version`) are tested only if the
backend has them. Run the tests with anyio's pytest plugin.
"""

from collections.abc import Awaitable
from typing import Final

import anyio

from taskloom.files import Backend, FileInfo, SupportsCreate, SupportsLock, SupportsVersions

_LONG_S: Final = 30.0
"""The timeout of waits that end at once on any machine."""
_UNUSUAL_TEXTS: Final = (
    "",
    "\n",
    "no newline at the end",
    "one\r\ntwo\rthree\n\n\x0b\x0c\x1c\x85\u2028four\x00",
    "\ufeffmark, 计划, \U0001f9f5",
    "lone \ud800 and \udcff surrogates",
)


class FilesContract:
    """Tests for a backend: subclass it, define `make_files`, and run it with pytest."""

    def make_files(self) -> Backend:
        """Return an empty storage."""
        raise NotImplementedError

    def same_files(self, files: Backend) -> Backend:
        """Return the same storage as another process would open it, or the same object."""
        return files

    async def test_text_is_returned_unchanged(self) -> None:
        """With all line ends, unusual characters and lone surrogates."""
        files = self.make_files()
        for number, text in enumerate(_UNUSUAL_TEXTS):
            await files.write(f"texts/{number}.txt", text)
            assert await self.same_files(files).read(f"texts/{number}.txt") == text

    async def test_a_write_replaces_the_whole_content(self) -> None:
        """Also with a shorter text."""
        files = self.make_files()
        await files.write("a.txt", "a long text\n" * 1000)
        await files.write("a.txt", "short")
        assert await files.read("a.txt") == "short"

    async def test_joined_line_slices_are_the_whole_text(self) -> None:
        """Only LF ends a line."""
        files = self.make_files()
        text = "".join(f"{number} é\u2028\r\n" for number in range(50)) + "last"
        await files.write("a.txt", text)
        for size in (1, 7, 50, 51, 100):
            slices = [await files.read("a.txt", offset, size) for offset in range(0, 60, size)]
            assert "".join(slices) == text
        assert await files.read("a.txt", 49, 1) == "49 é\u2028\r\n"
        assert await files.read("a.txt", 50) == "last"
        assert await files.read("a.txt", 51) == ""
        assert await files.read("a.txt", 3, 0) == ""
        await _raises(ValueError, files.read("a.txt", -1))
        await _raises(ValueError, files.read("a.txt", 0, -1))

    async def test_a_missing_file_raises_file_not_found(self) -> None:
        """In `read` and `delete`; also a path below a file. A directory is not a file."""
        files = self.make_files()
        await files.write("there/a.txt", "x")
        for path in ("nothing", "there/nothing", "there/a.txt/nothing", "no/where/at/all"):
            await _raises(FileNotFoundError, files.read(path))
            await _raises(FileNotFoundError, files.delete(path))
        await _raises(OSError, files.read("there"))
        await _raises(OSError, files.delete("there"))
        assert await files.read("there/a.txt") == "x"

    async def test_a_deleted_file_is_gone(self) -> None:
        """And can be written again."""
        files = self.make_files()
        await files.write("d/a.txt", "x")
        await files.delete("d/a.txt")
        assert await files.ls_info("d") == []
        await _raises(FileNotFoundError, files.read("d/a.txt"))
        await files.write("d/a.txt", "y")
        assert await files.read("d/a.txt") == "y"

    async def test_a_listing_has_the_direct_entries(self) -> None:
        """`read` accepts each listed path; a missing path lists nothing."""
        files = self.make_files()
        for name in ("1.json", "2.json", ".hidden", "with space é#%41?.txt", "deep/er/3.json"):
            await files.write(f"tasks/{name}", name)
        await files.write("tasks-2/other", "x")
        for path in ("tasks", "tasks/", "./tasks"):
            found = {info.path: info for info in await files.ls_info(path)}
            plain = [info for info in found.values() if not info.is_dir]
            assert {info.path.rpartition("/")[2] for info in found.values()} == {
                *("1.json", "2.json", ".hidden", "with space é#%41?.txt", "deep")
            }
            for info in plain:
                assert await files.read(info.path) == info.path.rpartition("/")[2]
                assert info.size == len((await files.read(info.path)).encode())
        assert [info.is_dir for info in await files.ls_info("tasks/deep")] == [True]
        assert await files.ls_info("nowhere") == []

    async def test_a_file_lists_itself(self) -> None:
        """Under the same path as in its directory."""
        files = self.make_files()
        await files.write("d/a.txt", "x")
        assert await files.ls_info("d/a.txt") == await files.ls_info("d")

    async def test_a_path_outside_the_storage_is_refused(self) -> None:
        """In every spelling, and by every method."""
        files = self.make_files()
        await files.write("d/a.txt", "x")
        for path in ("../a", "d/../../a", "d/..", ".."):
            await _raises(PermissionError, files.read(path))
            await _raises(PermissionError, files.write(path, "x"))
            await _raises(PermissionError, files.delete(path))
            await _raises(PermissionError, files.ls_info(path))
        for path in ("", ".", "/"):
            await _raises(OSError, files.write(path, "x"))
        await _raises(ValueError, files.write("a\0b", "x"))
        assert [info.path for info in await files.ls_info("d")] == ["d/a.txt"]

    async def test_a_version_changes_with_the_content(self) -> None:
        """Also when the size does not change."""
        files = self.make_files()
        seen: set[str] = set()
        for text in ("aa", "bb", "aa"):
            await files.write("d/a.txt", text)
            seen.add((await _one(files, "d")).version)
        assert len(seen) == 3

    async def test_versions_of_files_and_directories_change(self) -> None:
        """With the file, and with the files directly in the directory."""
        files = self.make_files()
        if not isinstance(files, SupportsVersions):
            return
        assert await files.version("d") == await files.version("d/a") == ""
        await files.write("d/a", "x")
        assert await files.version("d/a") == (await _one(files, "d")).version
        seen = [await files.version("d")]
        await files.write("d/b", "x")
        seen.append(await files.version("d"))
        await files.delete("d/b")
        seen.append(await files.version("d"))
        assert all(seen)

    async def test_one_of_many_concurrent_creates_succeeds(self) -> None:
        """And its content stays."""
        files = self.make_files()
        if not isinstance(files, SupportsCreate):
            return
        won: list[int] = []

        async def create(number: int) -> None:
            mine = self.same_files(files)
            assert isinstance(mine, SupportsCreate)
            try:
                await mine.create("d/1.json", str(number))
            except FileExistsError:
                return
            won.append(number)

        with anyio.fail_after(_LONG_S):
            async with anyio.create_task_group() as group:
                for number in range(8):
                    group.start_soon(create, number)
        assert [str(number) for number in won] == [await files.read("d/1.json")]

    async def test_readers_see_the_old_text_or_the_new_one(self) -> None:
        """While another task writes."""
        files = self.make_files()
        texts = {letter * 50_000 for letter in "ab"}
        await files.write("a.txt", min(texts))

        async def write() -> None:
            for text in sorted(texts) * 10:
                await files.write("a.txt", text)

        with anyio.fail_after(_LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(write)
                for _ in range(20):
                    assert await self.same_files(files).read("a.txt") in texts

    async def test_a_lock_excludes_others_and_is_passed_on(self) -> None:
        """Also when a waiter is cancelled, and when the holder fails."""
        files = self.make_files()
        if not isinstance(files, SupportsLock):
            return
        other = self.same_files(files)
        assert isinstance(other, SupportsLock)
        inside: list[str] = []

        async def enter(name: str, locking: SupportsLock) -> None:
            async with locking.lock("d"):
                inside.append(name)

        with anyio.fail_after(_LONG_S):
            async with anyio.create_task_group() as group:
                async with files.lock("d"), other.lock("elsewhere"):
                    group.start_soon(enter, "other", other)
                    group.start_soon(enter, "same", files)
                    with anyio.move_on_after(0.01) as patience:
                        await enter("cancelled", other)
                    assert patience.cancelled_caught
                    assert inside == []
            await _raises(RuntimeError, _fail_inside(files))
            await enter("after", other)
        assert sorted(inside[:2]) == ["other", "same"]
        assert inside[2:] == ["after"]
        assert await files.ls_info("d") == []


async def _one(files: Backend, path: str) -> FileInfo:
    (info,) = await files.ls_info(path)
    return info


async def _raises(kind: type[Exception], call: Awaitable[object]) -> None:
    try:
        await call
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


async def _fail_inside(files: SupportsLock) -> None:
    async with files.lock("d"):
        raise RuntimeError("failure while the lock is held")

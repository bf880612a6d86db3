"""Every backend passes the contract tests."""

from pathlib import Path

import pytest
from obstore.store import LocalStore, MemoryStore

from taskloom.files import (
    Backend,
    LocalFiles,
    MemoryFiles,
    SupportsCreate,
    SupportsLock,
    SupportsVersions,
)
from taskloom.files.object_store import ObjectFiles
from taskloom.testing import FilesContract


@pytest.mark.spec("PT-103")
class TestMemoryFiles(FilesContract):
    def make_files(self) -> Backend:
        return MemoryFiles()


@pytest.mark.spec("PT-103")
class TestLocalFiles(FilesContract):
    @pytest.fixture(autouse=True)
    def _root(self, tmp_path: Path) -> None:
        self.root = tmp_path / "not" / "yet"

    def make_files(self) -> Backend:
        return LocalFiles(self.root)

    def same_files(self, files: Backend) -> Backend:
        return LocalFiles(self.root)


@pytest.mark.spec("PT-103")
class TestObjectsInMemory(FilesContract):
    def make_files(self) -> Backend:
        return ObjectFiles(MemoryStore())


@pytest.mark.spec("PT-103")
class TestObjectsInADirectory(FilesContract):
    @pytest.fixture(autouse=True)
    def _root(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def make_files(self) -> Backend:
        return ObjectFiles(LocalStore(prefix=self.root))


def test_each_backend_has_the_documented_optional_methods(tmp_path: Path) -> None:
    objects = ObjectFiles(MemoryStore())
    for files in (LocalFiles(tmp_path), MemoryFiles()):
        assert isinstance(files, SupportsCreate)
        assert isinstance(files, SupportsLock)
        assert isinstance(files, SupportsVersions)
    assert isinstance(objects, SupportsCreate)
    assert not isinstance(objects, SupportsLock)

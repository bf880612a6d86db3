"""Listing and removal of saved files; a file that a live message names is never removed."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from taskloom.agent import Message
from taskloom.files import Backend, FileInfo
from taskloom.middleware.reduction.settings import Retention
from taskloom.middleware.reduction.store import ResultStore, path_parts
from taskloom.middleware.reduction.truncation import as_text


class SavedFile(Struct, frozen=True):
    """One saved file."""

    path: str
    size: int
    modified_s: float


class _Entry(Struct, frozen=True):
    backend: Backend
    info: FileInfo


async def list_saved(store: ResultStore) -> list[SavedFile]:
    """Return all files under the root directory, oldest first."""
    entries = await _entries(store)
    return [SavedFile(one.info.path, one.info.size, one.info.modified_s) for one in entries]


async def _entries(store: ResultStore) -> list[_Entry]:
    found: list[_Entry] = []
    for backend in store.backends:
        folders = [store.root_dir]
        while folders:
            for info in await backend.ls_info(folders.pop()):
                if info.is_dir:
                    folders.append(info.path)
                else:
                    found.append(_Entry(backend, info))
    return sorted(found, key=lambda one: (one.info.modified_s, one.info.path))


async def prune(
    store: ResultStore, retention: Retention, live: Iterable[str], now_s: float
) -> list[str]:
    """Remove files and return their paths; `live` is the text of live messages."""
    entries = await _entries(store)
    candidates = list(_candidates(entries, retention, now_s))
    if not candidates:
        return []
    kept = await _referenced(store, entries, "\n".join(live))
    excess = sum(one.info.size for one in entries) - (retention.max_bytes or 0)
    removed: list[str] = []
    for one, is_old in candidates:
        too_much = retention.max_bytes is not None and excess > 0
        if _relative(store, one.info.path) in kept or not (is_old or too_much):
            continue
        try:
            await one.backend.delete(one.info.path)
        except FileNotFoundError:
            continue  # Another process removed it first.
        excess -= one.info.size
        removed.append(one.info.path)
    return removed


def _candidates(
    entries: Sequence[_Entry], retention: Retention, now_s: float
) -> Iterable[tuple[_Entry, bool]]:
    """Yield the files that may be removed, and whether each is over the age limit."""
    for one in entries:
        age = now_s - one.info.modified_s
        if age >= retention.min_age_s:
            yield one, retention.max_age_s is not None and age > retention.max_age_s


async def _referenced(store: ResultStore, entries: Sequence[_Entry], live: str) -> set[str]:
    """Return the files that the live text names, and those that these files name in turn."""
    rest = {_relative(store, one.info.path): one for one in entries}
    kept: set[str] = set()
    texts = [live]
    while texts:
        text = texts.pop()
        for name in [name for name in rest if name in text]:
            one = rest.pop(name)
            kept.add(name)
            try:
                texts.append(await one.backend.read(one.info.path))
            except FileNotFoundError:
                continue  # Another process removed it first.
    return kept


def _relative(store: ResultStore, path: str) -> str:
    """Return a path relative to the root directory, whatever part of the root it starts with."""
    parts, root = path_parts(path) or (), path_parts(store.root_dir) or ()
    for start in range(len(root)):
        shown = root[start:]
        if parts[: len(shown)] == shown:
            return "/".join(parts[len(shown) :])
    return "/".join(parts)


def referencing_texts(messages: Iterable[Message]) -> Iterable[str]:
    """Yield all text of messages that may name a saved file."""
    for message in messages:
        yield as_text(message.content)
        for call in message.tool_calls:
            yield call.arguments

"""Saved content, listed, bounded and removed; never what a live message points to."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from taskloom.agent import Message
from taskloom.files import Backend, FileInfo
from taskloom.middleware.reduction.settings import Retention
from taskloom.middleware.reduction.store import Store, plain_path
from taskloom.middleware.reduction.truncation import as_text


class SavedFile(Struct, frozen=True):
    """One piece of saved content."""

    path: str
    size: int
    modified_s: float


class _Entry(Struct, frozen=True):
    backend: Backend
    info: FileInfo


async def list_saved(store: Store) -> list[SavedFile]:
    """Return everything under the root directory, oldest first."""
    entries = await _entries(store)
    return [SavedFile(one.info.path, one.info.size, one.info.modified_s) for one in entries]


async def _entries(store: Store) -> list[_Entry]:
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


async def prune(store: Store, retention: Retention, live: Iterable[str], now_s: float) -> list[str]:
    """Remove what may go and return the paths; `live` is the text that still points somewhere."""
    entries = await _entries(store)
    wanted = list(_wanted(entries, retention, now_s))
    if not wanted:
        return []
    kept = await _pointed_to(store, entries, "\n".join(live))
    excess = sum(one.info.size for one in entries) - (retention.max_bytes or 0)
    removed: list[str] = []
    for one, is_old in wanted:
        too_much = retention.max_bytes is not None and excess > 0
        if _tail(store, one.info.path) in kept or not (is_old or too_much):
            continue
        try:
            await one.backend.delete(one.info.path)
        except FileNotFoundError:
            continue  # Somebody else was faster.
        excess -= one.info.size
        removed.append(one.info.path)
    return removed


def _wanted(
    entries: Sequence[_Entry], retention: Retention, now_s: float
) -> Iterable[tuple[_Entry, bool]]:
    """Yield what is old enough to go, and whether it is too old to stay."""
    for one in entries:
        age = now_s - one.info.modified_s
        if age >= retention.min_age_s:
            yield one, retention.max_age_s is not None and age > retention.max_age_s


async def _pointed_to(store: Store, entries: Sequence[_Entry], live: str) -> set[str]:
    """Return what the live text points to, and what that points to in turn."""
    rest = {_tail(store, one.info.path): one for one in entries}
    kept: set[str] = set()
    texts = [live]
    while texts:
        text = texts.pop()
        for tail in [tail for tail in rest if tail in text]:
            one = rest.pop(tail)
            kept.add(tail)
            try:
                texts.append(await one.backend.read(one.info.path))
            except FileNotFoundError:
                continue  # Somebody else was faster.
    return kept


def _tail(store: Store, path: str) -> str:
    """Return a path below the root directory, however much of that a backend puts before it."""
    parts, root = plain_path(path) or (), plain_path(store.root_dir) or ()
    for start in range(len(root)):
        shown = root[start:]
        if parts[: len(shown)] == shown:
            return "/".join(parts[len(shown) :])
    return "/".join(parts)


def texts_of(messages: Iterable[Message]) -> Iterable[str]:
    """Yield all text in which a message may point to something."""
    for message in messages:
        yield as_text(message.content)
        for call in message.tool_calls:
            yield call.arguments

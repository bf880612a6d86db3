"""Names consist of the terms of docs/vocabulary.md and of plain words, and of no image."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from tests.conventions.tree import ROOT, Source, python, sample

VOCABULARY = ROOT / "docs" / "vocabulary.md"
PLAIN = ROOT / "tests" / "conventions" / "plain_words.txt"
NOT_USED = "## Not used"

TO_RENAME = {"turn_kit", "Employer", "Notifying", "Glance", "Gave"}
"""Names from before this rule. Remove them as they are renamed; add none."""

WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
ROW = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Words:
    """The words that names may and may not contain."""

    terms: frozenset[str]
    plain: frozenset[str]
    not_used: frozenset[str]

    def complaint(self, word: str) -> str:
        """Return what is wrong with a word; empty if a name may contain it."""
        if word in self.not_used:
            return "is not used in names, see docs/vocabulary.md"
        known = self.terms | self.plain
        if word in known or word.removesuffix("s") in known:
            return ""
        if word.endswith("ing"):
            return "is an activity; name the thing"
        return f"is neither a term of {VOCABULARY.name} nor in {PLAIN.name}"


def first_column(text: str) -> frozenset[str]:
    cells = [cell for cell in ROW.findall(text) if not cell.startswith(("---", "term", "not"))]
    return frozenset(word.lower() for cell in cells for word in re.findall(r"[A-Za-z]+", cell))


def read_words() -> Words:
    terms, _, not_used = VOCABULARY.read_text(encoding="utf-8").partition(NOT_USED)
    plain = PLAIN.read_text(encoding="utf-8").split()
    return Words(first_column(terms), frozenset(plain), first_column(not_used))


WORDS = read_words()


def split(name: str) -> list[str]:
    """Return the words of a name: `LogLine` and `log_line` are `log` and `line`."""
    return [word.lower() for word in WORD.findall(name)]


def names(source: Source) -> Iterator[str]:
    """Yield the names of a file, of its packages, and of its public classes."""
    yield from source.path.with_suffix("").parts[2:]
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def unknown_words(sources: Iterable[Source], words: Words = WORDS) -> Iterator[str]:
    for source in sources:
        for name in names(source):
            if name in TO_RENAME or name.startswith("__"):
                continue
            for word in split(name):
                complaint = words.complaint(word)
                if complaint:
                    yield f"{source.path}: `{name}`: {word!r} {complaint}"


def test_every_name_consists_of_terms_and_plain_words() -> None:
    assert list(unknown_words(python("src"))) == []


def test_the_plain_words_are_a_sorted_list_without_terms_and_unused_words() -> None:
    listed = PLAIN.read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed))
    assert WORDS.plain & WORDS.terms == frozenset()
    assert (WORDS.plain | WORDS.terms) & WORDS.not_used == frozenset()


def test_every_term_has_a_meaning_and_a_package_that_exists() -> None:
    packages = {source.module for source in python("src")}
    text = VOCABULARY.read_text(encoding="utf-8").partition(NOT_USED)[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert [row for row in rows if len(row) != 3] == []
    places = [place for row in rows for place in re.findall(r"`([a-z_.]+)`", row[2])]
    assert len(places) > 100
    assert [place for place in places if f"taskloom.{place}" not in packages] == []


def complaints(path: str, text: str = "") -> list[str]:
    return list(unknown_words([sample(text, f"src/taskloom/{path}")]))


@pytest.mark.parametrize(
    "path", ["runtime/desk.py", "cli/telling.py", "acp/staff/session.py", "board/wibble.py"]
)
def test_a_file_with_an_unknown_word_is_reported(path: str) -> None:
    assert len(complaints(path)) == 1


@pytest.mark.parametrize(
    "name", ["Shelf", "TaskLedger", "JSONDoor", "StoryLine", "Dispatching", "Frobnicator"]
)
def test_a_public_class_with_an_unknown_word_is_reported(name: str) -> None:
    assert len(complaints("board/task.py", f"class {name}: ...")) == 1
    assert complaints("board/task.py", f"class _{name}: ...") == []


def test_terms_plain_words_and_plurals_are_not_reported() -> None:
    text = "class TaskWriters: ...\nclass JSONLog: ...\nclass RefusedError: ..."
    assert complaints("runtime/log_reader/read_only_log.py", text) == []
    assert complaints("board/__init__.py") == []


def test_names_are_split_into_words() -> None:
    assert split("JsonRpcTransport") == ["json", "rpc", "transport"]
    assert split("ACPOptions") == ["acp", "options"]
    assert split("read_only_log") == ["read", "only", "log"]

"""Texts that do not belong in a tracked file, and silencers without a reason.

The patterns do not match this file itself; the samples below are assembled from parts.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import pytest

from tests.conventions.tree import ROOT, Source, files, python, sample, texts

WORDS = {
    "a path of one machine": re.compile(
        r"(?<![\w.\-])/(?:work|farm|root|home/\w+|Users/\w+)(?=/|\b)(?!\.)"
    ),
    "the address of a package registry": re.compile(
        r"\b(?:(?:test\.)?pypi\.org|(?:files\.)?pythonhosted\.org|registry\.(?:npmjs\.org|yarnpkg)"
        r"|npmjs\.com|crates\.io|conda\.anaconda\.org)\b"
    ),
    "an open task without an issue number, as in `(#12)`": re.compile(
        r"\b(?:TO[D]O|FIXM[E]|XX[X])\b(?!\(#\d+\))"
    ),
}
ADDRESS_LOCKS = {"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"}
"""Lock files that record download addresses."""

SILENCERS = {
    re.compile(r"#\s*type:\s*ignore"): re.compile(r"# type: ignore\[[\w\-, ]+\]\s+# \w.+"),
    re.compile(r"#\s*pyright:"): re.compile(r"# pyright: ignore\[[\w, ]+\]\s+(# |- )\w.+"),
    re.compile(r"#\s*mypy:"): re.compile(r"(?!)"),  # none: settings belong in pyproject.toml
    re.compile(r"#.*\bnoqa\b"): re.compile(r"# noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*\s+(# |- )\w.+"),
    re.compile(r"#\s*fmt:"): re.compile(r"# fmt: (skip|off|on)\s+# \w.+|# fmt: on"),
    re.compile(r"#\s*pragma"): re.compile(r"# pragma: no (cover|branch)\s+(# |- )\w.+"),
}
"""How a silencer starts, and what it must match: the silenced code, then the reason."""


def unwanted(path: PurePosixPath, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in WORDS.items():
            if pattern.search(line):
                yield f"{path}:{number}: {what}"


def address_locks(paths: Iterable[PurePosixPath]) -> Iterator[str]:
    for path in paths:
        if path.name in ADDRESS_LOCKS:
            yield f"{path}: records addresses; requirements.lock is the lock"


def not_a_pin(text: str) -> Iterator[str]:
    """Yield lines of the lock that are not a name, a version, a marker or a hash."""
    pin = re.compile(
        r"[\w.\-]+(\[[\w,\-]+\])?==[\w.+!]+( ; [^@:]+)? \\|    --hash=sha256:\w{64}( \\)?"
    )
    for number, line in enumerate(text.splitlines(), start=1):
        if not pin.fullmatch(line):
            yield f"requirements.lock:{number}: {line}"


def silencers(source: Source) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            for start, right in SILENCERS.items():
                found = start.search(token.string)
                if found and not right.match(token.string, found.start()):
                    yield f"{source.path}:{token.start[0]}: {token.string}: name the code and why"


def test_no_file_has_an_unwanted_text() -> None:
    assert [c for path, text in texts() for c in unwanted(path, text)] == []


def test_no_lock_file_records_addresses() -> None:
    assert list(address_locks(files())) == []
    assert list(not_a_pin((ROOT / "requirements.lock").read_text(encoding="utf-8"))) == []


def test_every_silencer_has_a_code_and_a_reason() -> None:
    everywhere = python("src", "tests", "scripts", "bench")
    assert [c for source in everywhere for c in silencers(source)] == []


@pytest.mark.parametrize(
    "line",
    [
        "see " + "/" + "work/notes",
        "cd " + "/" + "root",
        "open('" + "/" + "home/ann/x')",
        "https://" + "pypi" + ".org/project/x",
        "files." + "pythonhosted" + ".org",
        "registry." + "npmjs" + ".org",
        "# " + "TO" + "DO: later",
        "# " + "FIX" + "ME",
    ],
)
def test_an_unwanted_text_is_reported(line: str) -> None:
    assert len(list(unwanted(PurePosixPath("a.md"), f"fine\n{line}\n"))) == 1


@pytest.mark.parametrize(
    "line", ["TO" + "DO(#12): later", "a/work/b", "src/root/x.py", "to do", "pypi", "/tmp/x"]
)
def test_a_similar_text_is_not_reported(line: str) -> None:
    assert list(unwanted(PurePosixPath("a.md"), line)) == []


def test_a_lock_with_an_address_is_reported() -> None:
    assert len(list(address_locks([PurePosixPath("ui/uv.lock")]))) == 1
    digest = "--hash=sha256:" + "0" * 64
    assert list(not_a_pin(f"a-b==1.0 ; sys_platform == 'win32' \\\n    {digest}\n")) == []
    for bad in ("--index-url x", "a @ file:x", "a==1.0", "a>=1 \\", "# from x"):
        assert len(list(not_a_pin(bad))) == 1


@pytest.mark.parametrize(
    ("comment", "fine"),
    [
        ("# type: " + "ignore", False),
        ("# type: " + "ignore[arg-type]", False),
        ("# type: " + "ignore[arg-type]  # the stub is wrong", True),
        ("# pyright: " + "ignore[reportPrivateUsage]", False),
        ("# pyright: " + "ignore[reportPrivateUsage]  # the only access", True),
        ("# pyright: " + "basic", False),
        ("# mypy: " + "ignore-errors", False),
        ("# no" + "qa", False),
        ("# no" + "qa: S603", False),
        ("# no" + "qa: S603  # the command is ours", True),
        ("# ruff: no" + "qa", False),
        ("# pragma: " + "no cover", False),
        ("# pragma: " + "no cover - ends the process", True),
        ("# fmt: " + "skip", False),
        ("# a plain word on pragmatism", True),
    ],
)
def test_a_silencer_without_code_or_reason_is_reported(comment: str, fine: bool) -> None:
    assert (list(silencers(sample(f"x = 1  {comment}\n"))) == []) is fine

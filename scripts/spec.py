"""List which tests show which behaviour of docs/spec, and which behaviours no test shows.

The catalogue is every line `- TB-101 …` in docs/spec. Tests cite IDs with `@pytest.mark.spec`.
pytest collects the tests, so the list has the tests that would run.
"""

import argparse
import contextlib
import io
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "docs" / "spec"

LINE = re.compile(r"^- (?P<id>(?P<part>[A-Z]{2})-\d+) (?P<text>.+)$", re.MULTILINE)


def catalogue(folder: Path = SPEC) -> dict[str, str]:
    """Return each ID and its text, in the order of the files.

    Raises:
        ValueError: an ID occurs twice.
    """
    found: dict[str, str] = {}
    for page in sorted(folder.glob("*.md")):
        for line in LINE.finditer(page.read_text(encoding="utf-8")):
            if line["id"] in found:
                raise ValueError(f"{page.name}: {line['id']} is in the catalogue twice")
            found[line["id"]] = line["text"]
    return found


def cited(item: pytest.Item) -> Iterator[object]:
    """Yield the arguments of a test's `spec` marks: strings, if they are correct."""
    for mark in item.iter_markers("spec"):
        # A mark without IDs is a mistake; the empty string is in no catalogue, so it is reported.
        yield from mark.args or ("",)


def unknown_citations(items: Iterable[pytest.Item], known: Mapping[str, str]) -> list[str]:
    """Return one sentence for each citation of an unknown ID."""
    return sorted(
        {
            f"{item.nodeid}: cites {id_!r}, which docs/spec does not have"
            for item in items
            for id_ in cited(item)
            if id_ not in known
        }
    )


class Collector:
    """A pytest plugin that records the tests of each ID, also deselected ones."""

    def __init__(self) -> None:
        self.tests: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        test = item.nodeid.partition("[")[0]
        for id_ in cited(item):
            self.tests[str(id_)].add(test)


def collect() -> Mapping[str, set[str]]:
    """Return the tests of each ID; exit if pytest cannot collect them."""
    collector = Collector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = pytest.main(
            [
                *("--collect-only", "-q", "-p", "no:cacheprovider"),
                *("-c", f"{ROOT}/pyproject.toml", f"--rootdir={ROOT}", f"{ROOT}/tests"),
            ],
            plugins=[collector],
        )
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(output.getvalue())
    return collector.tests


def part(id_: str) -> str:
    return id_.partition("-")[0]


def report(
    known: Mapping[str, str], tests: Mapping[str, set[str]], *, missing_only: bool
) -> Iterator[str]:
    """Yield the lines of the report: IDs with tests, then IDs without, then the counts."""
    if not missing_only:
        for id_ in known:
            for test in sorted(tests.get(id_, ())):
                yield f"{id_:8} {test}"
        yield ""
    missing = [id_ for id_ in known if not tests.get(id_)]
    for name in dict.fromkeys(map(part, known)):
        of_part = [id_ for id_ in missing if part(id_) == name]
        total = sum(part(id_) == name for id_ in known)
        yield f"{name}: {total - len(of_part)} of {total} shown, {len(of_part)} not"
        for id_ in of_part:
            text = known[id_]
            yield f"  {id_:8} {text if len(text) <= 88 else text[:87] + '…'}"
    yield f"all: {len(known) - len(missing)} of {len(known)} shown, {len(missing)} not"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="only IDs that no test shows")
    parser.add_argument("--part", metavar="TB", help="only the IDs of one part")
    options = parser.parse_args()
    known = catalogue()
    parts = sorted(set(map(part, known)))
    if options.part is not None:
        if options.part.upper() not in parts:
            parser.error(f"no part {options.part}; there are {', '.join(parts)}")
        known = {id_: text for id_, text in known.items() if part(id_) == options.part.upper()}
    for line in report(known, collect(), missing_only=options.missing):
        print(line)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()

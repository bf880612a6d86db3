"""The spec marks: the catalogue is read correctly, and a wrong citation stops the run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.spec import SPEC, catalogue, report
from tests.conventions.tree import ROOT


def run_pytest(test: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run one file outside the repository with its settings and conftest."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.conftest"),
            *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(test.parent), *more, str(test)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


PARTS = {"TB", "AG", "PT", "TR", "AP", "LB", "SE", "CT", "CL", "MC", "WB", "MM"}


def test_the_catalogue_has_every_part() -> None:
    known = catalogue()
    assert {id_.partition("-")[0] for id_ in known} == PARTS
    assert len(known) > 350


def test_the_readme_of_the_catalogue_lists_every_page_and_part() -> None:
    text = (SPEC / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in SPEC.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^\| ([\w-]+\.md) \|", text, re.MULTILINE)) == pages
    assert set(re.findall(r"\b([A-Z]{2})-…", text)) == PARTS


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- XX-1 One.\n- XX-1 Two.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="XX-1"):
        catalogue(tmp_path)


WRONG = """
import pytest

@pytest.mark.spec("XX-1")
def test_unknown(): ...

@pytest.mark.spec()
def test_empty(): ...

@pytest.mark.deep
@pytest.mark.spec("{known}", "XX-2")
def test_deep(): ...
"""


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_tests_that_cite_unknown_ids_stop_the_run(tmp_path: Path, more: tuple[str, ...]) -> None:
    test = tmp_path / "test_wrong.py"
    test.write_text(WRONG.format(known=next(iter(catalogue()))), encoding="utf-8")
    result = run_pytest(test, *more)
    assert result.returncode != 0
    assert "1 error" in result.stdout
    assert "passed" not in result.stdout
    for name, id_ in (("test_unknown", "XX-1"), ("test_empty", ""), ("test_deep", "XX-2")):
        assert f"{name}: cites {id_!r}, which docs/spec does not have" in result.stdout


def test_a_test_that_cites_a_known_id_runs(tmp_path: Path) -> None:
    known = next(iter(catalogue()))
    test = tmp_path / "test_right.py"
    test.write_text(
        f"import pytest\n\n@pytest.mark.spec('{known}')\ndef test_this(): ...\n", encoding="utf-8"
    )
    result = run_pytest(test)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_listing_names_the_tests_then_what_is_missing_with_counts() -> None:
    known = {"XX-1": "One.", "XX-2": "Two.", "YY-1": "Three."}
    tests = {"XX-1": {"t.py::test_b", "t.py::test_a"}}
    assert list(report(known, tests, missing_only=False)) == [
        "XX-1     t.py::test_a",
        "XX-1     t.py::test_b",
        "",
        "XX: 1 of 2 shown, 1 not",
        "  XX-2     Two.",
        "YY: 0 of 1 shown, 1 not",
        "  YY-1     Three.",
        "all: 1 of 3 shown, 2 not",
    ]

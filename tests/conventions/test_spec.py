"""The spec marks: the catalogue reads right, and a wrong citation stops the run."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.spec import catalogue, report
from tests.conventions.tree import ROOT


def run_pytest(test: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Runs one file outside the tree under this tree's settings and conftest."""
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


def test_the_catalogue_holds_every_part() -> None:
    known = catalogue()
    parts = {id_.partition("-")[0] for id_ in known}
    assert parts == {"TB", "AG", "PT", "TR", "AP", "LB", "SE"}
    assert len(known) > 200


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
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
    for place, id_ in (("test_unknown", "XX-1"), ("test_empty", ""), ("test_deep", "XX-2")):
        assert f"{place}: cites {id_!r}, which docs/spec does not have" in result.stdout


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

"""The diagrams in the docs are drawn from the tables, and stay so."""

import pytest

from scripts.diagrams import PAGE, drawn


@pytest.mark.spec("TB-419")
def test_the_diagrams_are_what_the_tables_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("stateDiagram-v2") == 2
    assert drawn(page) == page, "run `python scripts/diagrams.py` and look at what changed"


def test_a_diagram_that_drifted_is_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert drawn(page.replace("ready --> claimed: claimed", "ready --> completed: claimed")) == page

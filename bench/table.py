"""One row of the result, and how all of them are printed."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure with the bar it is held against."""

    what: str
    figure: str
    ceiling: str
    ratio: float | None = None
    bar: float | None = None
    at_least: bool = False
    """The ratio must reach the bar; otherwise it must not exceed it."""

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None where there is none."""
        if self.ratio is None or self.bar is None:
            return None
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar


def print_rows(rows: Iterable[Row]) -> None:
    """Print a table, a line at a time as the figures come in."""
    head = f"{'what':<58} {'figure':>16} {'ceiling':>20} {'ratio':>7} {'bar':>7}"
    print(head)
    print("-" * (len(head) + 8))
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        sign = ">=" if row.at_least else "<="
        bar = "" if row.bar is None else f"{sign}{row.bar:g}"
        mark = {True: "ok", False: "MISSED", None: ""}[row.holds]
        print(
            f"{row.what:<58} {row.figure:>16} {row.ceiling:>20} {ratio:>7} {bar:>7}  {mark}",
            flush=True,
        )

"""`python -m bench [name …]`: measure everything, or only what is named."""

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module

from bench.table import Row, print_rows

PARTS = (
    "start",
    "durable",
    "replay",
    "scale",
    "create",
    "listing",
    "agent",
    "plan",
    "reduction",
    "orchestra",
    "acp",
)


def main() -> int:
    """Print the table; with --strict, fail where a bar is missed."""
    words = argparse.ArgumentParser(prog="bench", description=__doc__)
    words.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts (all)")
    words.add_argument("--strict", action="store_true", help="exit 1 where a bar is missed")
    asked = words.parse_args()
    rows: list[Row] = []

    def measure() -> Iterator[Row]:
        for part in asked.parts or PARTS:
            for row in import_module(f"bench.{part}").run():
                rows.append(row)
                yield row

    print_rows(measure())
    missed = sum(row.holds is False for row in rows)
    print(f"\n{missed} of {sum(row.bar is not None for row in rows)} bars missed")
    return 1 if missed and asked.strict else 0


if __name__ == "__main__":
    sys.exit(main())

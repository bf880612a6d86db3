"""A sorted set of whole numbers in which every operation is quick at any size.

Ready steps wait here by order of creation. A heap cannot be walked without emptying it, and
a plain sorted list moves all that follows on each removal; short runs of numbers do neither.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

_RUN_MAX: Final = 512
"""A run is split past this. Moving half a run costs less than a microsecond."""


class SortedInts:
    """Numbers in ascending order, without repeats."""

    __slots__ = ("_lasts", "_runs", "_size")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        """Take the numbers in any order."""
        ordered = sorted(set(numbers))
        half = _RUN_MAX // 2
        self._runs = [ordered[at : at + half] for at in range(0, len(ordered), half)]
        self._lasts = [run[-1] for run in self._runs]
        self._size = len(ordered)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._size

    def __iter__(self) -> Iterator[int]:
        """Iterate in ascending order."""
        return chain.from_iterable(self._runs)

    def __contains__(self, number: int) -> bool:
        """Return whether the number is in the set."""
        at = bisect_left(self._lasts, number)
        if at == len(self._runs):
            return False
        run = self._runs[at]
        index = bisect_left(run, number)
        return index < len(run) and run[index] == number

    def add(self, number: int) -> None:
        """Add a number that is not in the set."""
        self._size += 1
        if not self._runs:
            self._runs.append([number])
            self._lasts.append(number)
            return
        at = bisect_left(self._lasts, number)
        if at == len(self._runs):
            at -= 1
            self._runs[at].append(number)
            self._lasts[at] = number
        else:
            insort(self._runs[at], number)
        if len(self._runs[at]) > _RUN_MAX:
            self._split(at)

    def remove(self, number: int) -> None:
        """Remove a number that is in the set."""
        at = bisect_left(self._lasts, number)
        run = self._runs[at]
        index = bisect_left(run, number)
        assert run[index] == number, "only a number in the set can be removed"
        del run[index]
        self._size -= 1
        if not run:
            del self._runs[at], self._lasts[at]
        elif index == len(run):
            self._lasts[at] = run[-1]

    def _split(self, at: int) -> None:
        run = self._runs[at]
        half = len(run) // 2
        self._runs[at : at + 1] = [run[:half], run[half:]]
        self._lasts[at : at + 1] = [run[half - 1], run[-1]]

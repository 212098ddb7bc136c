"""Prints how much of what is allowed each honest implementation of Softmax uses.

    python -m tests.bounds.softmax.table

1 would be the limit. The first numbers are for rows of random numbers, the second ones for the
most awkward rows; in the 16-bit types rounding the result alone uses all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from opcheck.compare import compare
from tests.bounds.softmax import honest
from tests.bounds.softmax.judging import want
from tests.bounds.softmax.rows import AWKWARD, FLOATS, LETTERS, Fill, filled

LENGTHS = (2, 4, 8, 16, 33, 64, 257, 1000, 4096)


def used(fills: Iterable[Fill], dtype: str) -> dict[str, float]:
    """The largest part of what is allowed that each implementation uses."""
    worst = dict.fromkeys(honest.NAMES, 0.0)
    for columns in LENGTHS:
        x = filled(fills, dtype, columns, each=8 if columns <= 1000 else 1)
        right = want(x)
        for name in honest.NAMES:
            if columns <= honest.longest(name):
                part = compare(right, honest.answer(name, x)).used
                worst[name] = max(worst[name], part)
    return worst


def main() -> None:
    """Print the table."""
    kinds = (LETTERS.values(), AWKWARD.values())
    columns = [[used(fills, dtype) for fills in kinds] for dtype in FLOATS]
    print(f"{'':36}", *(f"{dtype:>12}" for dtype in FLOATS))
    for name in honest.NAMES:
        cells = (f"{random[name]:6.2f}{awkward[name]:6.2f}" for random, awkward in columns)
        print(f"{name:36}", *cells)


if __name__ == "__main__":
    main()

"""Whether two runs of the same backends agree about their ratios.

    opcheck bench -b A -b B --save one.jsonl
    opcheck bench -b A -b B --save two.jsonl
    python benchmarks/agreement.py one.jsonl two.jsonl

Prints the rows whose intervals have nothing in common, and how many have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from opcheck.report.timings import Stored, read
from opcheck.timing import Ratio, ratio


def ratios(stored: Stored) -> Iterator[tuple[tuple[str, str], Ratio]]:
    """The ratio of each backend to the baseline, by case and backend."""
    for row in stored.rows:
        base = row.timing(stored.bench.baseline)
        for timing in row.timings:
            if base and timing is not base and (found := ratio(timing, base)):
                yield (row.case, timing.backend), found


def main(old: str, new: str) -> None:
    """Compare and print."""
    one, other = (dict(ratios(read(Path(path)))) for path in (old, new))
    both = [key for key in one if key in other]
    apart = [
        key for key in both if one[key].low > other[key].high or other[key].low > one[key].high
    ]
    for case, backend in apart:
        first, second = one[case, backend], other[case, backend]
        said = f"{first.low:.3f}–{first.high:.3f} and {second.low:.3f}–{second.high:.3f}"
        print(f"{case} [{backend}]: {said}")
    share = 100 * (1 - len(apart) / len(both))
    print(f"{len(both) - len(apart)} of {len(both)} rows agree ({share:.1f} %)")


if __name__ == "__main__":
    main(*sys.argv[1:])

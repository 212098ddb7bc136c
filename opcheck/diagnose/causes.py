"""All failures of a backend summed up: as few mistakes as explain them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import compress
from operator import not_

from opcheck.model import Diagnosis, Record

#: Said of failures that look like nothing.
UNEXPLAINED = "like no mistake that is known"


@dataclass(frozen=True)
class Cause:
    """What failures have in common, the operators and dtypes they are about, and how many.

    `results` are the failures themselves.
    """

    mistake: str | None
    text: str
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]
    failures: int
    results: tuple[Record, ...] = field(default=(), compare=False, repr=False)

    @property
    def looks(self) -> str:
        """What they look like, with the name of the mistake."""
        return f"{self.text} ({self.mistake})" if self.mistake else self.text

    @property
    def places(self) -> tuple[str, ...]:
        """The operators, and the dtype if there is but one."""
        return (*self.ops, *(self.dtypes if len(self.dtypes) == 1 else ()))


def causes(results: Iterable[Record]) -> list[Cause]:
    """The causes of one backend's failures, which are `results`, the most frequent first.

    Each failure counts for one; last come those without any.
    """
    return [_cause(diagnosis, alike) for diagnosis, alike in by_cause(results)]


def by_cause(results: Iterable[Record]) -> list[tuple[Diagnosis, list[Record]]]:
    """The same causes, each with its failures.

    Greedily, each counts for the mistake that explains the most of those left, among equals the one
    that was named first most often.
    """
    left = list(results)
    found = []
    while ranks := _ranks(left):
        best = min(ranks, key=lambda diagnosis: ranks[diagnosis])
        explains = [best in result.diagnoses for result in left]
        found.append((best, [*compress(left, explains)]))
        left = [*compress(left, map(not_, explains))]
    found.sort(key=lambda cause: -len(cause[1]))
    return [*found, (Diagnosis(None, UNEXPLAINED), left)] if left else found


def _ranks(results: Iterable[Record]) -> dict[Diagnosis, tuple[int, int]]:
    """For each diagnosis how many results it explains, negated, and the sum of its places."""
    ranks: dict[Diagnosis, tuple[int, int]] = {}
    for result in results:
        for place, diagnosis in enumerate(result.diagnoses):
            # What the numbers of one failure have in common is no cause of others.
            if diagnosis.mistake is None:
                continue
            count, places = ranks.get(diagnosis, (0, 0))
            ranks[diagnosis] = count - 1, places + place
    return ranks


def _cause(diagnosis: Diagnosis, results: list[Record]) -> Cause:
    ops = dict.fromkeys(str(result.op) for result in sorted(results, key=lambda r: r.op))
    dtypes = dict.fromkeys(result.dtype for result in results if result.dtype)
    return Cause(
        diagnosis.mistake,
        diagnosis.text,
        tuple(ops),
        tuple(sorted(dtypes)),
        len(results),
        tuple(results),
    )

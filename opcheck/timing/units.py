"""Worker processes as what is independent, and samples of the same round as pairs.

Samples of one process have its memory layout in common, so many of them say no more about another
process than a few. Samples of one round have the state of the machine in common, so their ratio is
steadier than either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from opcheck.model.timing import Sample


@dataclass(frozen=True)
class Pair:
    """The logarithm of one sample over another of the same round, and whose process took it."""

    round: int
    worker: int
    log: float


def pairs(one: Iterable[Sample], base: Iterable[Sample]) -> tuple[Pair, ...]:
    """Both in the rounds that have both, by the workers of `one`, in the order of rounds."""
    beside = {sample.round: sample for sample in base}
    both = [(sample, beside[sample.round]) for sample in one if sample.round in beside]
    return tuple(
        Pair(sample.round, sample.worker, math.log(sample.seconds / other.seconds))
        for sample, other in sorted(both, key=lambda both: both[0].round)
    )


def by_worker(pairs: Sequence[Pair]) -> dict[int, tuple[Pair, ...]]:
    """The pairs of each worker."""
    workers = sorted({pair.worker for pair in pairs})
    return {w: tuple(pair for pair in pairs if pair.worker == w) for w in workers}


def medians(pairs: Sequence[Pair]) -> dict[int, float]:
    """By the worker. No means: a preempted sample is several times as long as others."""
    return {w: median(pair.log for pair in group) for w, group in by_worker(pairs).items()}

"""Softmax whose shares are made into something else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opcheck.engine.mistakes import Mistake
from opcheck.engine.ops.softmax.steps import Matrix, Steps, maximum, total


def each_share(change: Callable[[Matrix], Matrix]) -> Steps:
    """The right shares, changed afterwards."""
    return Steps(shares=lambda steps, x: change(steps.normalised(x)).astype(x.dtype))


def _logarithms(steps: Steps, x: Matrix) -> Matrix:
    d = x - maximum(x)
    return d - np.log(total(np.exp(d)))


def _twice(steps: Steps, x: Matrix) -> Matrix:
    return steps.normalised(steps.normalised(x))


#: Mistakes about the shares as a whole.
SHARES: tuple[Mistake, ...] = (
    Mistake("logarithms", "LogSoftmax was computed", Steps(shares=_logarithms)),
    Mistake(
        "one_hot",
        "the maxima were marked with 1, as Hardmax does",
        each_share(lambda y: y == maximum(y)),
    ),
    Mistake("twice", "Softmax was applied twice", Steps(shares=_twice)),
    Mistake(
        "clipped",
        "the shares were clipped to [1e-7, 1 - 1e-7]",
        each_share(lambda y: np.clip(y, 1e-7, 1 - 1e-7)),
    ),
)

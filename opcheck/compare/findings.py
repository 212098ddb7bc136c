"""What was found in one output: which elements are wrong, and which of them are the worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

#: The most wrong elements of one output that are kept to be shown.
WORST = 8


@dataclass
class Findings:
    """Collects an output's wrong elements, by their places in the flat array, piece by piece.

    `used` is the largest share so far, `steps` the largest ULP distance (None for integers),
    `unjudged` the number of elements that nothing could be said about.
    """

    size: int
    used: float = 0.0
    steps: int | None = 0
    unjudged: int = 0
    wrong: Mask | None = None
    #: The share, negated, the place, and what was allowed there: the worst comes first.
    worst: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, places: Places, shares: Floats, allowed: Callable[[int], str]) -> None:
        """Take in elements with their shares, of one shape; wrong are those above 1.

        `allowed(i)` says what was allowed to the element `places.flat[i]`.
        """
        if not shares.size:
            return
        places, shares = places.reshape(-1), shares.reshape(-1)
        self.used = max(self.used, float(shares.max()))
        over = np.flatnonzero(shares > 1)
        if not over.size:
            return
        if self.wrong is None:
            self.wrong = np.zeros(self.size, np.bool_)
        self.wrong[places[over]] = True
        worst = over[np.argsort(-shares[over], kind="stable")[:WORST]]
        self.worst += [(-float(shares[i]), int(places[i]), allowed(int(i))) for i in worst]
        self.worst = sorted(self.worst)[:WORST]

    def step(self, furthest: int | None) -> None:
        """Take in the largest ULP distance of a piece, None where there is no such thing."""
        self.steps = None if self.steps is None or furthest is None else max(self.steps, furthest)

    @property
    def count(self) -> int:
        """How many elements are wrong."""
        return 0 if self.wrong is None else int(np.count_nonzero(self.wrong))

"""Made-up samples of a machine that others use too, all from the same generator each time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opcheck.model.timing import Sample, Timed, Timing


@dataclass(frozen=True)
class Noise:
    """What a machine does to samples, as parts of them.

    `rounds` is how much they vary, `processes` how much the processes differ that take them; as
    many as `preempted` are up to three times as long.
    """

    rounds: float = 0.02
    processes: float = 0.01
    preempted: float = 0.05


QUIET = Noise(0.0, 0.0, 0.0)


def samples(seconds: Sequence[float], workers: int = 1) -> tuple[Sample, ...]:
    """These seconds, round by round."""
    return tuple(Sample(r, r % workers, 1, float(s)) for r, s in enumerate(seconds))


class Machine:
    """Draws samples; `common` is what all samples of a round have in common."""

    def __init__(self, number: int, noise: Noise = QUIET) -> None:
        self.rng = np.random.default_rng(number)
        self.noise = noise

    def draw(self, rounds: int, workers: int = 1, factor: float = 1.0) -> tuple[Sample, ...]:
        """Samples of 1 ms times `factor`."""
        rng, noise = self.rng, self.noise
        logs = np.resize(rng.normal(0, noise.processes, workers), rounds)
        logs = logs + rng.normal(0, noise.rounds, rounds)
        late = rng.random(rounds) < noise.preempted
        logs = logs + late * math.log(3) * rng.uniform(0.5, 1.1, rounds)
        return samples((1e-3 * factor * np.exp(logs)).tolist(), workers)

    def timing(self, backend: str, rounds: int, workers: int = 5, factor: float = 1.0) -> Timing:
        """Of a backend."""
        return Timing(backend, self.draw(rounds, workers, factor))

    def timed(self, case: str, rounds: int, workers: int = 5, **backends: float) -> Timed:
        """A case on backends as slow as this, beside yardsticks from one process each."""
        timings = [self.timing(name, rounds, workers, slow) for name, slow in backends.items()]
        copy, yardstick = self.draw(rounds), self.draw(rounds)
        return Timed(case, "Softmax-13", "float32", "8×8", 512, tuple(timings), copy, yardstick)

"""Made-up samples of a machine that others use too, all from the same generator each time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck.execution.bench import Plan
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

    def pair(
        self, kind: str, factor: float, plan: Plan, *, slow: bool = False
    ) -> tuple[Timing, Timing]:
        """Two backends of one row, in the visits of a plan; the first takes `factor` times as long.

        It takes one sample a visit where it is `slow`. `kind` is one of `DISTURBED`.
        """
        visits = [visit for tour in plan.tours() for visit in tour]
        workers = np.repeat([visit.worker for visit in visits], [visit.rounds for visit in visits])
        rounds, rng = len(workers), self.rng
        common, disturbed = rng.normal(0, 0.005, rounds), DISTURBED[kind](rng, workers)
        timings = []
        for name, times in (("new", factor), ("old", 1.0)):
            logs = common + disturbed() + rng.normal(0, 0.01, rounds)
            logs += rng.normal(0, 0.01, plan.processes)[workers]
            logs += (rng.random(rounds) < 0.03) * rng.uniform(0.1, 0.7, rounds)
            found = zip(workers.tolist(), (1e-3 * times * np.exp(logs)).tolist(), strict=True)
            drawn = [Sample(r, worker, 1, s) for r, (worker, s) in enumerate(found)]
            if slow and name == "new":
                drawn = [
                    one for n, one in enumerate(drawn) if not n or workers[n] != workers[n - 1]
                ]
            timings.append(Timing(name, tuple(drawn)))
        return timings[0], timings[1]


def _drifting(rng: np.random.Generator, workers: Any) -> Callable[[], Any]:
    size = len(workers)
    waves = 0.3 * np.sin(np.linspace(0, rng.uniform(1, 6), size) + rng.uniform(0, 6))
    found = waves + (np.arange(size) > rng.integers(size)) * 0.2
    return lambda: found


def _bursts(rng: np.random.Generator, workers: Any) -> Callable[[], Any]:
    size = len(workers)
    on = np.repeat(rng.random(size) < 0.3, rng.integers(1, 6, size))[:size]
    return lambda: on * rng.uniform(0, 1.4, size)


#: What a machine does to the rounds of a row that these processes take, as logarithms: a function
#: that draws them for one backend after the other.
DISTURBED: Mapping[str, Callable[[np.random.Generator, Any], Callable[[], Any]]] = {
    "quiet": lambda rng, workers: lambda: 0.0,
    # Half of the samples wait for a processor, or all for up to seven times as long as they run,
    # and nobody says so.
    "busy": lambda rng, workers: (
        lambda: (rng.random(len(workers)) < 0.5) * rng.uniform(0.3, 1.2, len(workers))
    ),
    "crowded": lambda rng, workers: lambda: rng.uniform(0.2, 2.0, len(workers)),
    # All become slower and faster, by 30 % either way, and at some time slower for good.
    "drifting": _drifting,
    # For some rounds at a time, everything takes up to four times as long.
    "bursts": _bursts,
    # Four samples in ten take four times as long.
    "bimodal": lambda rng, workers: lambda: (rng.random(len(workers)) < 0.4) * 1.4,
    # A process in three is slower by a quarter as long as it lives.
    "lucky": lambda rng, workers: lambda: ((rng.random(max(workers) + 1) < 0.3) * 0.25)[workers],
    # Samples have a tail without a mean.
    "heavy": lambda rng, workers: (
        lambda: 0.05 * np.abs(rng.standard_t(1.2, len(workers))).clip(0, 40)
    ),
}

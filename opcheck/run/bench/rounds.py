"""Rounds in which everybody takes one sample, in random order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import monotonic

from opcheck.model.timing import Sample
from opcheck.run.bench.contenders import Measures
from opcheck.run.bench.plan import Plan
from opcheck.timing.spread import loops_for, settled

#: Warming up ends after so many samples.
_TRIES = 50


@dataclass(eq=False)
class Contender:
    """Somebody who is timed; of several processes one in each round.

    `lost` tells how its part came to an end before the others'.
    """

    name: str
    processes: Sequence[Measures]
    loops: int = 1
    samples: list[Sample] = field(default_factory=list)
    spent: float = 0.0
    lost: str = ""

    def warm_up(self, plan: Plan) -> None:
        """Run until times change no more, and find out how many calls make a sample."""
        found = [self._warm(process, plan) for process in self.processes]
        self.loops = 1 if plan.flushed else loops_for(median(found))

    @staticmethod
    def _warm(process: Measures, plan: Plan) -> float:
        seen: list[float] = []
        loops, until = 1, monotonic() + plan.warm
        while not (settled(seen) or len(seen) == _TRIES or (seen and monotonic() > until)):
            seconds = process.measure(loops, plan.flushed)
            # What was measured with fewer calls in one is not comparable.
            wanted = 1 if plan.flushed else loops_for(seconds)
            seen = [*seen, seconds] if wanted <= 2 * loops else []
            loops = max(loops, wanted)
        return min(seen)

    def sample(self, number: int, flushed: int) -> None:
        """Take the sample of a round."""
        worker = number % len(self.processes)
        start = monotonic()
        seconds = self.processes[worker].measure(self.loops, flushed)
        self.spent += monotonic() - start
        self.samples.append(Sample(number, worker, self.loops, seconds))


def interleave(
    contenders: Sequence[Contender],
    plan: Plan,
    enough: Callable[[], bool],
    lost: type[Exception],
    stop: Callable[[], bool],
) -> None:
    """Take samples until `enough` says so when it is asked, or time is up, or `stop`.

    Who is `lost` takes no further part.
    """
    chance = random.Random(0)
    until = monotonic() + plan.seconds
    for number in range(plan.rounds):
        order = [one for one in contenders if not one.lost and not _over(one, number, plan)]
        chance.shuffle(order)
        for contender in order:
            try:
                contender.sample(number, plan.flushed)
            except lost as error:
                contender.lost = str(error)
        if stop() or (number + 1 in plan.looks and enough()):
            return
        if monotonic() > until and all(number + 1 >= len(one.processes) for one in contenders):
            return


def _over(contender: Contender, number: int, plan: Plan) -> bool:
    """Whether it has had its share of the time, and each of its processes its turn."""
    had_turns = number >= len(contender.processes)
    return had_turns and contender.spent > plan.share * plan.seconds

"""All cases on all backends, each process of theirs going round them.

The processes of a row take turns throughout the run and not one after the other, so that each sees
another state of the machine: what makes the machine slow for some seconds then changes one process
of a row, and not all of them alike (`timing.comparing` has the numbers).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from opcheck.backends.isolation.pool import Pool
from opcheck.model import Case
from opcheck.model.timing import Timed
from opcheck.run.bench.one_case import Entrant, OneCase
from opcheck.run.bench.plan import Plan
from opcheck.run.oracle import oracle_of

#: Data of all cases are kept between visits if they take no more than so many bytes.
_KEPT = 1 << 30


class Session:
    """A benchmark while it lasts; `to_come` visits are planned, as far as is known by now.

    `oracles` are those that the cases name, by these names.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        entrants: Sequence[Entrant],
        plan: Plan,
        oracles: Mapping[str, Pool] = MappingProxyType({}),
    ) -> None:
        size = sum(spec.nbytes for case in cases for spec in case.inputs)
        self._cases = [
            OneCase(case, entrants, plan, oracles.get(oracle_of(case) or ""), kept=size <= _KEPT)
            for case in cases
        ]
        self._plan = plan
        self.to_come = len(cases) * plan.processes

    def visits(self, stop: Callable[[], bool] = lambda: False) -> Iterator[str]:
        """Measure; each visit is told, by the id of its case, before it is made.

        `stop` is asked after every round and before everything that may take long; it ends all of
        it, and what was measured until then is there.
        """
        chance = random.Random(0)
        left = self._cases
        for tour in self._plan.tours():
            left = [one for one in left if not one.timed() or not one.is_precise]
            self.to_come = len(left) * len(tour)
            for visit in tour:
                for one in left:
                    if stop():
                        return
                    yield one.case.id
                    one.visit(visit, chance, stop)
                    self.to_come -= 1

    def rows(self) -> tuple[Timed, ...]:
        """What was measured so far, of the cases that had a turn."""
        return tuple(row for one in self._cases if (row := one.timed()))

"""How often `opcheck bench` is wrong about made-up times, of which the truth is known.

    python -m benchmarks.simulated [--runs 1000]

For each kind of machine in `tests/timing/machine.py`, and each plan, it prints in how many runs the
first of two backends is called faster and slower, the interval covers the truth, and the gate of
5 % closes, at true ratios of 1, 1.05, 1.2 and 12.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

from opcheck.execution.bench import Plan
from opcheck.timing import Ratio, precise, ratio, words
from tests.timing.machine import DISTURBED, Machine

RATIOS = (1.0, 1.05, 1.2, 12.0)
GATE = 1.05


@dataclass(frozen=True)
class Draw:
    """A plan; `slow` where the first backend takes one sample a visit."""

    plan: Plan
    slow: bool = False


PLANS = {
    "9 rounds by 3 processes": Draw(Plan("old", processes=3, looks=(9,))),
    "3 rounds by 3 processes": Draw(Plan("old", processes=3, looks=(9,)), slow=True),
    "30 to 120 by 5": Draw(Plan("old")),
}


def measured(machine: Machine, kind: str, true: float, draw: Draw) -> Ratio:
    """Return the ratio of a run that ends where it is precise, as `opcheck bench` does."""
    new, old = machine.pair(kind, true, draw.plan, slow=draw.slow)
    for look in draw.plan.looks:
        seen = [
            replace(one, samples=tuple(s for s in one.samples if s.round < look))
            for one in (new, old)
        ]
        found = ratio(*seen)
        if found and precise(found):
            break
    assert found
    return found


def main() -> None:
    """Draw and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    for name, draw in PLANS.items():
        print(f"{name}\n{'':10}", *(f"{true:>8g}: slower faster covers gate" for true in RATIOS))
        for kind in DISTURBED:
            cells = []
            for true in RATIOS:
                machine = Machine(42)
                found = [measured(machine, kind, true, draw) for _ in range(runs)]
                called = [words(one) for one in found]
                counts = (
                    called.count("slower"),
                    called.count("faster"),
                    sum(one.low <= true <= one.high for one in found),
                    sum(one.low > GATE for one in found),
                )
                cells.append(f"{'':9}" + " ".join(f"{100 * n / runs:5.1f}%" for n in counts))
            print(f"{kind:10}", *cells, flush=True)


if __name__ == "__main__":
    main()

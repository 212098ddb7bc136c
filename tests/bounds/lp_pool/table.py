"""Prints how much of the bound honest implementations use, and which mistakes are seen.

Run it with `python -m tests.bounds.lp_pool.table` at the top of the repository.
"""

from __future__ import annotations

import numpy as np

from tests.bounds.lp_pool.batches import DTYPES, owed
from tests.bounds.lp_pool.implementations import HONEST
from tests.bounds.lp_pool.mistakes import MISTAKES
from tests.bounds.lp_pool.test_honest import answer
from tests.bounds.lp_pool.test_power import EVERYWHERE, POWERS, SIZES, question


def headroom() -> None:
    """For each implementation and dtype the largest share of what is allowed, with its K and p."""
    print(f"{'largest error / allowed':42}", *(f"{dtype.name:18}" for dtype in DTYPES))
    for name, implementation in HONEST.items():
        cells = []
        for dtype in DTYPES:
            used, size, p = max(
                (
                    asked.judge(answer(implementation, asked.x, asked.p)).used,
                    asked.x.shape[1],
                    asked.p,
                )
                for asked in owed(dtype)
            )
            cells.append(f"{f'{used:.2f} (K={size}, p={p:g})':18}")
        print(f"{name:42}", *cells)


def power() -> None:
    """For each mistake and distribution: a column for each K, in it a sign for each p.

    `#`: seen in most windows, `+`: in some, `·`: in none.
    """
    print(f"K = {', '.join(map(str, SIZES))}; p = {', '.join(map(str, POWERS))}")
    for mistake, run in MISTAKES.items():
        print(mistake)
        for name in (*EVERYWHERE, "constant", "sparse"):
            cells = []
            for size in SIZES:
                cell = ""
                for p in POWERS:
                    asked = question(name, size, p)
                    found = asked.judge(run(asked.x, p))
                    cell += "·" if not found.wrong else "+#"[2 * found.wrong > found.total]
                cells.append(cell)
            print(f"    {name:12}", *cells)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        headroom()
        print()
        power()

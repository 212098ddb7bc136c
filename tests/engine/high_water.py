"""How much memory native mode takes at most beside its input and its output.

    python -m tests.engine.high_water OPERATOR DTYPE LAYOUT MEBI

It prints the bytes, which only a fresh process can tell. Exercised by test_memory; by hand also at
sizes that are no test's.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

from opcheck.dtypes import DTYPES
from opcheck.engine import natively
from opcheck.engine.registry import operators
from opcheck.model import OpVersion
from tests.engine.test_registry import NEEDED

#: How the dimensions of the input lie in memory.
ORDERS = {"contiguous": (0, 1, 2), "transposed": (2, 0, 1)}


def high_water() -> int:
    """The most bytes that this process has had in memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def beside(name: str, dtype: str, layout: str, mebi: int) -> int:
    """The bytes beside input and output, of an input of so many MiB."""
    (op,) = (
        OpVersion(domain, name, max(operator.kernels))
        for (domain, found), operator in operators().items()
        if found == name
    )
    held = DTYPES[dtype].numpy
    order = ORDERS[layout]
    shape = (2, mebi * 2**20 // held.itemsize // 2 // 1000, 1000)
    x = np.empty([shape[n] for n in order], held).transpose(np.argsort(order))
    some = np.random.default_rng(0).normal(0, 3, (100, 1000)).astype(held)
    for start in range(0, shape[1], len(some)):
        x[:, start : start + len(some)] = some[: shape[1] - start]
    before = high_water()
    outputs = natively(op, [x], NEEDED.get(name, {}))
    return high_water() - before - sum(out.nbytes for out in outputs)


if __name__ == "__main__":
    name, dtype, layout, mebi = sys.argv[1:]
    print(beside(name, dtype, layout, int(mebi)))

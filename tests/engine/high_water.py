"""How much memory native mode takes at most beside its input and its output.

    python -m tests.engine.high_water OPERATOR DTYPE SHAPE [ATTRS [ORDER]]

As in `Softmax float32 [1,134217728] '{"axis": 1}'`. ORDER is that of the dimensions in memory, the
outermost first. It prints the bytes, which only a fresh process can tell. Exercised by test_memory;
by hand also at sizes that are no test's.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
from opcheck.engine.registry import operators

from opcheck.dtypes import DTYPES
from opcheck.engine import natively
from opcheck.model import OpVersion


def high_water() -> int:
    """The most bytes that this process has had in memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def beside(
    name: str,
    dtype: str,
    shape: Sequence[int],
    attrs: Mapping[str, Any] | None = None,
    order: Sequence[int] | None = None,
) -> int:
    """The bytes beside input and output."""
    (op,) = (
        OpVersion(domain, name, max(operator.kernels))
        for (domain, found), operator in operators().items()
        if found == name
    )
    order = order or range(len(shape))
    memory = np.empty([shape[n] for n in order], DTYPES[dtype].numpy)
    filled = memory.reshape(-1)
    some = np.random.default_rng(0).normal(0, 3, 100_003).astype(memory.dtype)
    for start in range(0, filled.size, some.size):
        filled[start : start + some.size] = some[: filled.size - start]
    x = memory.transpose(np.argsort(order))
    # Zeros are no memory until they are written, and room that an output does not take would hide
    # as much that something else does.
    with mock.patch.object(np, "zeros", lambda shape, dtype: np.full(shape, 0, dtype)):
        before = high_water()
        outputs = natively(op, [x], attrs or {})
    return high_water() - before - sum(out.nbytes for out in outputs)


if __name__ == "__main__":
    name, dtype, *rest = sys.argv[1:]
    print(beside(name, dtype, *map(json.loads, rest)))

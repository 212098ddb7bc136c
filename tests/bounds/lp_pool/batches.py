"""Windows of all distributions together, asked once for all implementations."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from tests.bounds.arithmetic import BFLOAT16, Array
from tests.bounds.lp_pool.judging import Question, ask
from tests.bounds.lp_pool.windows import DISTRIBUTIONS, in_range, windows

FLOAT16, FLOAT32, FLOAT64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
DTYPES = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)

#: How many windows of each distribution there are for each K.
SIZES = {1: 16, 2: 16, 4: 12, 9: 12, 49: 6, 1000: 2}
POWERS: dict[np.dtype, tuple[float, ...]] = {
    FLOAT32: (1, 2, 2.5, 3, 4, 5, 10),
    FLOAT64: (1, 2, 2.5, 3, 10),
    FLOAT16: (1, 2, 2.5),
    BFLOAT16: (1, 2, 10),
}


@cache
def owed(dtype: np.dtype) -> tuple[Question, ...]:
    """Questions whose answers every implementation has the range for."""
    return tuple(ask(x[held], p) for x, p in _windows(dtype) if (held := in_range(x, p)).any())


@cache
def out_of_range(dtype: np.dtype) -> tuple[Question, ...]:
    """Questions on windows whose sums of powers some implementation may not be able to hold."""
    some = ((x, p) for x, p in _windows(dtype) if x.shape[1] in (2, 9, 1000))
    return tuple(ask(x[lost], p) for x, p in some if (lost := ~in_range(x, p)).any())


def _windows(dtype: np.dtype) -> Iterator[tuple[Array, float]]:
    for size, count in SIZES.items():
        for p in POWERS[dtype]:
            made = [windows(name, (count, size), p, dtype) for name in DISTRIBUTIONS]
            yield np.concatenate(made), p

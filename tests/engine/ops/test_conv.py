"""Conv beside loops in plain Python."""

from itertools import product
from random import Random

import numpy as np
import pytest

from opcheck.model import OpVersion
from tests.computed import evaluate

CONV = OpVersion("", "Conv", 22)


@pytest.mark.parametrize("seed", range(40))
def test_every_sum_is_that_of_loops_over_filters_and_windows(seed):
    rng, axes = Random(seed), range(1 + seed % 3)
    group, each, count = (rng.randint(1, 3) for _ in range(3))
    kernel, strides, dilations, *pads = ([rng.randint(1, 3) for _ in axes] for _ in range(5))
    lengths = [rng.randint(1, 4) + (kernel[a] - 1) * dilations[a] for a in axes]
    attrs = {"strides": strides, "dilations": dilations, "group": group, "pads": pads[0] + pads[1]}
    x = np.array([rng.randint(-9, 9) for _ in range(2 * group * each * np.prod(lengths))])
    x = x.reshape(2, group * each, *lengths)
    w = np.array([rng.randint(-9, 9) for _ in range(group * count * each * np.prod(kernel))])
    w, bias = w.reshape(group * count, each, *kernel), np.arange(group * count)
    (found,) = evaluate(CONV, [part.astype(np.float64) for part in (x, w, bias)], attrs)
    spans = [lengths[a] + pads[0][a] + pads[1][a] - (kernel[a] - 1) * dilations[a] for a in axes]
    assert found.shape == (2, len(w), *((spans[a] - 1) // strides[a] + 1 for a in axes))
    for batch, m, *place in np.ndindex(found.shape):
        total = int(bias[m])
        for c, *j in product(range(each), *map(range, kernel)):
            at = [place[a] * strides[a] - pads[0][a] + j[a] * dilations[a] for a in axes]
            if all(0 <= at[a] < lengths[a] for a in axes):
                total += int(w[m, c, *j]) * int(x[batch, m // count * each + c, *at])
        assert found[batch, m, *place] == total

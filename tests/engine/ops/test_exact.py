"""Movement, selection and bits: what their texts leave open judges nobody.

Their answers, and what is invalid, are in `cases/`.
"""

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import NotSupported
from opcheck.model import OpVersion

F = np.float32


def i(*numbers):
    return np.array(numbers, np.int64)


@pytest.mark.parametrize(
    ("kind", "op", "since", "inputs", "attrs"),
    [
        (NotSupported, "Split", 18, (i(1, 2),), {}),
        (NotSupported, "Split", 18, (i(1, 2),), {"num_outputs": 4}),
        (NotSupported, "Pad", 25, (i(1, 2), i(3, 0)), {"mode": "reflect"}),
        (NotSupported, "ScatterElements", 13, (i(1, 2), i(0, -2), i(3, 4)), {}),
        (NotSupported, "Unique", 11, (np.array([np.nan], F),), {}),
        (NotSupported, "Mod", 13, (i(1), i(0)), {}),
        (NotSupported, "Mod", 10, (i(0), i(3)), {}),
        (NotSupported, "Split", 1, (np.ones(2, F),), {}),
        (MemoryError, "Pad", 25, (i(1), i(2**62, 0)), {}),
        (MemoryError, "Expand", 13, (i(1), i(2**62, 2)), {}),
        (NotSupported, "Expand", 13, (i(1), np.ones(70, np.int64)), {}),
        (NotSupported, "Pad", 1, (np.ones((3, 2), F),), {"paddings": [0, 0, 2, 0]}),
        (NotSupported, "Pad", 13, (i(1), i(-2, 2)), {}),
        (NotSupported, "OneHot", 9, (i(-1), i(2), i(0, 1)), {}),
        (NotSupported, "OneHot", 11, (np.array([np.nan], F), i(2), i(0, 1)), {}),
        (NotSupported, "ArgMax", 11, (i(1, 3, 3),), {}),
        (NotSupported, "MeanVarianceNormalization", 9, (np.ones((2, 2), F),), {"axes": [-1, 1]}),
        (NotSupported, "ArgMin", 13, (np.array([1, np.nan]),), {}),
        (NotSupported, "ScatterElements", 18, (np.array([1j]), i(0), np.array([1j])),
         {"reduction": "mul"}),
        (NotSupported, "DepthToSpace", 1, (np.ones((1, 8, 1, 1), F),), {"blocksize": 2}),
        (NotSupported, "Scatter", 9, (i(1, 2), i(-1), i(3)), {}),
        (NotSupported, "BitShift", 11, (np.array([1, 9], np.uint8),) * 2, {"direction": "LEFT"}),
        (NotSupported, "Range", 11, (F(-8.537562), F(1.8177228), F(0.86294043)), {}),
        (NotSupported, "Dropout", 6, (np.ones(1, F),), {"is_test": 0}),
    ],
)  # fmt: skip
def test_what_is_open_or_too_large_is_not_answered(kind, op, since, inputs, attrs):
    with pytest.raises(kind):
        evaluate(OpVersion("", op, since), inputs, attrs, attrs.get("num_outputs", 1))

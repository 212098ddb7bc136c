import numpy as np
import pytest

from opcheck.compare import compare
from opcheck.compare.outputs import computed_want
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import exactly

FLOAT = np.float32


def fixed(sums, a, b, y):
    """By a factor of 31 bits and a shift, as without floats."""
    factor, shift = np.frexp(np.float64(a) * b / y)
    return sums * np.rint(factor * 2.0**31) * 2.0 ** (int(shift) - 31)


#: What honest backends divide, from sums in int32, in float32 or from fixed points.
WAYS = {
    "one_factor": lambda x, w, a, b, y: FLOAT(x @ w) * (a * b / y),
    "factor_of_a_reciprocal": lambda x, w, a, b, y: FLOAT(x @ w) * (a * b * (FLOAT(1) / y)),
    "one_after_the_other": lambda x, w, a, b, y: FLOAT(x @ w) * a * b / y,
    "scale_of_w_first": lambda x, w, a, b, y: FLOAT(x @ w) * b * (a / y),
    "in_float64": lambda x, w, a, b, y: (x @ w) * (np.float64(a) * b / y),
    "fixed_points": lambda x, w, a, b, y: fixed(x @ w, a, b, y),
    "floats": lambda x, w, a, b, y: (FLOAT(x) * a) @ (FLOAT(w) * b) / y,
    "floats_backwards": lambda x, w, a, b, y: (FLOAT(x) * a)[:, ::-1] @ (FLOAT(w) * b)[::-1] / y,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["QLinearMatMul", "QLinearConv"])
def test_no_honest_order_of_scales_is_accused(op, way):
    random = np.random.default_rng(7)
    for terms in (1, 9, 300):
        x, w = (random.integers(0, 256, shape, np.uint8) for shape in ((600, terms), (terms, 8)))
        a, b = FLOAT(random.uniform(0.001, 0.1, 2))
        x_zero, w_zero, zero = random.integers(100, 150, 3, np.uint8)
        y = FLOAT(a * b * 150 * terms**0.5)
        q = WAYS[way](x.astype(np.int64) - x_zero, w.astype(np.int64) - w_zero, a, b, y)
        right = np.clip(np.rint(q) + zero, 0, 255).astype(np.uint8)
        if op == "QLinearConv":
            x, w, right = x.T[None], w.T[..., None], right.T[None]
        scaled = ((x, a, x_zero), (w, b, w_zero), (y, zero))
        fed = [np.asarray(one) for each in scaled for one in each]
        (want,) = exactly(OpVersion("", op, 10), fed, {})
        assert not compare(computed_want(OpVersion("", op, 10), "y", want), right).problem


def admitted(op, *inputs, **attrs):
    """Each answer that the text admits, "refused" for a refusal."""
    with judging():
        readings = [*each_answer(Node(OpVersion("", op, 10), inputs, attrs))]
    return [
        "refused" if isinstance(one.answer, InvalidNode) else rounded(one.answer[0]).tolist()
        for one in readings
    ]


A, B = np.uint8([[3, 5], [7, 9]]), np.uint8([[1, 2, 4], [1, 1, 1]])


def test_zero_points_that_stretch_to_rows_may_be_refused():
    by_row = admitted("MatMulInteger", A, B, np.uint8([1, 2]))
    assert by_row == [[[6, 8, 12], [12, 17, 27]]]
    one_for_all = admitted("MatMulInteger", A, B, np.uint8([1]))
    assert one_for_all == [[[6, 8, 12], [14, 20, 32]], "refused"]
    with pytest.raises(NotSupported, match="of each element"):
        admitted("MatMulInteger", A, B, np.uint8([[1, 2], [3, 4]]))
    with pytest.raises(InvalidNode):
        admitted("MatMulInteger", A, B, np.uint8([1, 2, 3]))


def test_one_zero_point_for_all_filters_may_be_refused_as_a_vector():
    x, w = np.uint8([[[3, 5]]]), np.uint8([[[1]], [[2]]])
    assert admitted("ConvInteger", x, w, None, np.uint8([1, 2])) == [[[[0, 0], [0, 0]]]]
    assert admitted("ConvInteger", x, w, None, np.uint8([1])) == [[[[0, 0], [3, 5]]], "refused"]
    assert admitted("ConvInteger", x, w, np.uint8([1])) == [[[[2, 4], [4, 8]]], "refused"]


def test_an_output_scale_of_one_element_is_a_scalar_or_refused():
    one, zero = FLOAT(1), np.uint8(0)
    found = admitted("QLinearMatMul", A, one, zero, B, one, zero, FLOAT([2]), np.uint8([0]))
    # 8/2, 11/2, 17/2 …: halves go to the even number.
    assert found == [[[4, 6, 8], [8, 12, 18]], "refused"]

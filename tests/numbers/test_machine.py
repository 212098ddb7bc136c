"""Each way in which machines compute changes the answers of what rounds, and of nothing else."""

import numpy as np
import pytest

from benchmarks.narrowed import made
from benchmarks.sound import FORMULAS, OTHERWISE, WAYS
from opcheck import numbers as xp
from opcheck.engine.evaluate import evaluate
from tests.numbers.machine import ROUNDING, Machine

EXACT = """
abs argmax argmin at_most_1 broadcast_to ceil clip concat equal expand_dims flip floor full_like
greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not logical_or
logical_xor max maximum min minimum negative not_equal pad permute_dims reshape round sign squeeze
stack take take_along_axis tile top_k trunc values_of where zeros_like
"""
SUMS = (
    "Conv, K = 72",
    "ConvTranspose, K = 72",
    "Col2Im, 3×3",
    "Gemm, K = 64",
    "Einsum, K = 64",
    "ReduceSum of 256",
    "AveragePool, 3×3",
    "Attention of 64 keys",
    "LayerNormalization of 768",
    "LRN of 5",
    "Softmax of 1,000",
    "DeformConv, K = 72",
    "Det, 3×3",
)
#: NumPy multiplies, and adds up running sums, one after the other.
IN_TURN = "CumSum of 100", "CumProd of 30", "ReduceProd of 30", "MatMul, K = 16"
CHANGED = {
    "in sequence": SUMS,
    "backwards": SUMS + IN_TURN,
    "by trees": SUMS + IN_TURN,
    "in lanes or blocks": SUMS + IN_TURN,
    "fused": (*SUMS, "RotaryEmbedding"),
    "by reciprocals": ("Div", "Softsign", "Softmax of 1,000", "AveragePool, 3×3"),
    "functions off": ("Exp", "Tanh", "Erf", "Pow", "Gelu", "Softmax of 1,000", "LRN of 5"),
    "with every freedom": (*SUMS, "Exp", "Tanh", "Gelu"),
}


def test_the_machine_has_every_function_that_rounds() -> None:
    assert sorted([*ROUNDING, *EXACT.split()]) == sorted(xp.NAMES)
    assert {*WAYS} == {*CHANGED, "flushes", OTHERWISE}
    with xp.lifting(lambda x: x, Machine(np.random.default_rng(0), flushes=True).faults()):
        assert xp.multiply(np.float32([1e-20, 1]), np.float32([1e-20, 1])).tolist() == [0, 1]


@pytest.mark.sampled(3, evenly=True)
@pytest.mark.parametrize("way", CHANGED)
def test_a_way_changes_each_answer_that_it_is_about_a_little(way: str) -> None:
    for told in CHANGED[way]:
        node = made(told)
        formula = FORMULAS.get(node.op.name, {}).get(node.op.since)
        machine = Machine(np.random.default_rng(0), **WAYS[way])
        got = evaluate(node, formula, machine.faults())[0]
        assert (got != node.plain[0]).any(), told
        np.testing.assert_allclose(got, node.plain[0], rtol=1e-3, atol=1e-4, err_msg=told)

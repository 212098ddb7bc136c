"""What arithmetic that is narrower than float32 uses of the error bounds, operator by operator.

    python benchmarks/narrowed.py [OPERATOR ...]

Random float32 tensors go through each formula: as they are, with inputs rounded to a narrower type,
and with what every function of the formula gives rounded so. Each pair of numbers is the largest
share of an element's bound, which is wrong above 1, and how many times as far the errors scatter as
independent roundings of float32 do, which is warned of above 60.
"""

import math
import sys
from typing import Any

import numpy as np

from opcheck.compare.bounded import judge, scatter
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import Node, exactly
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.model import OpVersion

FLOAT32 = DTYPES["float32"]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Float32 of mean 0 and variance 1."""
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Any:
    """Float32 from 0.5 to 4."""
    return RNG.uniform(0.5, 4, shape).astype(np.float32)


def classes(count: int) -> Any:
    """Of ten classes, one for each sample."""
    return RNG.integers(0, 10, count)


NODES: dict[str, tuple[str, int, tuple[Any, ...], dict[str, Any]]] = {
    "Softmax of 1,000": ("Softmax", 13, (normal(50, 1000),), {"axis": 1}),
    "LpPool, 3×3, p = 2": ("LpPool", 22, (normal(1, 8, 40, 40),), {"kernel_shape": (3, 3)}),
    "LayerNormalization of 768": ("LayerNormalization", 17, (normal(40, 768), normal(768)), {}),
    "GroupNormalization of 1,024": (
        "GroupNormalization", 21, (normal(2, 8, 16, 16), normal(8), normal(8)), {"num_groups": 2}),
    "Conv, K = 72": ("Conv", 22, (normal(1, 8, 20, 20), normal(8, 8, 3, 3)), {}),
    "Conv, K = 4,608": ("Conv", 22, (normal(1, 512, 6, 6), normal(8, 512, 3, 3)), {}),
    "DeformConv, K = 72": ("DeformConv", 22, (
        normal(1, 8, 20, 20), normal(8, 8, 3, 3), normal(1, 18, 20, 20)), {"pads": (1, 1, 1, 1)}),
    "NegativeLogLikelihoodLoss, sum of 1,000": ("NegativeLogLikelihoodLoss", 22, (
        normal(1000, 10), classes(1000), positive(10)), {"reduction": "sum"}),
    "SoftmaxCrossEntropyLoss of 10": ("SoftmaxCrossEntropyLoss", 13, (
        normal(1000, 10), classes(1000)), {"reduction": "none"}),
    "Gelu": ("Gelu", 20, (normal(4096),), {}),
    "Gelu by tanh": ("Gelu", 20, (normal(4096),), {"approximate": "tanh"}),
    "Exp": ("Exp", 13, (normal(4096),), {}),
    "Log": ("Log", 13, (positive(4096),), {}),
    "Tanh": ("Tanh", 13, (normal(4096),), {}),
    "Erf": ("Erf", 13, (normal(4096),), {}),
    "Sigmoid": ("Sigmoid", 13, (normal(4096),), {}),
    "Mul": ("Mul", 14, (normal(4096), normal(4096)), {}),
    "Div": ("Div", 14, (normal(4096), positive(4096)), {}),
    "Attention of 64 keys": (
        "Attention", 24, (normal(1, 4, 64, 32), normal(1, 4, 64, 32), normal(1, 4, 64, 32)), {}),
    "RotaryEmbedding": (
        "RotaryEmbedding", 23, (normal(2, 4, 8, 64), normal(2, 8, 32), normal(2, 8, 32)), {}),
    "CausalConvWithState, K = 4": (
        "CausalConvWithState", 27, (normal(2, 32, 64), normal(32, 1, 4)), {"activation": "silu"}),
    "LinearAttention of 64 tokens": (
        "LinearAttention", 27, (normal(1, 64, 32), normal(1, 64, 32), normal(1, 64, 32)),
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}),
    "ReduceSum of 1,000": ("ReduceSum", 13, (normal(200, 1000), np.array([1])), {}),
    "ReduceL2 of 1,000": ("ReduceL2", 18, (normal(200, 1000), np.array([1])), {}),
    "ReduceLogSumExp of 1,000": ("ReduceLogSumExp", 18, (normal(200, 1000), np.array([1])), {}),
    "ConvTranspose, K = 72": ("ConvTranspose", 22, (normal(1, 8, 20, 20), normal(8, 8, 3, 3)), {}),
    "Col2Im, 3×3": ("Col2Im", 18, (normal(1, 72, 400), np.array([22, 22]), np.array([3, 3])), {}),
    "Det, 3×3": ("Det", 22, (normal(1000, 3, 3),), {}),
    "Det, 8×8": ("Det", 22, (normal(100, 8, 8),), {}),
}  # fmt: skip
for _k in (16, 256, 4096, 65_536, 10**6):
    NODES[f"MatMul, K = {_k:,}"] = "MatMul", 13, (normal(10, _k), normal(_k, 10)), {}
    NODES[f"ReduceSum of {_k:,}"] = "ReduceSum", 13, (normal(100, _k), np.array([1])), {}
#: What is narrower than float32, by its bits of significand.
NARROWED = {"two bfloat16": 16, "TF32 or float16": 11, "bfloat16": 8}


def rounded(x: Any, bits: int) -> Any:
    """Floats narrowed; anything else as it is."""
    if isinstance(x, tuple):
        return tuple(rounded(one, bits) for one in x)
    is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
    return cut_to_bits(x, bits) if is_float else x


def with_rounded_inputs(node: Node, bits: int) -> Any:
    """The answer to narrowed inputs."""
    inputs = (rounded(x, bits) for x in node.inputs)
    return evaluate(Node(node.op, tuple(inputs), node.attrs))[0]


def rounded_at_every_step(node: Node, bits: int) -> Any:
    """The answer with what every function of the formula gives narrowed."""

    def fault(original: Any, *operands: Any, **options: Any) -> Any:
        return rounded(original(*operands, **options), bits)

    return evaluate(node, faults=dict.fromkeys(node.primitives, fault))[0]


def used(reference: Any, got: Any) -> str:
    """The largest share of a bound, and how far errors scatter."""
    share = judge(reference, got, FLOAT32, reference.bound.tiers()[0]).shares.max()
    found = share, scatter(reference, got) or math.nan
    digits = (float(f"{one:.2g}") for one in found)
    return " / ".join(f"{one:,.0f}" if one >= 10 else f"{one:g}" for one in digits)


def main() -> None:
    """Print a table in Markdown."""
    ways = {"inputs": with_rounded_inputs, "every step": rounded_at_every_step}
    columns = [f"{way} in {name}" for way in ways for name in NARROWED]
    print("| operator | float32 |", *(f"{column} |" for column in columns))
    print("|---" * (2 + len(columns)) + "|")
    for told, (name, since, inputs, attrs) in NODES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        node = Node(OpVersion("", name, since), inputs, attrs)
        answers = [make(node, bits) for make in ways.values() for bits in NARROWED.values()]
        # One for all answers: it costs more than they do.
        reference = computed_want(node.op, "y", exactly(node.op, [*inputs], attrs)[0])
        print(f"| {told} |", *(f"{used(reference, got)} |" for got in (node.plain[0], *answers)))


if __name__ == "__main__":
    main()

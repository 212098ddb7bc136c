"""What arithmetic that is narrower than float32, or wrong, uses of the error bounds, by operator.

    python benchmarks/narrowed.py [OPERATOR ...]

Random float32 tensors go through each formula as it is and in each of some ways. A pair of numbers
is the largest share of an element's bound, and how many times as far the errors scatter as
independent roundings of float32 do. The first table has both. The second has them where a way is
neither wrong, by the bound, nor warned of, by its scatter; `–` where it changes nothing. Why these
are not seen follows. The third table narrows one stage at a time, the results of one function of
the formula, in tensors of float32 and of float16.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from opcheck.compare.bounded import SCATTER, examine, judge, scatter, scattering
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES, DType
from opcheck.engine import Expected, Node
from opcheck.engine.evaluate import evaluate, exactly
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.operators import find
from opcheck.model import OpVersion
from opcheck.opset import versions

FLOAT32 = DTYPES["float32"]
#: Numbers to draw from, other than normal ones.
POSITIVE = lambda rng, shape: rng.uniform(0.5, 4, shape)  # noqa: E731
INSIDE = lambda rng, shape: rng.uniform(-0.9, 0.9, shape)  # noqa: E731
SMALL = lambda rng, shape: rng.normal(0, 0.01, shape)  # noqa: E731
NEAR_1 = lambda rng, shape: rng.uniform(0.9, 1.1, shape)  # noqa: E731
CLASSES = lambda rng, shape: rng.integers(0, 10, shape)  # noqa: E731

_IMAGE, _ROW, _AXIS = (1, 8, 40, 40), (200, 1000), [1]
#: An operator, its attributes, and its inputs: a shape of normal numbers or of those named before
#: it, or a list of integers.
NODES: dict[str, tuple[Any, ...]] = {
    "Softmax of 1,000": ("Softmax", {"axis": 1}, (50, 1000)),
    "LogSoftmax of 1,000": ("LogSoftmax", {"axis": 1}, (50, 1000)),
    "LpPool, 3×3, p = 2": ("LpPool", {"kernel_shape": (3, 3)}, _IMAGE),
    "AveragePool, 3×3": ("AveragePool", {"kernel_shape": (3, 3)}, _IMAGE),
    "GlobalAveragePool of 400": ("GlobalAveragePool", {}, (4, 64, 20, 20)),
    "GlobalLpPool of 400": ("GlobalLpPool", {}, (4, 64, 20, 20)),
    "LayerNormalization of 768": ("LayerNormalization", {}, (40, 768), (768,)),
    "LayerNormalization of 768, of variance 1e-4": (
        "LayerNormalization",
        {},
        (SMALL, 40, 768),
        (768,),
    ),
    "GroupNormalization of 1,024": (
        "GroupNormalization",
        {"num_groups": 2},
        (2, 8, 16, 16),
        (8,),
        (8,),
    ),
    "InstanceNormalization of 256": ("InstanceNormalization", {}, (2, 8, 16, 16), (8,), (8,)),
    "RMSNormalization of 768": ("RMSNormalization", {}, (40, 768), (768,)),
    "BatchNormalization": ("BatchNormalization", {}, _IMAGE, (8,), (8,), (8,), (POSITIVE, 8)),
    "BatchNormalization of 512, training": (
        "BatchNormalization",
        {"training_mode": 1},
        (2, 8, 16, 16),
        (8,),
        (8,),
        (8,),
        (POSITIVE, 8),
    ),
    "MeanVarianceNormalization of 512": ("MeanVarianceNormalization", {}, (2, 8, 16, 16)),
    "LRN of 5": ("LRN", {"size": 5, "alpha": 0.5}, (1, 16, 20, 20)),
    "LpNormalization of 1,000": ("LpNormalization", {"axis": 1}, _ROW),
    "Conv, K = 72": ("Conv", {}, (1, 8, 20, 20), (8, 8, 3, 3)),
    "Conv, K = 4,608": ("Conv", {}, (1, 512, 6, 6), (8, 512, 3, 3)),
    "ConvTranspose, K = 72": ("ConvTranspose", {}, (1, 8, 20, 20), (8, 8, 3, 3)),
    "DeformConv, K = 72": (
        "DeformConv",
        {"pads": (1, 1, 1, 1)},
        (1, 8, 20, 20),
        (8, 8, 3, 3),
        (1, 18, 20, 20),
    ),
    "CausalConvWithState, K = 4": (
        "CausalConvWithState",
        {"activation": "silu"},
        (2, 32, 64),
        (32, 1, 4),
    ),
    "Col2Im, 3×3": ("Col2Im", {}, (1, 72, 400), [22, 22], [3, 3]),
    "Det, 3×3": ("Det", {}, (1000, 3, 3)),
    "Det, 8×8": ("Det", {}, (100, 8, 8)),
    "Gemm, K = 64": ("Gemm", {}, (20, 64), (64, 20), (20,)),
    "Einsum, K = 64": ("Einsum", {"equation": "bik,bkj->bij"}, (4, 10, 64), (4, 64, 10)),
    **{
        f"MatMul, K = {k:,}": ("MatMul", {}, (10, k), (k, 10))
        for k in (16, 256, 4096, 65_536, 10**6)
    },
    "Attention of 64 keys": ("Attention", {}, *[(1, 4, 64, 32)] * 3),
    "RotaryEmbedding": ("RotaryEmbedding", {}, (2, 4, 8, 64), (2, 8, 32), (2, 8, 32)),
    "LinearAttention of 64 tokens": (
        "LinearAttention",
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
        *[(1, 64, 32)] * 3,
    ),
    "NegativeLogLikelihoodLoss, sum of 1,000": (
        "NegativeLogLikelihoodLoss",
        {"reduction": "sum"},
        (1000, 10),
        (CLASSES, 1000),
        (POSITIVE, 10),
    ),
    "SoftmaxCrossEntropyLoss of 10": (
        "SoftmaxCrossEntropyLoss",
        {"reduction": "none"},
        (1000, 10),
        (CLASSES, 1000),
    ),
    **{
        f"ReduceSum of {k:,}": ("ReduceSum", {}, (100, k), _AXIS)
        for k in (16, 256, 4096, 65_536, 10**6)
    },
    **{
        f"{name} of 1,000": (name, {}, _ROW, _AXIS)
        for name in ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
    },
    "ReduceLogSum of 1,000": ("ReduceLogSum", {}, (POSITIVE, *_ROW), _AXIS),
    "ReduceProd of 30": ("ReduceProd", {}, (NEAR_1, 200, 30), _AXIS),
    "CumSum of 100": ("CumSum", {}, (100, 100), 1),
    "CumProd of 30": ("CumProd", {}, (NEAR_1, 100, 30), 1),
    **{
        name: (name, {}, (4096,))
        for name in (
            "Exp",
            "Tanh",
            "Erf",
            "Sigmoid",
            "Sin",
            "Cos",
            "Tan",
            "Atan",
            "Sinh",
            "Cosh",
            "Asinh",
            "HardSigmoid",
            "HardSwish",
            "Softplus",
            "Softsign",
            "Elu",
            "Celu",
            "Selu",
            "LeakyRelu",
            "Gelu",
            "Mish",
            "Swish",
        )
    },
    **{name: (name, {}, (POSITIVE, 4096)) for name in ("Log", "Sqrt", "Reciprocal")},
    **{name: (name, {}, (INSIDE, 4096)) for name in ("Asin", "Acos", "Atanh")},
    "Acosh": ("Acosh", {}, (lambda rng, shape: rng.uniform(1.1, 9, shape), 4096)),
    "Gelu by tanh": ("Gelu", {"approximate": "tanh"}, (4096,)),
    "Pow": ("Pow", {}, (POSITIVE, 4096), (4096,)),
    **{name: (name, {}, (4096,), (4096,)) for name in ("Mul", "PRelu")},
    "Div": ("Div", {}, (4096,), (POSITIVE, 4096)),
    "SwiGLU": ("SwiGLU", {}, (4096,), (4096,)),
}


def made(told: str) -> Node:
    """The node of a row, the same alone as among all."""
    rng = np.random.default_rng(crc32(told.encode()))
    name, attrs, *inputs = NODES[told]
    operator = find("", name)
    assert operator
    op = OpVersion("", name, max(operator.formulas))
    return Node(op, tuple(tensor(rng, one) for one in inputs), attrs)


def tensor(rng: np.random.Generator, of: Any) -> Any:
    """An input."""
    if not isinstance(of, tuple):
        return np.array(of)
    if isinstance(of[0], int):
        return rng.standard_normal(of, np.float32)
    found = of[0](rng, of[1:])
    return found if found.dtype.kind == "i" else found.astype(np.float32)


def rounded(x: Any, bits: int) -> Any:
    """Floats narrowed; anything else as it is."""
    if isinstance(x, tuple | list):
        return type(x)(rounded(one, bits) for one in x)
    is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
    return cut_to_bits(x, bits) if is_float else x


def with_inputs(bits: int) -> Callable[[Node], Any]:
    """The answer to narrowed inputs."""
    return lambda node: evaluate(replace(node, inputs=rounded(node.inputs, bits)))[0]


def with_faults(names: str, fault: Callable[..., Any]) -> Callable[[Node], Any]:
    """The answer with functions replaced: each is called with its name and its original."""

    def answer(node: Node) -> Any:
        def of(name: str) -> Callable[..., Any]:
            return lambda *operands, **options: fault(name, *operands, **options)

        return evaluate(node, faults={name: of(name) for name in names.split()})[0]

    return answer


def narrow_results(bits: int) -> Callable[[Node], Any]:
    """The answer with all that functions give narrowed."""

    def fault(original: Any, *operands: Any, **options: Any) -> Any:
        return rounded(original(*operands, **options), bits)

    return lambda node: evaluate(node, faults=dict.fromkeys(node.primitives, fault))[0]


def narrow_factors(bits: int) -> Callable[[Node], Any]:
    """The answer with the operands of every product of matrices narrowed."""
    return with_faults(
        "matmul tensordot bilinear",
        lambda name, original, a, b, *more, **options: original(
            rounded(a, bits), rounded(b, bits), *more, **options
        ),
    )


def running(bits: int) -> Callable[[Node], Any]:
    """The answer with every running sum narrowed after each addition."""

    def total(terms: Iterator[Any]) -> Any:
        found: Any = np.float32(0)
        for term in terms:
            found = cut_to_bits(np.asarray(found + term), bits)
        return found

    def fault(name: str, original: Any, *operands: Any, **options: Any) -> Any:
        x, y = (*operands, None)[:2]
        if getattr(x, "dtype", np.dtype(int)).kind != "f":
            return original(*operands, **options)
        if name == "matmul":
            columns = np.moveaxis(x, -1, 0)[..., None], np.moveaxis(y, -2, 0)[..., None, :]
            return total(a * b for a, b in zip(*columns, strict=True))
        if name in ("sum", "mean"):
            axis = options.get("axis", y)
            axes = (axis,) if isinstance(axis, int) else tuple(axis or range(x.ndim))
            lined = np.moveaxis(x, axes, range(len(axes)))
            lined = lined.reshape(-1, *lined.shape[len(axes) :])
            found = total(iter(lined)) / np.float32(len(lined) if name == "mean" else 1)
            return np.expand_dims(found, axes) if options.get("keepdims") else found
        if name == "cumulative_sum":
            found, at = x.copy(), np.moveaxis
            lined = at(found, options["axis"], 0)
            for n in range(1, len(lined)):
                lined[n] = cut_to_bits(lined[n - 1] + lined[n], bits)
            return found
        # The terms of a sum of windows, and of products in other ways, are of different parts.
        count = int(np.max(operands[3 if name == "bilinear" else 2]))
        if count > 128:
            return original(*operands, **options)
        part, (_, *others) = np.arange(x.size).reshape(x.shape) % count, operands
        parts = (np.where(part == n, x, np.float32(0)) for n in range(count))
        if name == "sums":
            return total(others[0](one) for one in parts)
        more = [] if len(others) < 4 or others[3] is None else [others[3]]
        return total(iter([*(others[1](one, y) for one in parts), *more]))

    return with_faults("matmul sum mean cumulative_sum sums bilinear", fault)


def off_by(relative: float) -> Callable[[Node], Any]:
    """The answer with functions that are off by a factor."""
    factor = np.float32(1 + relative)
    return with_faults("exp tanh erf log", lambda name, original, x: original(x) * factor)


def epsilon_twice(node: Node) -> Any:
    """The answer with epsilon added twice."""
    attributes: Any = versions("", node.op.name)[node.op.since].attributes
    more = {"epsilon": 2 * attributes["epsilon"].default} if "epsilon" in attributes else {}
    return evaluate(replace(node, attrs={**node.attrs, **more}))[0]


def of_one_less(node: Node) -> Any:
    """The answer with variances over n − 1: means of squares, of all that are computed."""

    def fault(name: str, original: Any, x: Any, *of: Any, **options: Any) -> Any:
        found = original(x, *of, **options)
        n = np.float32(x.size / found.size)
        return found * (n / (n - 1)) if (x >= 0).all() else found

    is_one = "Normalization" in node.op.name
    return with_faults("mean", fault)(node) if is_one else evaluate(node)[0]


def one_missing(axis: int) -> Callable[[Node], Any]:
    """The answer where what is last along an axis of the second input, or the first, is 0."""

    def answer(node: Node) -> Any:
        inputs: list[Any] = [*node.inputs]
        tensors = [n for n, x in enumerate(inputs[:2]) if x.dtype.kind == "f" and x.ndim > 1]
        for place in tensors[-1:]:
            inputs[place] = inputs[place].copy()
            np.moveaxis(inputs[place], axis, 0)[-1] = 0
        return evaluate(replace(node, inputs=tuple(inputs)))[0]

    return answer


#: The ways of the first table, and all.
SHOWN: dict[str, Callable[[Node], Any]] = {
    "inputs in two bfloat16": with_inputs(16),
    "inputs in TF32 or float16": with_inputs(11),
    "inputs in bfloat16": with_inputs(8),
}
WAYS: dict[str, Callable[[Node], Any]] = {
    **SHOWN,
    "every step in TF32 or float16": narrow_results(11),
    "every step in bfloat16": narrow_results(8),
    "products in TF32": narrow_factors(11),
    "sums in float16": running(11),
    "sums in bfloat16": running(8),
    "functions off by 1e-4": off_by(1e-4),
    "functions off by 1e-6": off_by(1e-6),
    "epsilon twice": epsilon_twice,
    "variance over n − 1": of_one_less,
    "one row missing": one_missing(-2),
    "one channel missing": one_missing(1),
    "one column of taps missing": one_missing(-1),
}
_MANY = (
    "Roundings of many terms cancel, and the bound has room for their worst sum. Scatter shows "
    "TF32 up to some 30,000 terms, or hundreds where all are of one sign, and bfloat16 up to a "
    "million; one number alone has no scatter."
)
#: Why a way is not seen somewhere, by its first word.
REASONS = {
    **dict.fromkeys(("inputs", "every", "products", "sums"), _MANY),
    "functions": "A factor of all exponentials cancels in quotients (Softmax, Attention). Else "
    "1e-6 is twice the 4 ULP that a function may err, which a sum or a logarithm hides.",
    "epsilon": "Where variances are 1, it is 5e-6 of a result; where they are 1e-4, it is wrong.",
    "one": "One of a million terms is less than what their sum may err.",
}


#: Nodes whose stages are narrowed one by one, and the functions that a stage may consist of.
STAGED = (
    "Softmax of 1,000",
    "LayerNormalization of 768",
    "GroupNormalization of 1,024",
    "InstanceNormalization of 256",
    "RMSNormalization of 768",
    "BatchNormalization of 512, training",
    "MeanVarianceNormalization of 512",
    "LpNormalization of 1,000",
    "Attention of 64 keys",
    "MatMul, K = 256",
)
STAGES = "add divide exp matmul max mean multiply pow sqrt subtract sum tanh".split()
_STAGES_NOT_SEEN = (
    "In tensors of float16 one rounding to as many digits is no larger than the last one, and than "
    "those of stage two, which texts have in the tensor's type. What is subtracted before an "
    "exponential, such as a maximum, cancels in the quotient."
)
#: The types that a stage is narrowed to.
NARROWED: dict[str, Callable[[Any], Any]] = {
    "TF32": lambda x: cut_to_bits(x, 11),
    "float16": lambda x: x.astype(np.float16).astype(x.dtype),
    "bfloat16": lambda x: cut_to_bits(x, 8),
}


def with_stage(name: str, narrowed: Callable[[Any], Any]) -> Callable[[Node], Any]:
    """The outputs with the results of one function narrowed."""

    def fault(original: Any, *operands: Any, **options: Any) -> Any:
        found = original(*operands, **options)
        is_float = isinstance(found, np.ndarray) and found.dtype.kind == "f"
        return narrowed(found) if is_float else found

    return lambda node: evaluate(node, faults={name: fault})


def stage_verdict(node: Node, name: str, narrowed: Callable[[Any], Any]) -> str:
    """The worst verdict of all outputs of a node with one stage narrowed."""
    with np.errstate(over="ignore"):
        outputs = with_stage(name, narrowed)(node)
    found = []
    for answer, got, right in zip(exactly(node), outputs, node.plain, strict=True):
        if not isinstance(answer, Expected) or np.array_equal(got, right, equal_nan=True):
            continue
        want = computed_want(node.op, "y", answer)
        found.append(verdict(want, got, shares(want, got, answer.dtype), answer.dtype))
    return next((word for word in ("wrong", "warned", "not seen") if word in found), "–")


def stages(told: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each type and function, and the verdicts in all types that it is narrowed to."""
    single = made(told)
    count = 3 if single.op.name == "LayerNormalization" else 1
    half = [x.astype(np.float16) if x.dtype == np.float32 else x for x in single.given]
    for dtype, inputs in (("float32", single.inputs), ("float16", tuple(half))):
        node = Node(single.op, inputs, single.attrs, tuple(range(count)))
        for name in STAGES:
            if name in node.primitives:
                yield dtype, name, [stage_verdict(node, name, way) for way in NARROWED.values()]


def shares(want: Any, got: Any, dtype: DType = FLOAT32) -> tuple[float, float]:
    """The largest share of a bound, and how far errors scatter."""
    share = judge(want, got, dtype, want.expected.tiers()[0]).shares.max()
    return float(share), scatter(want, got) or math.nan


def told_of(found: tuple[float, float]) -> str:
    """Both numbers in two digits."""
    digits = (one if math.isinf(one) else float(f"{one:.2g}") for one in found)
    return " / ".join(f"{one:,.0f}" if one >= 10 else f"{one:g}" for one in digits)


def verdict(want: Any, got: Any, found: tuple[float, float], dtype: DType = FLOAT32) -> str:
    """What opcheck says of an answer: wrong, warned, or nothing."""
    if not found[0] <= 1:
        decision = examine(want, got, dtype, ())
        if not decision.fits:
            return "wrong"
        if decision.tier.remark:
            return "warned"
    return "warned" if found[1] > SCATTER and scattering(want, got) else "not seen"


def row(told: str, ways: dict[str, Callable[[Node], Any]]) -> Iterator[tuple[float, float, str]]:
    """The shares and the verdict of float32 itself and of each way; "–" where it is the same."""
    node = made(told)
    # One for all answers: it costs more than they do.
    want = computed_want(node.op, "y", exactly(Node(node.op, node.inputs, node.attrs))[0])
    right = node.plain[0]
    for got in (right, *(way(node) for way in ways.values())):
        found = shares(want, got)
        same = got is not right and np.array_equal(got, right, equal_nan=True)
        yield *found, "–" if same else verdict(want, got, found)


def main() -> None:
    """Print the tables in Markdown, and what is not seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = sorted({of[0] for of in NODES.values()})
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=", ".join(known))
    asked = parser.parse_args().operators
    if unknown := {*asked}.difference(known):
        parser.error(
            f"no row of {', '.join(sorted(unknown))}; there are rows of {', '.join(known)}"
        )
    chosen = [told for told, of in NODES.items() if not asked or of[0] in asked]
    rows = {told: [*row(told, WAYS)] for told in chosen}
    print(
        f"| operator | float32 | {' | '.join(SHOWN)} |", "|---" * (2 + len(SHOWN)) + "|", sep="\n"
    )
    for told, found in rows.items():
        print(f"| {told} |", *(f"{told_of(one[:2])} |" for one in found[: 1 + len(SHOWN)]))
    print(f"\n| operator | {' | '.join(WAYS)} |", "|---" * (1 + len(WAYS)) + "|", sep="\n")
    unseen: dict[str, list[str]] = {}
    for told, (_, *found) in rows.items():
        print(
            f"| {told} |",
            *(
                f"{one[2]} {told_of(one[:2])} |" if one[2] == "not seen" else f"{one[2]} |"
                for one in found
            ),
        )
        for way, one in zip(WAYS, found, strict=True):
            if one[2] == "not seen":
                unseen.setdefault(way, []).append(told)
    print("\nNot seen:")
    for way, where in unseen.items():
        print(f"- {way}: {'; '.join(where)}. {REASONS[way.split()[0]]}")
    print(
        f"\n| operator | tensors | stage | {' | '.join(NARROWED)} |",
        "|---|---|---|---|---|---|",
        sep="\n",
    )
    for told in filter(chosen.__contains__, STAGED):
        for dtype, name, verdicts in stages(told):
            print(f"| {told} | {dtype} | {name} | {' | '.join(verdicts)} |")
    print(f"\nNot seen: {_STAGES_NOT_SEEN}")


if __name__ == "__main__":
    main()

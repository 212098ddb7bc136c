"""Shared code of normalizations: the variance, its root, and their mutants."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.engine.operators import Operator, check_one_of
from opcheck.errors import InvalidNode

#: What a warning says of both.
FOLDED = "where it is folded into x·a + b, or the variance E[x²] − E[x]², which cancels"
#: Of tensors with a batch axis and a channel axis.
RANKS = range(2, 64)


def fits(X: Any, ranks: Sequence[int], shape: Sequence[int], *operands: Any) -> None:
    """Raise InvalidNode unless X has one of the ranks, and each operand the shape."""
    if X.ndim not in ranks or any(tuple(x.shape) != tuple(shape) for x in operands):
        raise InvalidNode(f"operands of shapes {[list(x.shape) for x in (X, *operands)]}")


def scaled(x: Any, mean: Any, inverse: Any, scale: Any, B: Any) -> Any:
    """`x` normalized, scaled and shifted."""
    return (x - mean) * inverse * scale + B


def folded(x: Any, mean: Any, inverse: Any, scale: Any, B: Any) -> Any:
    """The same in one product and one sum."""
    return x * (inverse * scale) + (B - mean * (inverse * scale))


def stashed(x: Any, stash_type: int, *allowed: int) -> Any:
    """`x` in the type that stage one is computed in, by its number in ONNX's TensorProto."""
    check_one_of("stash_type", stash_type, *allowed)
    stash = dtypes.named(stash_type)
    assert stash
    return xp.astype(x, stash.numpy, computes=True)


def mean_square(x: Any, axes: Sequence[int]) -> Any:
    """The mean of the squares."""
    return xp.mean(x * x, axis=axes, keepdims=True)


def variance(x: Any, axes: Sequence[int]) -> Any:
    """The mean square of the deviations from the mean."""
    return mean_square(x - xp.mean(x, axis=axes, keepdims=True), axes)


def cancelling(x: Any, axes: Sequence[int]) -> Any:
    """The variance as E[x²] − E[x]², which cancels, but not to less than 0."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    return xp.maximum(mean_square(x, axes) - mean * mean, 0.0)


def two_pass(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """1 over the standard deviation, from the deviations from the mean, as the texts say."""
    return 1 / xp.sqrt(variance(x, axes) + epsilon)


def one_pass(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """1 over the standard deviation, from E[x²] − E[x]², which cancels."""
    # No more than 1/√ε and its roundings, however far the spread may be off.
    most = 1.001 / math.sqrt(epsilon) if epsilon > 0 else math.inf
    return xp.clip(1 / xp.sqrt(cancelling(x, axes) + epsilon), 0.0, most)


def unbiased(x: Any, axes: Sequence[int], of: Callable[..., Any] = variance) -> Any:
    """What `of` makes, as it is where it divides by one less than the number of elements."""
    count = prod(x.shape[axis] for axis in axes)
    return of(x, axes) * (count / max(1, count - 1))


UNBIASED = "the variance was divided by one less than the number of elements"
#: From what makes the variance, whose place it takes.
MUTANTS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "epsilon_after_the_root": ("epsilon was added after the root",
        lambda of, x, axes, epsilon: 1 / (xp.sqrt(of(x, axes)) + epsilon)),
    "epsilon_as_floor": ("epsilon was the least that the variance could be",
        lambda of, x, axes, epsilon: 1 / xp.sqrt(xp.maximum(of(x, axes), epsilon))),
    "unbiased": (UNBIASED, lambda of, x, axes, epsilon: (
        1 / xp.sqrt(unbiased(x, axes, of) + epsilon))),
    "mean_square": ("the mean square stood for the variance, as in RMSNormalization",
        lambda of, x, axes, epsilon: 1 / xp.sqrt(mean_square(x, axes) + epsilon)),
}  # fmt: skip


def of_root(op: Operator, by: Callable[..., Any], of: Callable[..., Any], *without: str) -> None:
    """Declare mutants of `by`, as in `by_deviation`, where `of` makes the variance."""
    for name in (name for name in MUTANTS if name not in without):
        text, root = MUTANTS[name]
        op.mutant(text, name=name, by=by)(partial(root, of))


def by_deviation(op: Operator, by: Callable[..., Any], remark: str) -> None:
    """Declare the formula, its mutants, and what is also honest, with this `remark`.

    `by` makes a formula of each version from `inverse(x, axes, epsilon)`: 1 over the standard
    deviation of `x` along `axes`, which it keeps, with `epsilon` added to the variance. Where it
    `computes`, stage two is computed in the type of X.
    """
    op.formula(by=by)(two_pass)
    literal = partial(by, computes=True)  # as the texts have it, also for types of 16 bits
    op.also_honest("", by=literal)(two_pass)
    op.also_honest(remark, by=literal)(one_pass)
    of_root(op, by, variance)

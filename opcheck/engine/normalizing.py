"""Shared code of normalizations: the variance, its root, and their mutants."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from opcheck import dtypes
from opcheck import numbers as xp
from opcheck.engine.operators import FLUSHED, Operator
from opcheck.errors import InvalidNode


def stashed(x: Any, stash_type: int, *allowed: int) -> Any:
    """`x` in the type that stage one is computed in, by its number in ONNX's TensorProto."""
    stash = dtypes.named(stash_type)
    if stash is None or stash_type not in allowed:
        numbers = ", ".join(map(str, allowed))
        raise InvalidNode(f"stash_type {stash_type}; allowed: {numbers}, which are floats")
    return xp.astype(x, stash.numpy, computes=True)


def variance(x: Any, axes: Sequence[int]) -> Any:
    """The mean square of the deviations from the mean."""
    d = x - xp.mean(x, axis=axes, keepdims=True)
    return xp.mean(d * d, axis=axes, keepdims=True)


def two_pass(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """1 over the standard deviation, from the deviations from the mean, as the texts say."""
    return 1 / xp.sqrt(variance(x, axes) + epsilon)


def one_pass(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    """1 over the standard deviation, from E[x²] − E[x]², which cancels."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    spread = xp.mean(x * x, axis=axes, keepdims=True) - mean * mean
    # No more than 1/√ε and its roundings, however far the spread may be off.
    most = 1.001 / math.sqrt(epsilon) if epsilon > 0 else math.inf
    return xp.clip(1 / xp.sqrt(xp.maximum(spread, 0.0) + epsilon), 0.0, most)


def _unbiased(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    count = prod(x.shape[axis] for axis in axes)
    return 1 / xp.sqrt(variance(x, axes) * (count / max(1, count - 1)) + epsilon)


MUTANTS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "epsilon_after_the_root": ("epsilon was added after the root",
        lambda x, axes, epsilon: 1 / (xp.sqrt(variance(x, axes)) + epsilon)),
    "epsilon_as_floor": ("epsilon was the least that the variance could be",
        lambda x, axes, epsilon: 1 / xp.sqrt(xp.maximum(variance(x, axes), epsilon))),
    "unbiased": ("the variance was divided by one less than the number of elements", _unbiased),
    "mean_square": ("the mean square stood for the variance, as in RMSNormalization",
        lambda x, axes, epsilon: 1 / xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + epsilon)),
}  # fmt: skip


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
    op.mutant_table(MUTANTS, by=by)
    op.equivalent("invalid_epsilon_is_0_or_1", "no epsilon is invalid")
    op.equivalent(*FLUSHED)

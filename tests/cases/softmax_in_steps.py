"""Softmax in NumPy, and what is done with its steps that is no mutant.

`LIBERTIES` are what the shipped suite must not mind, and `LAPSES` what it warns of. `lying` makes
a backend of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck.backends.base import Backend
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import AnswerFunction
from opcheck.errors import InvalidNode
from opcheck.model import Array
from tests import inline

#: The rows, or one number for each, in the type that is computed in.
Matrix: TypeAlias = Any


def lying(answer: AnswerFunction) -> Backend:
    """A backend that answers so."""
    return inline.lying(Mutant("", "", answer))


def wide(x: Array) -> Matrix:
    return x if x.dtype == np.float64 else x.astype(np.float32)


def maximum(x: Matrix) -> Matrix:
    return x.max(axis=1, keepdims=True)


def total(e: Matrix) -> Matrix:
    return e.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Steps:
    """What is done at each step; the defaults are right.

    `wide` makes the numbers computed with. `exp` of each less the maximum of its row is divided by
    their `sum`, unless `shares` does it all. `narrow` makes numbers of the output's dtype.
    """

    wide: Callable[[Array], Matrix] = wide
    exp: Callable[[Matrix], Matrix] = np.exp
    sum: Callable[[Matrix], Matrix] = total
    shares: Callable[[Steps, Matrix], Matrix] | None = None
    narrow: Callable[[Matrix, np.dtype[Any]], Array] = lambda y, dtype: y.astype(dtype)

    def __call__(self, node: Node) -> tuple[Array]:
        """The output; raises InvalidNode for what the specification forbids."""
        assert node.right
        (x,) = node.given
        if not x.size:
            return (x.copy(),)
        since, shape = node.op.since, x.shape
        axis: Any = node.attrs.get("axis", -1 if since == 13 else 1)
        end = axis % x.ndim + 1 if since == 13 else x.ndim
        parted = x.reshape(-1, prod(shape[axis % x.ndim : end]), prod(shape[end:])).swapaxes(1, 2)
        with np.errstate(all="ignore"):
            matrix = self.wide(parted.reshape(-1, parted.shape[2]))
            made = self.shares(self, matrix) if self.shares else self.normalised(matrix)
            y = self.narrow(made, x.dtype)
        return (y.reshape(parted.shape).swapaxes(1, 2).reshape(shape),)

    def normalised(self, matrix: Matrix) -> Matrix:
        e = self.exp(matrix - maximum(matrix))
        return e / self.sum(e)


def _log_of_the_sum(steps: Steps, x: Matrix) -> Matrix:
    d = x - maximum(x)
    return np.exp(d - np.log(total(np.exp(d))))


def _online(steps: Steps, x: Matrix) -> Matrix:
    """One pass for maximum and sum, rescaled at each new maximum; no -inf is taken from another."""
    so_far = np.maximum.accumulate(x, axis=1)
    base = np.where(np.isneginf(so_far), x.dtype.type(0), so_far)
    top = maximum(x)
    return np.exp(x - top) / total(np.exp(x - base) * np.exp(so_far - top))


def _nan_at_infinity(steps: Steps, x: Matrix) -> Matrix:
    """NaN where an element is +inf, and 0 beside it."""
    infinite: Any = np.isposinf(x)
    split = infinite.any(axis=1, keepdims=True) & ~np.isnan(x).any(axis=1, keepdims=True)
    return np.where(split, np.where(infinite, np.nan, 0), steps.normalised(x)).astype(x.dtype)


def _flushed(y: Matrix, dtype: np.dtype[Any]) -> Array:
    near = y.astype(dtype)
    if dtype == np.float16:
        return near
    return np.where(near < ml_dtypes.finfo(dtype).smallest_normal, dtype.type(0), near)


def _negative_zeros(answer: AnswerFunction) -> AnswerFunction:
    return lambda node: [np.where(out == 0, -0.0, out).astype(out.dtype) for out in answer(node)]


#: Permitted, or not decided by the text: no case may fail for these, nor warn.
LIBERTIES: dict[str, AnswerFunction] = {
    "none": Steps(),
    "one_after_the_other": Steps(sum=lambda e: np.cumsum(e, axis=1, dtype=e.dtype)[:, -1:]),
    "logarithm_of_the_sum": Steps(shares=_log_of_the_sum),
    "online": Steps(shares=_online),
    "nan_at_infinity_and_no_subnormals": _negative_zeros(
        Steps(shares=_nan_at_infinity, narrow=_flushed)
    ),
}


def _of_any_type(answer: AnswerFunction) -> AnswerFunction:
    """Types that the version lacks are taken for float32."""

    def lenient(node: Node) -> Any:
        (x,) = node.inputs
        try:
            return answer(node)
        except InvalidNode:
            as_float = replace(node, inputs=(x.astype(np.float32),))
            return [out.astype(x.dtype) for out in answer(as_float)]

    return lenient


def _no_share_beside_minus_infinity(steps: Steps, x: Matrix) -> Matrix:
    return np.where(np.isneginf(maximum(x)), x.dtype.type(0), steps.normalised(x))


def _log_sum_exp(steps: Steps, x: Matrix) -> Matrix:
    """The logarithm of the sum is added to the maximum before it is taken away."""
    top = maximum(x)
    return np.exp(x - (top + np.log(total(np.exp(x - top)))))


def _kept_in_the_type(steps: Steps, x: Matrix) -> Matrix:
    """The exponentials are stored in the tensor's type and read back."""
    d = wide(x)
    e = wide(np.exp(d - maximum(d)).astype(x.dtype))
    return e / total(e)


#: Only `should` speaks against these, or the bound tolerates them with a remark.
LAPSES: dict[str, AnswerFunction] = {
    "integers_accepted_and_no_share_beside_minus_infinity": _of_any_type(
        Steps(shares=_no_share_beside_minus_infinity)
    ),
    "raw_log_sum_exp_taken_away": Steps(shares=_log_sum_exp),
    "exponentials_kept_in_the_type": Steps(wide=lambda x: x, shares=_kept_in_the_type),
    "computed_in_the_type": Steps(wide=lambda x: x),
}

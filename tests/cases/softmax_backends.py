"""Softmax computed in several ways by the tests, none of which is a mutant of the product's.

`LIBERTIES` are what the shipped suite must not mind, `LAPSES` what it warns of, and `NUDGES` are
errors without a cause, as small as the error bound has to see. `lying` makes a backend of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.engine.axes import by_rows
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.mutant import Answer
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array, Question, Task
from tests.miniatures import Fake

#: Shares along an axis, of float32 for types of 16 bits, with the tensor's own type.
Shares = Callable[[Array, int, Any], Array]


def node_of(task: Task, inputs: Any) -> Node:
    return Node(task.op, tuple(task.operands(inputs)), task.attrs)


def asked(question: Question) -> Node:
    return node_of(question.task, question.inputs)


def lying(answer: Answer) -> Fake:
    """A backend that answers so."""
    prepared = lambda task: lambda inputs: list(answer(node_of(task, inputs)))  # noqa: E731
    return Fake(prepared, documented_errors=(InvalidNode,))


def by(shares: Shares) -> Answer:
    """The answers of who computes these shares."""

    def answer(node: Node) -> Any:
        own = node.given[0].dtype
        return evaluate(node, by_rows(lambda x, axis: shares(x, axis, own))[node.op.since])

    return answer


def maximum(x: Any, axis: int) -> Any:
    return x.max(axis=axis, keepdims=True)


def total(x: Any, axis: int) -> Any:
    return x.sum(axis=axis, keepdims=True)


def plain(x: Any, axis: int, own: Any) -> Any:
    e = np.exp(x - maximum(x, axis))
    return e / total(e, axis)


# ── other ways that are right ─────────────────────────────────────────────────────────────────


def _one_after_the_other(x: Any, axis: int, own: Any) -> Any:
    e = np.exp(x - maximum(x, axis))
    return e / np.take(np.cumsum(e, axis=axis, dtype=e.dtype), [-1], axis=axis)


def _log_of_the_sum(x: Any, axis: int, own: Any) -> Any:
    d = x - maximum(x, axis)
    return np.exp(d - np.log(total(np.exp(d), axis)))


def _online(x: Any, axis: int, own: Any) -> Any:
    """One pass for maximum and sum, rescaled at each new maximum; no -inf is taken from another."""
    so_far = np.maximum.accumulate(x, axis=axis)
    base = np.where(np.isneginf(so_far), x.dtype.type(0), so_far)
    top = maximum(x, axis)
    return np.exp(x - top) / total(np.exp(x - base) * np.exp(so_far - top), axis)


def _nan_at_infinity(x: Any, axis: int, own: Any) -> Any:
    """NaN where an element is +inf, and 0 beside it; no subnormal numbers of the tensor's type."""
    infinite: Any = np.isposinf(x)
    split = infinite.any(axis=axis, keepdims=True) & ~np.isnan(x).any(axis=axis, keepdims=True)
    y = np.where(split, np.where(infinite, np.nan, 0), plain(x, axis, own)).astype(x.dtype)
    smallest = 0 if own == np.float16 else ml_dtypes.finfo(own).smallest_normal
    return np.where(y < smallest, 0, y).astype(x.dtype)


def _negative_zeros(answer: Answer) -> Answer:
    return lambda node: [np.where(out == 0, -0.0, out).astype(out.dtype) for out in answer(node)]


#: Permitted, or not decided by the text: no case may fail for these, nor warn.
LIBERTIES: dict[str, Answer] = {
    "none": by(plain),
    "one_after_the_other": by(_one_after_the_other),
    "logarithm_of_the_sum": by(_log_of_the_sum),
    "online": by(_online),
    "nan_at_infinity_and_no_subnormals": _negative_zeros(by(_nan_at_infinity)),
}

# ── what is tolerated ─────────────────────────────────────────────────────────────────────────


def _of_any_type(answer: Answer) -> Answer:
    """Types that the version lacks are taken for float32."""

    def lenient(node: Node) -> Any:
        try:
            return answer(node)
        except InvalidNode:
            x = node.given[0]
            as_float = replace(node, inputs=(x.astype(np.float32),))
            return [out.astype(x.dtype) for out in answer(as_float)]

    return lenient


def _no_share_beside_minus_infinity(x: Any, axis: int, own: Any) -> Any:
    masked = np.isneginf(maximum(x, axis))
    return np.where(masked, x.dtype.type(0), plain(x, axis, own))


def _log_sum_exp(x: Any, axis: int, own: Any) -> Any:
    """The logarithm of the sum is added to the maximum before it is taken away."""
    top = maximum(x, axis)
    return np.exp(x - (top + np.log(total(np.exp(x - top), axis))))


def _kept_in_the_type(x: Any, axis: int, own: Any) -> Any:
    """The exponentials are stored in the tensor's type and read back."""
    e = np.exp(x - maximum(x, axis)).astype(own).astype(x.dtype)
    return e / total(e, axis)


def _computed_in_the_type(x: Any, axis: int, own: Any) -> Any:
    return plain(x.astype(own), axis, own).astype(x.dtype)


#: Only `should` speaks against these, or the bound tolerates them with a remark.
LAPSES: dict[str, Answer] = {
    "integers_accepted_and_no_share_beside_minus_infinity": _of_any_type(
        by(_no_share_beside_minus_infinity)
    ),
    "raw_log_sum_exp_taken_away": by(_log_sum_exp),
    "exponentials_kept_in_the_type": by(_kept_in_the_type),
    "computed_in_the_type": by(_computed_in_the_type),
}

# ── errors without a cause ────────────────────────────────────────────────────────────────────


def _each_share(change: Callable[[Any], Any]) -> Answer:
    """The right shares, changed afterwards; each row is the last axis."""

    def shares(x: Any, axis: int, own: Any) -> Any:
        rows = np.moveaxis(plain(x, axis, own), axis, -1)
        return np.moveaxis(change(rows), -1, axis).astype(x.dtype)

    return by(shares)


def _tiny_share_of_minus_infinity(x: Any, axis: int, own: Any) -> Any:
    d = x - maximum(x, axis)
    e = np.where(np.isneginf(d), d.dtype.type(1e-30), np.exp(d))
    return e / total(e, axis)


#: Wrong, for all that it is little.
NUDGES: dict[str, Answer] = {
    "1e-3_too_large": _each_share(lambda y: y * (1 + 1e-3)),
    "1e-5_too_small": _each_share(lambda y: y * (1 - 1e-5)),
    "3e-6_too_large": _each_share(lambda y: y * (1 + 3e-6)),
    "3e-6_up_and_down": _each_share(lambda y: y * (1 + 3e-6 * np.resize([1.0, -1.0], y.shape[-1]))),
    "at_least_1e-7": _each_share(lambda y: np.maximum(y, 1e-7)),
    "at_most_1_minus_1e-6": _each_share(lambda y: np.minimum(y, 1 - 1e-6)),
    "no_share_below_1e-6": _each_share(lambda y: np.where(y < 1e-6, 0, y)),
    "one_minus": _each_share(lambda y: 1 - y),
    "tiny_share_of_minus_infinity": by(_tiny_share_of_minus_infinity),
}

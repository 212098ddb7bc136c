"""Softmax divided by the wrong sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.engine.fewer_bits import rounded_to_bits
from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.engine.ops.softmax.steps import (
    WIDTHS,
    Matrix,
    Steps,
    axis_of,
    laid_out,
    maximum,
    total,
    whole_vectors,
)
from opcheck.model import Array


def _in_turn(dtype: Any) -> Steps:
    """Added up one after the other in `dtype`."""
    return Steps(sum=lambda e: np.add.accumulate(e.astype(dtype), axis=1)[:, -1:].astype(e.dtype))


def _plus(epsilon: float) -> Steps:
    return Steps(sum=lambda e: total(e) + e.dtype.type(epsilon))


def _of_whole_vectors(width: int) -> Steps:
    return Steps(sum=lambda e: total(whole_vectors(e, width)))


def _of_the_first(length: int) -> Steps:
    return Steps(sum=lambda e: total(e[:, :length]))


def _of_the_first_across_memory(length: int) -> Answer:
    """The same where a row does not lie along memory."""
    wrong, right = _of_the_first(length), Steps()

    def answer(node: Node) -> tuple[Array, ...]:
        *_, inner = laid_out(node.op.since, node.right[0].shape, axis_of(node))
        return (wrong if inner > 1 else right)(node)

    return answer


def _padded_to(width: int) -> Steps:
    """The last vector is filled up with zeros, each an element like any other."""

    def shares(steps: Steps, x: Matrix) -> Matrix:
        missing = -x.shape[1] % width
        if not missing:
            return steps.normalised(x)
        top = np.maximum(maximum(x), 0)
        e = np.exp(x - top)
        return e / (total(e) + missing * np.exp(-top))

    return Steps(shares=shares)


def _but_for(kept: Callable[[Matrix], Matrix]) -> Steps:
    """A sum of these; a single element is not left out."""
    return Steps(sum=lambda e: total(kept(e)) if e.shape[1] > 1 else e)


def _with_the_row_before(e: Matrix) -> Matrix:
    s = total(e)
    return s + np.concatenate([np.zeros_like(s[:1]), s[:-1]])


_LOST = dict.fromkeys(
    ("bfloat16", "float16", "float32"), "the sum is 1 or more, and in float32 this is lost beside 1"
)

#: Mistakes about what the exponentials are divided by.
SUMS: tuple[Mistake, ...] = (
    Mistake(
        "sum_across_the_rows",
        "the exponentials were added up across the rows, not along them",
        Steps(sum=lambda e: e.sum(axis=0, keepdims=True)),
    ),
    Mistake(
        "no_sum",
        "the exponentials were not divided by their sum",
        Steps(sum=lambda e: np.ones_like(e[:, :1])),
    ),
    Mistake(
        "sum_is_the_mean",
        "the exponentials were divided by their mean",
        Steps(sum=lambda e: total(e) / e.shape[1]),
    ),
    Mistake(
        "sum_is_a_norm",
        "the exponentials were divided by their Euclidean norm",
        Steps(sum=lambda e: np.sqrt(total(e * e))),
    ),
    Mistake(
        "sum_without_the_last",
        "the last element of each row was left out of the sum",
        _but_for(lambda e: e[:, :-1]),
    ),
    Mistake(
        "sum_without_the_first",
        "the first element of each row was left out of the sum",
        _but_for(lambda e: e[:, 1:]),
    ),
    *(
        Mistake(
            f"sum_of_{length}_elements",
            f"only the first {length} elements of each row were added up",
            _of_the_first(length),
        )
        for length in (4096, 1024)
    ),
    *(
        Mistake(
            f"sum_of_{length}_elements_across_memory",
            f"of a row across memory only the first {length} elements were added up",
            _of_the_first_across_memory(length),
            dict.fromkeys(("1", "11"), "the elements of a row lie side by side in memory"),
        )
        for length in (256, 64, 16)
    ),
    Mistake(
        "sum_of_the_row_before_added",
        "the sum was not reset between rows",
        Steps(sum=_with_the_row_before),
    ),
    *(
        Mistake(
            f"sum_of_whole_vectors_of_{width}",
            f"the sum left out what remains after the last whole vector of {width}",
            _of_whole_vectors(width),
        )
        for width in WIDTHS
    ),
    *(
        Mistake(
            f"sum_padded_to_vectors_of_{width}",
            f"the last vector of {width} was filled up with zeros, and they were added up too",
            _padded_to(width),
        )
        for width in WIDTHS
    ),
    Mistake("sum_in_float16", "the sum was taken in float16", _in_turn(np.float16)),
    Mistake("sum_in_bfloat16", "the sum was taken in bfloat16", _in_turn(ml_dtypes.bfloat16)),
    Mistake(
        "sum_in_float32",
        "the sum was taken in float32",
        _in_turn(np.float32),
        dict.fromkeys(("bfloat16", "float16", "float32"), "float32 is what it is expected in"),
    ),
    Mistake("sum_plus_1e-5", "1e-5 was added to the sum", _plus(1e-5)),
    Mistake("sum_plus_1e-6", "1e-6 was added to the sum", _plus(1e-6)),
    Mistake(
        "sum_plus_epsilon",
        "FLT_EPSILON, 1.2e-7, was added to the sum",
        _plus(2.0**-23),
        dict.fromkeys(
            ("bfloat16", "float16"),
            "these are 2 roundoffs of float32, and the error bound has 4 where a division needs 1",
        ),
    ),
    Mistake("sum_plus_1e-8", "1e-8 was added to the sum", _plus(1e-8), _LOST),
    Mistake("sum_plus_1e-12", "1e-12 was added to the sum", _plus(1e-12), _LOST),
    Mistake(
        "reciprocal_of_12_bits",
        "the reciprocal of the sum was estimated to 12 bits, and not refined",
        Steps(sum=lambda e: 1 / rounded_to_bits(1 / total(e), 12)),
    ),
)

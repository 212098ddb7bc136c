"""Softmax in every arithmetic that the specification leaves free: all of these are right."""

from functools import partial

import numpy as np

from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import Array
from tests.bounds.softmax import algorithms as way
from tests.bounds.softmax.algorithms import Softmax

_WRONG_BY_4_ULP: dict[str, ar.Signs] = {
    "up": ar.upwards,
    "down": ar.downwards,
    "alternating": ar.alternating,
    "zero against the rest": ar.zero_against_rest,
    "the rest against zero": ar.rest_against_zero,
    "by value": ar.by_value,
}

#: Right for every row.
HONEST: dict[str, Softmax] = {
    "sequential sum": way.quotient,
    "reversed sum": partial(way.quotient, add=ar.backwards),
    "pairwise sum": partial(way.quotient, add=ar.pairwise),
    **{f"sum in {n} lanes": partial(way.quotient, add=ar.lanes(n)) for n in (4, 8, 16, 32)},
    "sum in blocks of 128": partial(way.quotient, add=ar.blocks(128)),
    "compensated sum": partial(way.quotient, add=ar.kahan),
    "matrix product as sum": partial(way.quotient, add=ar.library),
    "computed in double": way.in_double,
    "reciprocal": way.reciprocal,
    "reciprocal by Newton": way.by_newton,
    "exp2 of the product": partial(way.quotient, exp=way.by_exp2),
    "one-constant reduction": partial(way.quotient, exp=way.by_one_constant),
    "exp(d − ln s)": way.by_log,
    "exp(d − ln s), log 4 ULP": partial(way.by_log, signs=ar.downwards),
    "exp2(d − log2 s)": way.by_log2,
    "online": way.online,
    "online, backwards": lambda x: way.online(x[:, ::-1])[:, ::-1],
    **{f"online in {n} lanes": partial(way.online, lanes=n) for n in (4, 32)},
    "online in 4 chunks": partial(way.online, lanes=4, chunked=True),
    **{f"blocks of {n}": partial(way.blockwise, size=n) for n in (4, 64)},
    "flush to zero": way.flushing,
    "early flush to zero": partial(way.flushing, times=2.0),
    "clamped exponent": partial(way.quotient, exp=way.clamped),
    **{
        f"exp 4 ULP {name}": partial(way.quotient, exp=ar.off_exp(signs))
        for name, signs in _WRONG_BY_4_ULP.items()
    },
    # The worst of several at once.
    "exp2 4 ULP, reversed, reciprocal": partial(
        way.reciprocal, exp=way.off_exp2(ar.by_value), add=ar.backwards
    ),
    "exp 4 ULP, flush to zero": partial(way.flushing, times=2.0, exp=ar.off_exp(ar.downwards)),
    "exp(d − ln s), exp 4 ULP up, log down": partial(
        way.by_log, exp=way.anchored(ar.off_exp(ar.upwards)), signs=ar.downwards
    ),
    "exp(d − ln s), exp 4 ULP down, log up": partial(
        way.by_log, exp=way.anchored(ar.off_exp(ar.downwards)), signs=ar.upwards
    ),
    "exp 4 ULP up, online": partial(way.online, exp=ar.off_exp(ar.upwards)),
    "exp2 4 ULP down, online": partial(way.online, exp=way.off_exp2(ar.downwards)),
    "exp 4 ULP, online in 4 lanes": partial(way.online, lanes=4, exp=ar.off_exp(ar.upwards)),
    "exp2 4 ULP, online in 32 lanes": partial(way.online, lanes=32, exp=way.off_exp2(ar.by_value)),
    "exp 4 ULP down, blocks of 16": partial(way.blockwise, size=16, exp=ar.off_exp(ar.downwards)),
    "exp2 4 ULP, blocks of 8": partial(way.blockwise, size=8, exp=way.off_exp2(ar.by_value)),
}

#: Right for rows of no larger numbers than these, the masks of -inf apart.
WITHIN: dict[str, tuple[Softmax, float]] = {
    "unshifted": (way.unshifted, 20.0),
    "unshifted, exp 4 ULP": (partial(way.unshifted, exp=ar.off_exp(ar.by_value)), 20.0),
    "prescaled": (way.prescaled, 8.0),
    "fused": (way.fused, 1e6),
    "fused, reversed sum": (partial(way.fused, add=ar.backwards), 1e6),
}

NAMES = (*HONEST, *WITHIN)

_COLUMN_BY_COLUMN = ("compensated sum", "online", "online, backwards")
_FOUR_AT_A_TIME = ("online in 4 lanes", "online in 4 chunks", "exp 4 ULP, online in 4 lanes")


def longest(name: str) -> int:
    """How long rows may be for the implementation to be quick here, in Python."""
    if name in _COLUMN_BY_COLUMN or name.endswith(", online"):
        return 1100
    return 4100 if name in _FOUR_AT_A_TIME else 100_000


def answer(name: str, x: Array) -> Array:
    """What the implementation makes of `x` (n, N), of any floating dtype, in that dtype.

    float32 inside for the 16-bit types. Rows that it is not right for are given to another one.
    """
    inside = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        if name in HONEST:
            return HONEST[name](inside).astype(x.dtype)
        run, limit = WITHIN[name]
        suits = (np.where(np.isneginf(inside), 0, np.abs(inside)) <= limit).all(axis=1)
        y = way.quotient(inside)
        y[suits] = run(inside[suits])
        return y.astype(x.dtype)

"""Softmax that is a little wrong, and on which rows each mistake shows.

Each takes rows (n, N) in float32 and returns float32. `SEEN` has, for each mistake and length of
the rows, the letters of `rows.LETTERS` that expose it: rows of equal numbers hide what is wrong
with exp, rows with one large number what is wrong with the sum.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from tests.bounds import arithmetic as ar
from tests.bounds.arithmetic import BFLOAT16, Array, Sum
from tests.bounds.softmax.algorithms import Exp, Softmax, quotient

Change: TypeAlias = Callable[[Array], Array]

TF32 = 11


def result(change: Change) -> Softmax:
    return lambda x: change(quotient(x, add=ar.pairwise)).astype(np.float32)


def scaled(by: float) -> Change:
    return lambda y: y * (1 + by)


def ripple(by: float) -> Change:
    return lambda y: y * (1 + by * ar.alternating(y))


def one_element(by: float, y: Array) -> Array:
    wrong = y.astype(np.float64)
    wrong[:, y.shape[1] // 2] *= 1 + by
    return wrong


def with_sum(add: Sum) -> Softmax:
    """A mistake in the sum alone."""
    return partial(quotient, add=add)


def with_exp(exp: Exp) -> Softmax:
    return partial(quotient, exp=exp, add=ar.pairwise)


def in_order(dtype: object) -> Softmax:
    """A running sum in a narrower type."""
    return with_sum(lambda e: ar.sequential(e.astype(dtype)).astype(e.dtype))


def plus(epsilon: float) -> Softmax:
    return with_sum(lambda e: ar.pairwise(e) + e.dtype.type(epsilon))


def exponent_of(bits: int) -> Softmax:
    return with_exp(lambda d: np.exp(ar.keep_bits(d, bits)))


def schraudolph(d: Array) -> Array:
    """e^d as a straight line between the powers of two, which the bits of a float give."""
    t = np.maximum(d / np.log(2), -1000.0)
    whole = np.floor(t)
    return np.ldexp(1 + t - whole, whole.astype(int)).astype(d.dtype)


def rippling(d: Array) -> Array:
    """exp with a relative error that waves up and down by 2^-20."""
    return np.exp(d) * (1 + 2.0**-20 * np.sin(37 * d)).astype(d.dtype)


def good_to(bits: int) -> Softmax:
    """exp that is off by 2^-bits, at some arguments upwards and at others downwards."""
    return with_exp(ar.off_exp(ar.by_value, roundoffs=2.0**-bits / ar.unit(np.float32)))


#: What is said of it.
RAW = "right only where the raw log-sum-exp is subtracted: not shift invariant"


def raw_log_sum_exp(x: Array) -> Array:
    """exp(x − (m + ln s)): the rounding of what is taken off grows with the offset of the row."""
    m = x.max(axis=-1, keepdims=True)
    return np.exp(x - (m + np.log(ar.pairwise(np.exp(x - m)))))


MUTANTS: dict[str, Softmax] = {
    **{f"{by:g} on all": result(scaled(by)) for by in (1e-3, 1e-4, 1e-5, 3e-6, 1.25e-6)},
    "sum + 1e-05": plus(1e-5),
    "sum + 1.25e-06": plus(1.25e-6),
    **{f"{by:g} alternating": result(ripple(by)) for by in (1e-4, 1e-5, 3e-6)},
    "1e-05 on one": result(partial(one_element, 1e-5)),
    **{f"exp good to 2^-{bits}": good_to(bits) for bits in (12, 16, 19)},
    "exp in float16": with_exp(lambda d: ar.through(np.float16)(np.exp(d))),
    "exp in bfloat16": with_exp(lambda d: ar.through(BFLOAT16)(np.exp(d))),
    "exponent in tf32": exponent_of(TF32),
    "exponent in bfloat16": exponent_of(8),
    "Schraudolph's exp": with_exp(schraudolph),
    "float16 running sum": in_order(np.float16),
    "bfloat16 running sum": in_order(BFLOAT16),
    "float16 pairwise sum": with_sum(
        lambda e: ar.pairwise(e.astype(np.float16)).astype(np.float32)
    ),
    "sum of tf32 terms": with_sum(lambda e: ar.pairwise(ar.keep_bits(e, TF32))),
    "reciprocal of 12 bits": with_sum(lambda e: 1 / ar.keep_bits(1 / ar.pairwise(e), 12)),
    "last element left out": with_sum(lambda e: ar.pairwise(e[:, :-1])),
    "exp(x - lse)": raw_log_sum_exp,
}

#: So small that near zero too they may be taken for what the raw log-sum-exp loses.
TINY = ("1.25e-06 on all", "sum + 1.25e-06", "exp(x - lse)")

LENGTHS = (2, 4, 16, 64, 512, 4096, 100_000)
_ALL, _BUT_E = "EUN1XDST", "UN1XDST"


def _row(*letters: str) -> dict[int, str]:
    """What is seen of a mistake, by length; the longest rows are for some mistakes only."""
    return dict(zip(LENGTHS, letters, strict=False))


SEEN: dict[str, dict[int, str]] = {
    "0.001 on all": _row(*[_ALL] * 6, "1XD"),
    "0.0001 on all": _row(*[_ALL] * 5, "1XD", "1X"),
    "1e-05 on all": _row(*[_ALL] * 4, "1XD", "1XD", "X"),
    "3e-06 on all": _row(*[_ALL] * 2, "N1XDS", "1XD", "XD", "X"),
    "1.25e-06 on all": _row("N1XDS", "1XD", "XD", "1X", "X", "X"),
    "sum + 1.25e-06": _row("N1XDS", "1XD", "XD", "1X", "X", "X"),
    "sum + 1e-05": _row(_ALL, _ALL, "N1XDST", "1XD", "1XD", "1XD"),
    **{f"{by} alternating": _row(*[_ALL] * 6) for by in ("0.0001", "1e-05")},
    "3e-06 alternating": _row(*[_ALL] * 7),
    "1e-05 on one": _row(*[_ALL] * 3, *["EUN1DST"] * 4),
    "exp good to 2^-12": _row(*[_BUT_E] * 6),
    "exp good to 2^-16": _row(*[_BUT_E] * 7),
    "exp good to 2^-19": _row("NS", "UN1S", "UN1S", "UNS", "UN1XS", "UN1S", "N1S"),
    "exp in float16": _row(*[_BUT_E] * 6),
    "exp in bfloat16": _row(*[_BUT_E] * 6),
    "exponent in tf32": _row(*[_BUT_E] * 6),
    "exponent in bfloat16": _row(*[_BUT_E] * 6),
    "Schraudolph's exp": _row(*[_BUT_E] * 6),
    "float16 running sum": _row("UN1ST", *["UN1XST"] * 4, "EUN1XST"),
    "bfloat16 running sum": _row("UN1ST", *["UN1XST"] * 3, *["EUN1XST"] * 2),
    "float16 pairwise sum": _row("UN1ST", "UN1XST", "UN1XS", "UN1XST", "UN1XST", "UN1XS"),
    "sum of tf32 terms": _row("UN1ST", "UN1ST", "UN1XST", "UN1XST", "1XT", "1X"),
    "reciprocal of 12 bits": _row("UN1ST", "UN1XST", *["UN1XDST"] * 3, "1XD"),
    "last element left out": _row(_ALL, "EUN1XST", "EUNST", "EUN1ST", "EUNST", "U"),
    "exp(x - lse)": _row("S", "XS", "XS", "S", "X", "X"),
}

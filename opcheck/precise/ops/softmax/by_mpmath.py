"""Elements of one row, each rounded correctly whatever that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from opcheck.precise.answer import Floats
from opcheck.precise.formats import Format
from opcheck.precise.multiprecision import DISTRUST, integers, precision
from opcheck.precise.rounding.one import rounded


def row(x: Floats, form: Format, at: Floats | None = None) -> tuple[Floats, Floats]:
    """The softmax of the row `x`, where its values are `at` or of all: numbers, distances in ULP.

    The numbers of `x` are finite or −inf, at least one is finite. Equal ones share the work.
    """
    wanted = (x if at is None else at).tolist()
    counts = Counter(value for value in x.tolist() if value != -np.inf)
    round_share = _equal(counts.total(), form) if len(counts) == 1 else _shares(counts, form)
    found = {
        # e^−inf is 0, and no numbers lie nearer to it than the smallest subnormal.
        value: (0.0, 0.5) if value == -np.inf else round_share(value)
        for value in set(wanted)
    }
    values, distances = zip(*(found[value] for value in wanted), strict=True)
    return np.array(values), np.array(distances)


def _shares(counts: Counter[float], form: Format) -> Callable[[float], tuple[float, float]]:
    """Rounds e^v / Σ n·e^w over w: n in `counts`, of which there are two or more.

    With t = max w, both e^(v − t) and the sum of e^(w − t), K terms of one sign, are computed from
    exact differences at a precision of q bits. Each power may be wrong by 2^(DISTRUST − q), each
    of the at most 2K + 1 other operations by 2^-q: by the relative error of the quotient,
    2^(DISTRUST + 1 − q) + (2K + 1)·2^-q at most, and q = bits + DISTRUST + 3 + log2 K holds that
    below 2^-bits.

    A share is never exactly a midpoint, nor any other rational number m: e^v = m·Σ n·e^w would be
    a relation with algebraic coefficients between powers of e to different rational exponents,
    and there is none but the trivial one (Lindemann and Weierstrass).
    """
    top = max(counts)

    @cache
    def powers(bits: int) -> tuple[dict[float, Any], Any]:
        with precision(bits) as mp:
            of = {value: mp.exp(mp.fsub(value, top, exact=True)) for value in counts}
            return of, sum(of[value] * count for value, count in counts.items())

    def round_share(value: float) -> tuple[float, float]:
        def approximation(bits: int) -> tuple[int, int]:
            enough = bits + DISTRUST + 3 + len(counts).bit_length()
            of, total = powers(enough)
            with precision(enough):
                return integers(of[value] / total)

        return rounded(approximation, lambda _: False, form)

    return round_share


def _equal(count: int, form: Format) -> Callable[[float], tuple[float, float]]:
    """Rounds 1 / `count`."""

    def approximation(bits: int) -> tuple[int, int]:
        # At least 2^bits, and what the division drops is less than 1.
        exponent = bits + count.bit_length()
        return (1 << exponent) // count, -exponent

    share = rounded(approximation, lambda midpoint: midpoint == Fraction(1, count), form)
    return lambda _: share

"""The norm of one window, rounded correctly whatever that takes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from opcheck.precise.answer import Floats
from opcheck.precise.formats import Format
from opcheck.precise.multiprecision import DISTRUST, integers, precision
from opcheck.precise.ops.lp_pool.ties import is_norm
from opcheck.precise.rounding.one import rounded


def norm(x: Floats, p: Fraction, form: Format) -> tuple[float, float]:
    """(Σ x^p)^(1/p) of `x` >= 0, as a number of `form` and its distance from a midpoint in ULP.

    `x` are finite numbers of `form`, p = a/2^k is at least 1. With q bits, d = DISTRUST and K
    numbers, first-order relative errors are, of

    - x^p, for an integer p: 2^(d − q). Otherwise e^(p·ln x), with |ln x| < 2^10: p·2^10 times that
      of ln x and the product, and that of exp: less than p·2^(d + 11 − q).
    - their sum, with multiplicities: 2K·2^-q more.
    - √S: half of that and 2^-q. For other p > 1 e^(ln S / p), with |ln S|/p < 2^10 + ln K: that of
      S over p, 2^10 + ln K times that of the logarithm and the quotient, and that of exp.

    All of it is below (2^(d + 13) + 4K)·2^-q, whatever p is, and below 2^-bits with
    q = bits + d + 15 + log2 K; as many bits as p has before its point keep the error of x^p itself
    small, so that what is of second order counts for nothing.
    """
    counts = Counter(value for value in x.tolist() if value)
    if counts.total() <= 1:
        return max(counts, default=0.0), 0.5

    def approximation(bits: int) -> tuple[int, int]:
        spare = DISTRUST + 15 + counts.total().bit_length() + int(p).bit_length()
        with precision(bits + spare) as mp:
            exponent = mp.mpf(p.numerator) / p.denominator
            if p.denominator == 1:
                powers = (mp.mpf(value) ** p.numerator * n for value, n in counts.items())
            else:
                powers = (mp.exp(exponent * mp.log(value)) * n for value, n in counts.items())
            total = sum(powers)
            if p == 1:
                return integers(total)
            if p == 2:
                return integers(mp.sqrt(total))
            return integers(mp.exp(mp.log(total) / exponent))

    return rounded(approximation, lambda y: is_norm(y, counts, p), form)

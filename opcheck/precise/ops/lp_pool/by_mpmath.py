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
    numbers, of which |ln x| < 2^10:

    - x^p has a relative error of 2^(d − q) for an integer p. Otherwise it is e^(p·ln x), where the
      exponent errs by less than p·2^(d + 11 − q), and exp by 2^(d − q).
    - Relative errors of S = Σ x^p are 2^(d − q) and, of sums and multiplicities, 2K·2^-q. What all
      exponents err by at most, ln S does at most, whatever it is.
    - √S has half of that and 2^-q. For other p > 1 the norm is e^(ln S / p). Its exponent errs by
      what ln S does, over p: less than 2^(d + 11 − q) + 2^(d − q) + 2K·2^-q; and, of the logarithm
      and the quotient, by (2^10 + ln K)·(2^d + 1)·2^-q. exp adds 2^(d − q).

    All of it is less than (2^(d + 13) + 4K)·2^-q, and with q = bits + d + 15 + log2 K less than
    2^-bits.
    """
    counts = Counter(value for value in x.tolist() if value)
    if not counts:
        return 0.0, 0.5

    def approximation(bits: int) -> tuple[int, int]:
        with precision(bits + DISTRUST + 15 + counts.total().bit_length()) as mp:
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

"""Numbers of about 106 bits: the unevaluated sum of two float64 values, in NumPy.

For platforms whose `longdouble` is nothing but float64. The algorithms are Dekker's and Knuth's;
they are exact where the text below says so, as long as nothing overflows or drops below the
smallest float64. So values have to lie within 2^-500 .. 2^900, or be 0: scale them by a power of
two. An infinity becomes NaN. NumPy's warnings are left to the caller's `errstate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from opcheck.engine.bounds import Floats

_Operand: TypeAlias = "Pair | Floats | float"

#: ln 2 in three parts; the first two have 40 bits, so that their products with a small integer
#: are exact.
_LN2 = tuple(
    map(
        float.fromhex,
        ("0x1.62e42fefa2000p-1", "0x1.9ef35793c6000p-41", "0x1.673007e5ed5e8p-81"),
    )
)


@dataclass(frozen=True, eq=False)
class Pair:
    """The numbers `high` + `low`, arrays of one shape, with |low| ≤ half an ULP of high.

    The four operations are good to about 2^-102 relative to the result (addition also where the
    operands cancel); the other operand may be a Pair, an array of float64 or a float.
    """

    high: Floats
    low: Floats

    #: NumPy's arrays shall not try to add a Pair to each of their elements.
    __array_ufunc__: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both parts."""
        return self.high.shape

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.high[index], self.low[index])

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low)

    def __add__(self, other: _Operand) -> Pair:
        other = _pair(other)
        high, low = two_sum(self.high, other.high), two_sum(self.low, other.low)
        first = _normalised(high.high, high.low + low.high)
        return _normalised(first.high, first.low + low.low)

    def __sub__(self, other: _Operand) -> Pair:
        return self + -_pair(other)

    def __mul__(self, other: _Operand) -> Pair:
        other = _pair(other)
        high = two_product(self.high, other.high)
        return _normalised(high.high, high.low + (self.high * other.low + self.low * other.high))

    def __truediv__(self, other: _Operand) -> Pair:
        other = _pair(other)
        first = self.high / other.high
        return _normalised(first, (self - other * first).high / other.high)

    def exp(self, exponent: int = 0) -> Pair:
        """e^self · 2^exponent, good to about 2^-98; 0 for -inf and where it is out of range.

        self = n·ln 2 + r; e^r is the 64th power of e^(r/64), whose power series is short. All but
        the last step works on e^r - 1, so that squaring does not cost digits.
        """
        # Beyond this everything is 0 or inf; NaN passes.
        high = np.clip(self.high, -3000.0, 3000.0)
        low = np.where(high == self.high, self.low, 0.0)
        n = np.rint(high / _LN2[0])
        r = two_sum(high, -n * _LN2[0]) + low - two_sum(n * _LN2[1], n * _LN2[2])
        power = _exp_minus_1(r * 2.0**-6)
        for _ in range(6):
            power = power * 2.0 + power * power
        return (power + 1.0)._shifted(n.astype(np.int32) + np.int32(exponent))

    def log(self) -> Pair:
        """The natural logarithm of numbers > 0, good to about 2^-98 of max(1, its size)."""
        mantissa, n = np.frexp(self.high)
        # One Newton step from float64's logarithm doubles its digits.
        first = np.log(mantissa)
        error = self._shifted(-n) * _pair(-first).exp() - 1.0
        return two_sum(n * _LN2[0], n * _LN2[1]) + n * _LN2[2] + first + error

    def sqrt(self) -> Pair:
        """The square root of numbers ≥ 0: one Newton step from float64's root."""
        root = np.sqrt(self.high)
        # A root of 0 needs no correction, and 0/0 is none.
        twice = np.where(root == 0, 1.0, 2.0 * root)
        return _normalised(root, (self - two_product(root, root)).high / twice)

    def power(self, p: float) -> Pair:
        """self^p for numbers ≥ 0 and p > 0: products where p is a small integer, else by log."""
        if p != int(p) or p > 64:
            result, zero = (self.log() * p).exp(), self.high == 0
            return Pair(np.where(zero, 0.0, result.high), np.where(zero, 0.0, result.low))
        result = self
        for bit in bin(int(p))[3:]:
            result = result * result
            if bit == "1":
                result = result * self
        return result

    def total(self) -> Pair:
        """The sum over the last axis, which is kept with size 1, added in pairs."""
        left = self
        while left.shape[-1] > 1:
            half = left.shape[-1] // 2
            pairs = left[..., :half] + left[..., half : 2 * half]
            odd = left[..., 2 * half :]
            left = Pair(
                np.concatenate([pairs.high, odd.high], axis=-1),
                np.concatenate([pairs.low, odd.low], axis=-1),
            )
        return left

    def split(self, exponent: Any = 0) -> tuple[Floats, Floats]:
        """self · 2^exponent: the nearest float64, also where that is subnormal, and the rest."""
        values = np.ldexp(self.high, exponent)
        # A subnormal has lost digits. Where those are exactly half a step, the least `low` decides
        # which way to round. Infinity has lost everything and stays.
        lost = np.where(np.isinf(values), 0.0, self.high - np.ldexp(values, -exponent))
        more = np.nextafter(lost, np.where(self.low > 0, np.inf, -np.inf))
        more = np.where((lost + self.low == lost) & (self.low != 0), more, lost + self.low)
        values = np.where(lost != 0, values + np.ldexp(more, exponent), values)
        whole = (lost == 0) & np.isfinite(values)
        return values, np.where(whole, np.ldexp(self.low, exponent), 0.0)

    def _shifted(self, exponent: Any) -> Pair:
        return Pair(np.ldexp(self.high, exponent), np.ldexp(self.low, exponent))


def two_sum(a: Floats, b: Floats) -> Pair:
    """a + b, exactly: the rounded sum and its rounding error."""
    high = a + b
    of_b = high - a
    return Pair(high, (a - (high - of_b)) + (b - of_b))


def two_product(a: Floats, b: Floats) -> Pair:
    """a · b, exactly: the rounded product and its rounding error."""
    high = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return Pair(high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2)


def _exp_minus_1(r: Pair) -> Pair:
    """e^r - 1 for |r| < 0.0055: r + r²/2 + … + r^11/11!.

    Terms from r^6/6! on add less than 2^-46 of the result, so float64 suffices for them.
    """
    tail = np.zeros_like(r.high)
    for factorial in (39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0):
        tail = tail * r.high + 1.0 / factorial
    series = Pair(tail, np.zeros_like(tail))
    one = np.ones_like(tail)
    for factorial in (120.0, 24.0, 6.0, 2.0, 1.0):
        series = series * r + _inverse(factorial, one)
    return series * r


def _inverse(number: float, one: Floats) -> Pair:
    return Pair(one, 0.0 * one) / number


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Two numbers of at most 26 bits that add up to `a`."""
    spread = 134217729.0 * a  # 2^27 + 1
    first = spread - (spread - a)
    return first, a - first


def _normalised(a: Floats, b: Floats) -> Pair:
    """a + b, exactly, where |b| ≤ |a| or a = 0."""
    high = a + b
    return Pair(high, b - (high - a))


def _pair(number: _Operand) -> Pair:
    if isinstance(number, Pair):
        return number
    high = np.asarray(number, dtype=np.float64)
    return Pair(high, np.zeros_like(high))

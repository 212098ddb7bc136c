"""Many norms at once; of some it is said that they lie too near to a midpoint."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from opcheck.precise import double_double as dd
from opcheck.precise.answer import Floats, Ints
from opcheck.precise.formats import Format
from opcheck.precise.rounding import many

#: Numbers y · 2^k; where the double-double y is 0, k is `_NOTHING`.
Scaled: TypeAlias = tuple[dd.DoubleDouble, Ints]
_NOTHING = -(2**40)
#: Below 2^-_FAR times the largest of its window, a power is dropped from the sum.
_FAR = 300


class ByDoubleDouble:
    """Norms for one p, 1 <= p < 2^16, which has at most 24 bits, of `numbers` >= 0.

    The relative error of a norm over K numbers is at most (128 + 24·levels(K)) · u². In u², with
    L = levels(K) and |x| = m · 2^e, 1 <= m < 2:

    - p = 1 and p = 2: |x|^p is exact, its sum has 4L, the root 2L and 4 more.
    - else |x|^p = 2^⌊pe⌋ · e^A, A = p·ln m + (pe − ⌊pe⌋)·ln 2; pe is exact, having 24 + 11 bits.
      Absolute errors of A: of ln m 8p; of the product 2p·ln 2; of the second term 3; of the sum
      4·ln 2·(p + 1); in all less than 20p. With e^A, |A| < 2^16 (8, and 4 for its table): 32p.
    - S = Σ |x|^p: 32p + 4L. Let S = s · 2^k, 1 <= s <= 2, the largest power's exponent k'
      included, and k' = ⌊k'/p⌋·p + r. The norm is 2^⌊k'/p⌋ · e^B, B = (ln s + (k − k' + r)·ln 2)/p,
      where k − k' <= L + 1 and r <= p. Absolute errors of the numerator: of ln s, 8 and what S has;
      of the product, 3·ln 2·(L + 1 + p); of the sum, 4·ln 2·(L + 2 + p): in all less than
      37p + 9L + 16. Divided by p: 53 + 9L, and 16·|B| < 12·(L + 3) for the division. e^B: 12.
      That is 101 + 21L.

    Products of these errors are less than what is left, and so is what is dropped from a sum, less
    than K · 2^-300 of it.
    """

    def __init__(self, numbers: Floats, p: float, form: Format) -> None:
        """`numbers`, of shape [elements, channels]; one that is not finite counts as 0."""
        self._p, self._form = p, form
        self._high, self._low = np.empty(numbers.shape), np.empty(numbers.shape)
        self._scale = np.empty(numbers.shape, np.int64)
        rows = max(1, dd.PIECE // numbers.shape[1])
        for start in range(0, len(numbers), rows):
            piece = slice(start, start + rows)
            finite = np.where(np.isfinite(numbers[piece]), numbers[piece], 0.0)
            (self._high[piece], self._low[piece]), self._scale[piece] = self._powers(finite)

    def norms(self, at: Ints, channels: slice) -> many.Rounded:
        """The norms of windows over some `channels`, as arrays of shape [windows, channels].

        `at`, of shape [K, windows], says which elements a window has.
        """
        high, low, scale = (part[at, channels] for part in (self._high, self._low, self._scale))
        largest = scale.max(axis=0)
        down = scale - largest
        near = down >= -_FAR
        terms = [
            np.where(near, np.ldexp(part, np.maximum(down, -_FAR)), 0.0) for part in (high, low)
        ]
        sums, exact = dd.watched_total((terms[0], terms[1]))
        exact &= (near | (high == 0)).all(axis=0) & (self._p == 1)
        empty = largest == _NOTHING
        (y, rest), k = self._root(
            (np.where(empty, 1.0, sums[0]), sums[1]), np.where(empty, 0, largest)
        )
        y, rest = np.where(empty, 0.0, y), np.where(empty, 0.0, rest)
        error = (128 + 24 * dd.levels(len(at))) * dd.U**2
        return many.rounded((y, rest), k, error, self._form, exact)

    def _powers(self, x: Floats) -> Scaled:
        """x^p."""
        digits, exponent = np.frexp(x)
        m, e = np.where(x == 0, 1.0, 2 * digits), exponent.astype(np.int64) - 1
        if self._p == 1:
            power, scale = (m, np.zeros_like(m)), e
        elif self._p == 2:
            power, scale = dd.two_product(m, m), 2 * e
        else:
            whole = np.floor(e * self._p)
            inner = dd.times(dd.logarithm((m, np.zeros_like(m))), np.full_like(m, self._p))
            power, scale = dd.exponential(dd.add(inner, _times_ln2(e * self._p - whole)))
            scale = scale + whole.astype(np.int64)
        high, low = (np.where(x == 0, 0.0, part) for part in power)
        return (high, low), np.where(x == 0, _NOTHING, scale)

    def _root(self, s: dd.DoubleDouble, scale: Ints) -> Scaled:
        """(s · 2^scale)^(1/p) for s > 0."""
        if self._p == 1:
            return s, scale
        if self._p == 2:
            return dd.square_root(s), scale // 2
        whole = np.floor(scale / self._p)
        digits, exponent = np.frexp(s[0])
        inner = dd.logarithm((2 * digits, np.ldexp(s[1], 1 - exponent)))
        outer = _times_ln2(exponent - 1 + (scale - whole * self._p))
        p = np.full_like(digits, self._p)
        power, k = dd.exponential(dd.divide(dd.add(inner, outer), (p, np.zeros_like(p))))
        return power, k + whole.astype(np.int64)


def _times_ln2(x: Floats) -> dd.DoubleDouble:
    """x · ln 2."""
    high, low = dd.ln2()
    return dd.times((np.full_like(x, high), np.full_like(x, low)), x)

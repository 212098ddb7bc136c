"""Whether a norm is exactly a given rational number, decided in integers."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

#: A prime, 2^127 − 1.
_PRIME = (1 << 127) - 1


def is_norm(y: Fraction, counts: Counter[float], p: Fraction) -> bool:
    """Whether y = (Σ n·x^p)^(1/p) exactly, over x: n in `counts`, all positive, p = a/2^k >= 1.

    Divided by the largest x, the question is whether w^a = Σ n·t^a, where w and the t are the
    2^k-th roots of y and the x after that division, all positive. If all of these roots are
    rational, integers tell. Otherwise the answer is no: group the radicals w^a and t^a, each the
    2^k-th root of a rational number, by which have a rational ratio. Radicals of different groups
    are linearly independent over the rational numbers (Besicovitch 1940, Mordell 1953). The
    largest x has t = 1, so the group of 1 does not vanish on the right; an equality needs w^a in
    that group, and no other group on the right, where all coefficients are positive. And if w^a is
    rational, so is w, as both w^a and w^(2^k) are and a is odd; likewise t. (k = 0: they are.)

    Integers are compared modulo a prime first: where powers are huge, they differ.
    """
    top = Fraction(max(counts))
    order = p.denominator
    root = _root(y / top, order)
    roots = {x: _root(Fraction(x) / top, order) for x in counts}
    if root is None or None in roots.values():
        return False
    known = {x: t for x, t in roots.items() if t is not None}
    common = math.lcm(root.denominator, *(t.denominator for t in known.values()))
    whole = int(root * common)
    wholes = {int(t * common): counts[x] for x, t in known.items()}
    left = pow(whole, p.numerator, _PRIME)
    right = sum(n * pow(t, p.numerator, _PRIME) for t, n in wholes.items()) % _PRIME
    if left != right:
        return False
    return bool(whole**p.numerator == sum(n * t**p.numerator for t, n in wholes.items()))


def _root(x: Fraction, order: int) -> Fraction | None:
    """The root of x > 0 of an order 2^k, None where it is not rational."""
    while order > 1:
        top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
        if (top * top, bottom * bottom) != (x.numerator, x.denominator):
            return None
        x, order = Fraction(top, bottom), order // 2
    return x

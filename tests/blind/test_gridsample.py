"""GridSample as its text says, against the engine."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from opcheck.dtypes import of as dtype_of
from tests.blind.by_the_text import Forbidden, Open, differences

MODES = {
    16: {"bilinear": 1, "nearest": 0, "bicubic": 3},
    20: {"linear": 1, "nearest": 0, "cubic": 3},
    22: {"linear": 1, "nearest": 0, "cubic": 3},
}


def reflected(at: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Reflect a location by both borders until it is in bound."""
    span = high - low
    if span == 0:
        return low
    away = (at - low) % (2 * span)
    return low + (away if away <= span else 2 * span - away)


class Axis:
    """One spatial dimension of the input, of `size` pixels."""

    def __init__(self, size: int, aligned: bool, padding: str) -> None:
        self.size, self.aligned, self.padding = size, aligned, padding
        half = Fraction(0) if aligned else Fraction(1, 2)
        self.low, self.high = -half, size - 1 + half

    def inside(self, at: Fraction) -> Fraction:
        """A location as the padding mode sees it."""
        if self.padding == "border":
            return min(max(at, Fraction(0)), Fraction(self.size - 1))
        return reflected(at, self.low, self.high) if self.padding == "reflection" else at

    def pixel(self, index: int) -> int | None:
        """The pixel that an index means, None where it is a 0."""
        if 0 <= index < self.size:
            return index
        if self.padding == "zeros":
            return None
        at = self.inside(Fraction(index))
        return min(max(round(at), 0), self.size - 1)

    def around(self, at: Fraction, degree: int, pixel: Any) -> dict[int | None, Fraction]:
        """The pixels around a location and their weights; those of weight 0 do not count."""
        low, found = math.floor(at), dict[int | None, Fraction]()
        weight = cubic if degree == 3 else lambda d: 1 - d
        for k in range(low - degree // 2, low + degree // 2 + 2):
            found[pixel(k)] = found.get(pixel(k), Fraction(0)) + weight(abs(at - k))
        return {k: w for k, w in found.items() if w}

    def sampled(self, g: float, degree: int, since: int) -> dict[int | None, Fraction]:
        """Pixels and their weights at a normalized position."""
        at = self.low + (Fraction(g) + 1) / 2 * (self.high - self.low)
        own, outside = self.inside(at), not self.low <= at <= self.high
        if degree == 0:
            low = math.floor(own)
            if since == 16 and own.denominator == 2 and self.pixel(low) != self.pixel(low + 1):
                raise Open("the text of 16 does not say how to round halfway between indices")
            found = {self.pixel(round(own)): Fraction(1)}
        else:
            found = self.around(own, degree, self.pixel)
        if degree == 3 and found != self.around(at, 3, self.pixel):
            raise Open("is the location brought in bound, or each pixel around it?")
        mirrored = degree == 3 and self.padding == "reflection" and not self.aligned
        if mirrored and found != self.around(own, 3, lambda k: min(max(k, 0), self.size - 1)):
            raise Open("the value at index -1 will be the same as the value at index 1")
        if outside and self.padding == "zeros" and {*found} != {None}:
            raise Open("use 0 for out-of-bound grid locations: all of it, or each pixel's part?")
        return found


def cubic(d: Fraction) -> Fraction:
    """The weight of cubic convolution with a = -0.75, which PyTorch's page names, at distance d."""
    a = Fraction(-3, 4)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def grid_sample(since: int, inputs: list[np.ndarray | None], attrs, outputs) -> list[np.ndarray]:
    x, grid = inputs
    assert x is not None
    assert grid is not None
    mode = attrs.get("mode", "bilinear" if since == 16 else "linear")
    padding = attrs.get("padding_mode", "zeros")
    if mode not in MODES[since] or padding not in ("zeros", "border", "reflection"):
        raise Forbidden("three interpolation modes, three padding modes")
    if attrs.get("align_corners", 0) not in (0, 1):
        raise Open("the text says what align_corners 1 and 0 mean")
    degree = MODES[since][mode]
    if since == 16 and x.ndim != 4:
        raise Forbidden("only spatial (4-D) inputs are supported")
    r = x.ndim - 2
    if r < 1 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != r:
        raise Forbidden("the grid will have shape (N, D1_out, ..., Dr_out, r)")
    dtype = dtype_of(x)
    kind = dtype.kind if dtype else ""
    if kind in ("string", "bool") and degree:
        raise Open("the text says nothing of interpolating between such values")
    axes = [Axis(d, attrs.get("align_corners", 0) == 1, padding) for d in x.shape[2:]]
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.float64 if kind == "float" else x.dtype)
    for place in np.ndindex(*grid.shape[:-1]):
        position = [float(g) for g in grid[place]][::-1]
        if not all(map(math.isfinite, position)):
            raise Open("the text says nothing of a position that is no finite number")
        if 0 in x.shape[2:]:
            raise Open("the text says nothing of an image without pixels")
        pixels = [axis.sampled(g, degree, since) for axis, g in zip(axes, position, strict=True)]
        for c in range(x.shape[1]):
            y[(place[0], c, *place[1:])] = average(x[place[0], c], pixels, kind)
    return [y]


def average(image: np.ndarray, pixels: list[Any], kind: str) -> Any:
    """The weighted sum of an image's pixels."""
    terms = []
    for chosen in product(*(one.items() for one in pixels)):
        at, weight = tuple(k for k, _ in chosen), math.prod(w for _, w in chosen)
        if None in at:
            if kind == "string":
                raise Open("use 0: of a string")
            continue
        terms.append((image[at], weight))
    if kind in ("string", "bool"):
        return terms[0][0] if terms else False
    if kind in ("int", "uint"):
        exact = sum((int(v) * w for v, w in terms), Fraction(0))
        low, high = np.iinfo(image.dtype).min, np.iinfo(image.dtype).max
        if not low <= math.trunc(exact) <= high:
            raise Open("cast to integer at the end: of a value that the type does not hold")
        return math.trunc(exact)
    if kind == "float":
        return sum((float(v) * float(w) for v, w in terms), 0.0)
    return sum((v * float(w) for v, w in terms), image.dtype.type(0))


def test_gridsample_is_what_its_text_says() -> None:
    assert differences("GridSample", grid_sample, every=10) == []

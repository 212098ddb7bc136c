"""GridSample as its text says, against the engine."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from opcheck.dtypes import of as dtype_of
from tests.blind.by_the_text import Forbidden, Open, differences
from tests.blind.schema import keep_to_schema

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

    def location(self, g: float) -> Fraction:
        """The pixel location of a normalized position: the extrema are centers or corners."""
        return self.low + (Fraction(g) + 1) / 2 * (self.high - self.low)

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

    def neighbours(self, g: float, degree: int, since: int) -> list[tuple[int | None, Fraction]]:
        """Pixels and their weights at a normalized position."""
        at = self.location(g)
        if degree == 0:
            at = self.inside(at)
            low = math.floor(at)
            tie = at.denominator == 2 and self.pixel(low) != self.pixel(low + 1)
            if since == 16 and tie:
                raise Open("the text of 16 does not say how to round halfway between indices")
            return self.half_outside([(self.pixel(round(at)), Fraction(1))], at)
        if degree == 1:
            at = self.inside(at)
            low = math.floor(at)
            found = [(self.pixel(low), low + 1 - at), (self.pixel(low + 1), at - low)]
            return self.half_outside(found, at)
        found, moved = self.four(at), self.four(self.inside(at))
        if together(found) != together(moved):
            raise Open("is the location brought in bound, or each pixel around it?")
        at = self.inside(at)
        if self.padding == "reflection" and not self.aligned:
            around = range(math.floor(at) - 1, math.floor(at) + 3)
            clipped = [(min(max(k, 0), self.size - 1), cubic(abs(at - k))) for k in around]
            if together(found) != together(clipped):
                raise Open("the value at index -1 will be the same as the value at index 1")
        return self.half_outside(found, at)

    def four(self, at: Fraction) -> list[tuple[int | None, Fraction]]:
        """The pixels around a location and their weights in cubic interpolation."""
        low = math.floor(at)
        return [(self.pixel(k), cubic(abs(at - k))) for k in range(low - 1, low + 3)]

    def half_outside(self, found: list[Any], at: Fraction) -> list[Any]:
        """The pixels, if they are all outside where the location is."""
        outside = not self.low <= at <= self.high
        if outside and self.padding == "zeros" and any(k is not None and w for k, w in found):
            raise Open(
                "use 0 for out-of-bound grid locations: for all of it, or each pixel's part?"
            )
        return found


def together(pixels: list[tuple[int | None, Fraction]]) -> dict[int | None, Fraction]:
    """The whole weight of each pixel."""
    found: dict[int | None, Fraction] = {}
    for pixel, weight in pixels:
        found[pixel] = found.get(pixel, Fraction(0)) + weight
    return {pixel: weight for pixel, weight in found.items() if weight}


def cubic(d: Fraction) -> Fraction:
    """The weight of cubic convolution with a = -0.75, which PyTorch's page names, at distance d."""
    a = Fraction(-3, 4)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def grid_sample(
    since: int, inputs: list[np.ndarray | None], attrs: dict[str, Any], outputs: int
) -> list[np.ndarray]:
    keep_to_schema("GridSample", since, inputs, attrs)
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
        around = [axis.neighbours(g, degree, since) for axis, g in zip(axes, position, strict=True)]
        for c in range(x.shape[1]):
            y[(place[0], c, *place[1:])] = sampled(x[place[0], c], around, kind)
    return [y]


def sampled(image: np.ndarray, around: list[Any], kind: str) -> Any:
    """The weighted sum of an image's pixels."""
    terms = []
    for chosen in product(*around):
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
    assert differences("GridSample", grid_sample, every=3) == []

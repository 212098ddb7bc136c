"""Location of a tensor's wrong elements: in words, and as a picture for pages.

everywhere                              all elements
only at [1, 2]                          this one element
exactly where …                         all of these elements, and no others
everywhere but where …                  all but these elements
whole lines along axis 1                lines are all wrong or all right, as reductions make them
only where …                            no element elsewhere is wrong
scattered in [0:2, 3, 4:8]              the smallest box around them, as Python slices it
scattered                               all over the tensor

`flat index` counts in C order.
"""

from collections.abc import Callable, Iterable
from math import prod
from string import ascii_letters
from typing import TypeAlias

import numpy as np

from opcheck.compare.elements import UNORDERED, Floats, Mask, Places, chunks, distance
from opcheck.dtypes import DType, round_to
from opcheck.model import Array, Picture

#: The most indices of one axis that are listed one by one.
_LISTED = 4


def describe(wrong: Mask) -> str:
    """Describe where `wrong`, a mask of any shape, is True; "" if nowhere."""
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return ""
    if count == wrong.size:
        return "everywhere"
    if count == 1:
        return f"only at {[int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)]}"
    if place := _product(wrong, count):
        return f"exactly where {place}"
    if place := _product(~wrong, wrong.size - count):
        return f"everywhere but where {place}"
    if place := _pattern("flat index", wrong.reshape(-1), listed=0):
        return f"exactly where {place}"
    return ", ".join(filter(None, [_lines(wrong), _around(wrong)]))


def _product(mask: Mask, count: int) -> str:
    """Describe the `count` true elements by a condition on each axis, "" if impossible."""
    hits = _hits(mask)
    if count != np.prod([np.count_nonzero(hit) for hit in hits], dtype=object):
        return ""
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    return " and ".join(terms) if all(terms) else ""


def _lines(wrong: Mask) -> str:
    """Name the axes along which every line is all wrong or all right."""
    axes = [
        str(axis)
        for axis, size in enumerate(wrong.shape)
        if size > 1 and np.array_equal(wrong.any(axis), wrong.all(axis))
    ]
    return f"whole lines along {'axes' if len(axes) > 1 else 'axis'} {', '.join(axes)}" * bool(axes)


def _around(wrong: Mask) -> str:
    """Describe the surroundings of wrong elements: patterns along axes, or else a box."""
    hits = _hits(wrong)
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    if any(terms):
        return f"only where {' and '.join(filter(None, terms))}"
    box = [_slice(hit) for hit in hits]
    return f"scattered in [{', '.join(box)}]" if set(box) != {":"} else "scattered"


def _hits(mask: Mask) -> list[Mask]:
    """For each axis, which of its indices hold a true element."""
    axes = range(mask.ndim)
    return [np.asarray(mask.any(tuple(other for other in axes if other != axis))) for axis in axes]


def _pattern(name: str, hit: Mask, listed: int = _LISTED) -> str:
    """Describe the true indices of a vector by a condition on `name`, "" without a simple one."""
    size, count = hit.size, int(np.count_nonzero(hit))
    first, last = _ends(hit)
    if count == 1:
        return f"{name} is {first}" + " (the last)" * (first == size - 1)
    if count == last - first + 1:
        if last == size - 1:
            return f"{name} >= {first}"
        return f"{name} is {first} to {last}" if first else f"{name} < {last + 1}"
    step = int(hit[first + 1 :].argmax()) + 1
    if first < step and 2 < count == len(range(first, size, step)) and hit[first::step].all():
        return f"{name} % {step} = {first}"
    if count <= listed:
        *most, final = map(str, np.flatnonzero(hit))
        return f"{name} is {', '.join(most)} or {final}"
    return ""


def _slice(hit: Mask) -> str:
    first, last = _ends(hit)
    if first == last and hit.size > 1:
        return str(first)
    return ":" if hit.size == last + 1 - first else f"{first}:{last + 1}"


def _ends(hit: Mask) -> tuple[int, int]:
    return int(hit.argmax()), hit.size - 1 - int(hit[::-1].argmax())


#: The most cells in a row and in a column.
SIDE = 64
#: Returns elements' places in the flat array with their shares, in one shape.
Shares: TypeAlias = Callable[[], Iterable[tuple[Places, Floats]]]

_POWERS = 1 << np.arange(64, dtype=np.uint64)


def picture(want: Array, got: Array, dtype: DType, shares: Shares) -> Picture:
    """Draw the errors of `got`, in `dtype`; a cell shows the largest of its `shares`."""
    # The last axis to the right, all others downwards.
    columns, rows = got.shape[-1] if got.shape else 1, prod(got.shape[:-1])
    across, down = min(columns, SIDE), min(rows, SIDE)
    most = np.zeros(down * across)
    for places, some in shares():
        row, column = np.divmod(places.reshape(-1), columns)
        cell = row * down // rows * across + column * across // columns
        np.maximum.at(most, cell, some.reshape(-1))
    letters = tuple("".join(map(_letter, line)) for line in most.reshape(down, across).tolist())
    counts, unordered = _ulps(want, got, dtype) if dtype.kind == "float" else ((), 0)
    return Picture(got.shape, counts, unordered, letters)


def _letter(share: float) -> str:
    if share == 0:
        return "."
    if share == np.inf:
        return "Z"
    fraction, exponent = np.frexp(share)
    # The logarithm, rounded up.
    doublings = int(exponent) - (fraction == 0.5)
    return ascii_letters[min(max(25 + doublings, 0), 50)]


def _ulps(want: Array, got: Array, dtype: DType) -> tuple[tuple[tuple[int, int], ...], int]:
    """Count elements by distance in ULP, by powers of two, and unordered ones."""
    counts = np.zeros(66, np.int64)
    for _, (wanted, actual) in chunks(want, got):
        if wanted.dtype != dtype.numpy:
            wanted = round_to(wanted.astype(np.float64), dtype)
        steps = distance(wanted, actual)
        # The bits that it takes.
        bits = np.searchsorted(_POWERS, steps, side="right")
        bits[steps == UNORDERED] = 65
        counts += np.bincount(bits, minlength=66)
    *ordered, unordered = counts.tolist()
    return tuple((bits, count) for bits, count in enumerate(ordered) if count), unordered

"""Where the wrong elements of a tensor lie, in words.

Knows of nothing but a mask. Every sentence is true of the mask it was made from:

everywhere                              all elements
only at [1, 2]                          this one element
exactly where …                         these elements, all of them wrong, no other is
everywhere but where …                  the same of the right elements
whole lines along axis 1                wrong or right as a whole, as a reduction over it makes them
only where …                            no element elsewhere is wrong
scattered in [0:2, 3, 4:8]              the smallest box around them, as Python slices it
scattered                               all over the tensor

`flat index` counts in C order: the element's place in memory.
"""

import numpy as np

from opcheck.compare.elements import Mask

#: The most indices of one axis that are listed one by one.
_LISTED = 4


def describe(wrong: Mask) -> str:
    """Where `wrong`, a mask of any shape, is True; "" if nowhere."""
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
    """The `count` true elements as a condition on each axis by itself, "" if there is none."""
    hits = _hits(mask)
    if count != np.prod([np.count_nonzero(hit) for hit in hits], dtype=object):
        return ""
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    return " and ".join(terms) if all(terms) else ""


def _lines(wrong: Mask) -> str:
    """The axes along which every line is all wrong or all right."""
    axes = [
        str(axis)
        for axis, size in enumerate(wrong.shape)
        if size > 1 and np.array_equal(wrong.any(axis), wrong.all(axis))
    ]
    return f"whole lines along {'axes' if len(axes) > 1 else 'axis'} {', '.join(axes)}" * bool(axes)


def _around(wrong: Mask) -> str:
    """What every wrong element has in common: its axes' patterns, or else a box."""
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
    """The true indices of a vector as a condition on `name`, "" if they follow no simple rule."""
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

"""Where the wrong elements of an output lie: in the tail of a loop, behind the first batch.

A *place* is a property of an element by its indices alone, such as "in the last entry along axis
1". Loops of kernels go wrong at such places, whatever the values there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from opcheck.compare.elements import Mask
from opcheck.diagnose.elements import Elements
from opcheck.diagnose.explanations import Explanation, outcomes_of, showing, types_of

#: The lengths of an output's axes.
Shape: TypeAlias = tuple[int, ...]
#: The widths of vectors that loops are split into.
_WIDTHS = (2, 4, 8, 16, 32, 64)
#: Axes by which places are told apart, counted from the front; the last one has words of its own.
_AXES = (0, 1, 2, 3)
_LAST = -1
#: So many cases at least must have the same place, of so many shapes.
_FEWEST = 3
_SHAPES = 2
#: So much of what shows the outcome at a place is wrong: other elements are right by chance.
_NEARLY_ALL = 0.75


class Place(NamedTuple):
    """A place in words that follow "the element is", and what masks it in an output of a shape."""

    text: str
    mask: Callable[[Shape], Mask]

    def at(self, elements: Elements) -> Mask:
        """Mask the elements of a case that are there, in a row."""
        return self.mask(elements.shape).ravel()


def places() -> Iterator[Place]:
    """Yield the places that are looked for, the likeliest first."""
    for width in _WIDTHS:
        text = f"behind the last whole vector of {width}"
        yield Place(text, partial(_behind_whole_vectors, width))
    for width in _WIDTHS[1:]:
        text = f"behind the last whole vector of {width} in its row"
        yield Place(text, partial(_behind_whole_vectors_of_rows, width))
    yield Place("the last one", partial(_is_last))
    for axis in (*_AXES, _LAST):
        words = "the last axis" if axis == _LAST else f"axis {axis}"
        for text, test in (
            ("behind the first entry along", _is_behind_the_first),
            ("in the first entry along", _is_first_along),
            ("in the last entry along", _is_last_along),
            ("before the last entry along", _is_before_the_last),
            ("in an odd entry along", _is_odd_along),
        ):
            yield Place(f"{text} {words}", partial(test, axis))


def explanation_by_place(
    failing: Sequence[Elements],
    passing: Sequence[Elements],
    check: Callable[[], None],
) -> Explanation | None:
    """Return the place of the wrong elements of the most failing cases; None for nothing sure.

    At least three cases of two shapes must have wrong elements there and none elsewhere, though
    elements elsewhere are right; nearly all elements there must be wrong, and none in a case that
    passes. Elements that would not show the outcome do not count, nor do passes with one value in
    all of the output. Calls `check` before each place, and raises what that raises.
    """
    found: list[Explanation] = []
    for outcome, numbers in outcomes_of(failing).items():
        for dtype in ("", *types_of(numbers, failing)):
            varied = [
                elements
                for elements in passing
                if _is_varied(elements) and (not dtype or dtype in elements.types)
            ]
            passes = [_Pass(elements, showing(elements, outcome)) for elements in varied]
            for place in places():
                check()
                explained = [n for n in numbers if _is_all_wrong_at(place, failing[n], outcome)]
                if _is_sure(place, [failing[n] for n in explained], passes):
                    text = f"the element is {place.text}{f' and {dtype}' if dtype else ''}"
                    found.append(Explanation(outcome, text, frozenset(explained)))
    # Of equal ones, the first is the likeliest.
    return max(found, key=lambda explanation: len(explanation.explained), default=None)


class _Pass(NamedTuple):
    """The elements of a case that passes, and a mask of those that would show an outcome."""

    elements: Elements
    shows: Mask


def _is_sure(place: Place, explained: Sequence[Elements], passes: Sequence[_Pass]) -> bool:
    """Return True for a place of three failing cases of two shapes that no pass contradicts.

    Of the failing cases, those with one value in all of the output have no shape.
    """
    shapes = {elements.shape for elements in explained if _is_varied(elements)}
    if len(explained) < _FEWEST or len(shapes) < _SHAPES:
        return False
    return not any((place.at(elements) & shows).any() for elements, shows in passes)


def _is_varied(elements: Elements) -> bool:
    """Return True if an output has different values: elements of others may change places."""
    return bool((elements.right != elements.right[:1]).any())


def _is_all_wrong_at(place: Place, elements: Elements, outcome: str) -> bool:
    """Return True if wrong are nearly all elements at a place that show an outcome, and no others.

    Elsewhere there must be elements that show it, too.
    """
    at = place.at(elements)
    if (elements.wrong & ~at).any():
        return False
    shows = showing(elements, outcome)
    wrong = np.count_nonzero(elements.wrong)
    is_elsewhere = bool((shows & ~at).any())
    return is_elsewhere and bool(wrong >= _NEARLY_ALL * np.count_nonzero(shows & at))


def common_places(failing: Sequence[Elements]) -> list[str]:
    """Return the places that all wrong elements of all failing cases are at, the likeliest first.

    In each case an element elsewhere is right.
    """
    return [
        place.text
        for place in places()
        if all(_is_wrong_there_alone(place, elements) for elements in failing)
    ]


def _is_wrong_there_alone(place: Place, elements: Elements) -> bool:
    """Return True if all wrong elements of a case are at a place, and there are others."""
    at = place.at(elements)
    return not (elements.wrong & ~at).any() and not at.all()


def _behind_whole_vectors(width: int, shape: Shape) -> Mask:
    """Mask the elements of a tensor that fill no vector; none where no vector is full."""
    size = int(np.prod(shape))
    numbers = np.arange(size).reshape(shape)
    return np.asarray(numbers >= (size // width * width or size))


def _behind_whole_vectors_of_rows(width: int, shape: Shape) -> Mask:
    """Mask the elements of rows that fill no vector; none where no vector is full."""
    length = shape[-1] if shape else 1
    return np.asarray(_indices(-1, shape) >= (length // width * width or length))


def _is_last(shape: Shape) -> Mask:
    """Mask the last element of a tensor of several."""
    size = int(np.prod(shape))
    return np.asarray(np.arange(size).reshape(shape) == max(1, size - 1))


def _is_behind_the_first(axis: int, shape: Shape) -> Mask:
    return np.asarray(_indices(axis, shape) > 0)


def _is_first_along(axis: int, shape: Shape) -> Mask:
    """Mask the first of several entries along an axis."""
    return np.asarray((_indices(axis, shape) == 0) & (_length(axis, shape) > 1))


def _is_last_along(axis: int, shape: Shape) -> Mask:
    """Mask the last of several entries along an axis."""
    length = _length(axis, shape)
    return np.asarray((_indices(axis, shape) == length - 1) & (length > 1))


def _is_before_the_last(axis: int, shape: Shape) -> Mask:
    return np.asarray(_indices(axis, shape) < _length(axis, shape) - 1)


def _is_odd_along(axis: int, shape: Shape) -> Mask:
    return np.asarray(_indices(axis, shape) % 2 == 1)


def _length(axis: int, shape: Shape) -> int:
    """Return the length of an axis, 1 of one that the shape does not have."""
    return shape[axis] if -len(shape) <= axis < len(shape) else 1


def _indices(axis: int, shape: Shape) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Return the index of each element along an axis; 0 without that axis."""
    if not -len(shape) <= axis < len(shape):
        return np.zeros(shape, np.intp)
    along = [1] * len(shape)
    along[axis] = shape[axis]
    return np.broadcast_to(np.arange(shape[axis]).reshape(along), shape)

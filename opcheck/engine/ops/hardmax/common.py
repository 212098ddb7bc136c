"""Mistakes of all operators that put ones at first maxima: ONNX's Hardmax and DirectML's.

Most are tables of a name, a text and the step that is taken otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.hardmax.choices import Mask, Matrix, top
from opcheck.engine.ops.hardmax.steps import Axes, Steps, as_numbers, numbers
from opcheck.engine.ops.hardmax.wrong_choices import CHOICES
from opcheck.engine.ops.hardmax.wrong_layouts import layouts
from opcheck.model import Array

# ── which numbers are compared ────────────────────────────────────────────────────────────────


def _bits(matrix: Array) -> Matrix:
    return matrix.view(f"i{matrix.dtype.itemsize}")


def _zeros_apart(matrix: Array) -> Matrix:
    tiny = np.where(np.signbit(matrix), -5e-324, 5e-324)
    return np.where(matrix == 0, tiny, matrix.astype(np.float64))


def _softmax(matrix: Array) -> Matrix:
    """Of each row, rounded to the type of the tensor."""
    m = numbers(matrix)
    e = np.exp(m - top(m))
    return numbers((e / e.sum(axis=1, keepdims=True)).astype(matrix.dtype))


def _in_place_of(what: float, instead: float) -> Callable[[Array], Matrix]:
    def change(matrix: Array) -> Matrix:
        m = numbers(matrix)
        return np.where(m == what, np.asarray(instead, m.dtype), m)

    return change


_NUMBERS: tuple[tuple[str, str, Callable[[Array], Matrix]], ...] = (
    ("zeros_apart", "-0 was less than +0", _zeros_apart),
    ("minus_infinity_is_minus_1e4", "-inf was taken for -10000", _in_place_of(-np.inf, -1e4)),
    ("infinity_is_nothing", "+inf was taken for -inf", _in_place_of(np.inf, -np.inf)),
    ("softmax_first", "the maximum of the row's softmax was sought", _softmax),
    (
        "exponentials",
        "the exponentials of the elements were compared",
        lambda matrix: np.exp(numbers(matrix)),
    ),
    (
        "whole_numbers",
        "the elements were compared without their fractions",
        lambda matrix: np.trunc(numbers(matrix)),
    ),
    ("bits", "the elements were compared by their bits, as integers", _bits),
    ("magnitudes", "the magnitudes were compared", lambda matrix: np.abs(numbers(matrix))),
)

# ── which axis is meant ───────────────────────────────────────────────────────────────────────


def _each(change: Callable[[int, int], int]) -> Callable[[Axes, int], Axes]:
    return lambda axes, rank: tuple(sorted(change(axis, rank) for axis in axes))


def _channels_last(axes: Axes, rank: int) -> Axes:
    """Axes 1, 2 and 3 of four as they are with the channels last."""
    return tuple(sorted((0, 3, 1, 2)[axis] for axis in axes)) if rank == 4 else axes


def _merged(places: Axes, rank: int) -> Callable[[Axes, int], Axes]:
    """Where there are more than `rank` axes, those at `places` come together."""

    def change(axes: Axes, r: int) -> Axes:
        together = {place % r for place in places}
        return tuple(sorted({*axes, *together})) if r > rank and together & {*axes} else axes

    return change


#: By the axes that are meant and the rank.
_AXES: tuple[tuple[str, str, Callable[[Axes, int], Axes]], ...] = (
    (
        "axes_of_four_channels_last",
        "of four axes, axis 1 was taken for the last one, and those behind it for one before",
        _channels_last,
    ),
    *(
        (
            f"{which}_two_of_more_than_{rank}_axes_merged",
            f"of more than {rank} axes the {which} two were merged, so that either meant both",
            _merged(places, rank),
        )
        for rank in (4, 5)
        for which, places in (("first", (0, 1)), ("last", (-2, -1)))
    ),
    (
        "axis_mirrored",
        "the axis was counted from the wrong end",
        _each(lambda axis, r: r - 1 - axis),
    ),
    (
        "axis_minus_1",
        "the axis before the right one was taken",
        _each(lambda axis, r: (axis - 1) % r),
    ),
    (
        "axis_plus_1",
        "the axis after the right one was taken",
        _each(lambda axis, r: (axis + 1) % r),
    ),
    ("axis_1_always", "axis 1 was taken, whatever the attribute", lambda axes, r: (min(1, r - 1),)),
    ("first_axis_always", "the first axis was taken, whatever the attribute", lambda axes, r: (0,)),
    (
        "last_axis_always",
        "the last axis was taken, whatever the attribute",
        lambda axes, r: (r - 1,),
    ),
)


# ── what is written ───────────────────────────────────────────────────────────────────────────

_WRITTEN: tuple[tuple[str, str, Callable[[Mask, Array], Array]], ...] = (
    (
        "maximum_in_place_of_one",
        "the maximum itself stood in place of a one",
        lambda ones, x: np.where(ones, x, np.zeros_like(x)),
    ),
    (
        "nan_passed_on",
        "NaN of the input was passed on to the output",
        lambda ones, x: np.where(np.isnan(x), x, as_numbers(ones, x)),
    ),
    (
        "zeros_are_tiny",
        "1e-6 stood in place of every zero",
        lambda ones, x: np.where(ones, x.dtype.type(1), x.dtype.type(1e-6)),
    ),
    (
        "zeros_are_nan",
        "NaN stood in place of every zero",
        lambda ones, x: np.where(ones, x.dtype.type(1), x.dtype.type(np.nan)),
    ),
    ("inverted", "ones and zeros were exchanged", lambda ones, x: as_numbers(~ones, x)),
    ("boolean_output", "the output was a mask of booleans", lambda ones, x: ones),
    ("int64_output", "the output was of type int64", lambda ones, x: ones.astype(np.int64)),
)

# ── all of them ───────────────────────────────────────────────────────────────────────────────

_OPEN = "the text does not say whether NaN is a maximum"
_NONE_LOWER = "of its numbers only -inf is lower, and of a row of it the first element has the one"
_HARMLESS: Mapping[str, Mapping[str, str]] = {
    "nan_skipped": {"Hardmax": _OPEN, "DML_ACTIVATION_HARDMAX1": _OPEN},
    "nan_leaves_its_row_empty": {"Hardmax": _OPEN, "DML_ACTIVATION_HARDMAX1": _OPEN},
    "starts_at_the_lowest_float32_and_index_0": dict.fromkeys(
        ("Hardmax bfloat16", "float16"), _NONE_LOWER
    ),
    "nearly_equal": {"float16": "any two differ by more than 1e-8 + 1e-5 of the larger one"},
}


def _taking(right: Steps, name: str, text: str, **steps: Any) -> Mistake:
    """The mistake of taking these steps otherwise than `right` does."""
    return Mistake(name, text, replace(right, **steps), _HARMLESS.get(name, {}))


def _other_axes(right: Steps, change: Callable[[Axes, int], Axes]) -> Callable[[Node], Axes]:
    """What `change` makes of the axes that are meant and the rank."""
    return lambda node: change(right.axes(node), node.inputs[0].ndim)


def side_by_side(x: Array, order: Axes) -> Array:
    """The axes in this order, though the elements stay where they are."""
    return x.reshape([x.shape[axis] for axis in order])


def left_apart(ones: Mask, order: Axes) -> Any:
    """The axes in their own order again, though the elements stay where they are."""
    return side_by_side(ones, tuple(np.argsort(order)))


def _in_reverse(x: Array, order: Axes) -> Array:
    return x.reshape(x.shape[::-1]).transpose(order)


def common(right: Steps) -> tuple[Mistake, ...]:
    """The mistakes that can be made in any version of either operator."""
    return (
        *(_taking(right, name, text, values=values) for name, text, values in _NUMBERS),
        *(_taking(right, name, text, choose=choose) for name, text, choose in CHOICES),
        *layouts(right),
        *(
            _taking(right, name, text, axes=_other_axes(right, change))
            for name, text, change in _AXES
        ),
        _taking(
            right,
            "axes_complemented",
            "the axes that were meant to compete were kept apart, and the others competed",
            competing=lambda node, axes: tuple(
                axis
                for axis in range(node.inputs[0].ndim)
                if axis not in right.competing(node, axes)
            ),
        ),
        _taking(
            right,
            "shape_reversed",
            "the shape was read from the last axis to the first",
            apart=_in_reverse,
        ),
        _taking(
            right,
            "whole_tensor",
            "the whole tensor was one row",
            competing=lambda node, axes: tuple(range(node.inputs[0].ndim)),
        ),
        *(_taking(right, name, text, written=written) for name, text, written in _WRITTEN),
    )

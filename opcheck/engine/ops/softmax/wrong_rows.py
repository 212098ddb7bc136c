"""Softmax of the wrong rows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from opcheck.engine.axis_mistakes import before_13
from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.engine.ops.softmax.steps import (
    Layout,
    Matrix,
    Shape,
    Steps,
    along,
    axis_of,
    coerced,
    laid_out,
)
from opcheck.model import Array

_NO_COERCION = "version 13 coerces nothing"
_SIDE_BY_SIDE = "the elements of a row of the coerced matrix lie side by side"


def _another_axis(change: Callable[[int, int], int]) -> Steps:
    """Another axis of the same tensor: `change` takes the axis and the rank."""
    return Steps(layout=lambda since, shape, axis: laid_out(since, shape, change(axis, len(shape))))


def _coerced_at(change: Callable[[int], int]) -> Steps:
    def layout(since: int, shape: Shape, axis: int) -> Layout:
        return laid_out(since, shape, axis) if since >= 13 else coerced(shape, change(axis))

    return Steps(layout=layout)


def _side_by_side(since: int, shape: Shape, axis: int) -> Layout:
    outer, length, inner = laid_out(since, shape, axis)
    return outer * inner, length, 1


def _above_4(layout: Callable[[int, Shape, int], Layout]) -> Steps:
    """What becomes of more than four dimensions."""
    return Steps(layout=lambda *asked: (layout if len(asked[1]) > 4 else laid_out)(*asked))


def _merged(first: bool, rank: int) -> Steps:
    """Of more than so many axes, the first two are one, or the last two."""

    def layout(since: int, shape: Shape, axis: int) -> Layout:
        pair = 0 if first else len(shape) - 2
        if len(shape) <= rank:
            return laid_out(since, shape, axis)
        merged = (*shape[:pair], shape[pair] * shape[pair + 1], *shape[pair + 2 :])
        return laid_out(since, merged, axis - (axis > pair))

    return Steps(layout=layout)


def _without_the_last(steps: Steps, matrix: Matrix) -> Matrix:
    y = steps.normalised(matrix)
    if len(y) > 1:
        y[-1] = 0
    return y


def _kept_if_alone(steps: Steps, matrix: Matrix) -> Matrix:
    return matrix if matrix.shape[1] == 1 else steps.normalised(matrix)


def _of_65535_rows(steps: Steps, matrix: Matrix) -> Matrix:
    y = steps.normalised(matrix)
    y[65535:] = 0
    return y


def _columns_of_whole_vectors(width: int) -> Answer:
    """Rows across memory are computed so many at a time."""

    def answer(node: Node) -> tuple[Array, ...]:
        (right,) = node.right
        outer, length, inner = laid_out(node.op.since, right.shape, axis_of(node))
        out = right.copy()
        if out.size and inner > width:
            out.reshape(outer, length, inner)[:, :, inner // width * width :] = 0
        return (out,)

    return answer


#: Mistakes about more than four dimensions.
HIGH_RANKS: tuple[Mistake, ...] = (
    Mistake(
        "rank_5_coerced",
        "the input was coerced to two dimensions where it has more than four",
        _above_4(lambda since, shape, axis: coerced(shape, axis)),
        before_13("versions 1 and 11 coerce"),
    ),
    Mistake(
        "rank_5_never_along_axis_0",
        "axis 1 was taken in place of axis 0 where there are more than four dimensions",
        _above_4(lambda since, shape, axis: laid_out(since, shape, axis or 1)),
    ),
    *(
        Mistake(
            f"{which}_two_of_more_than_{rank}_axes_merged",
            f"of more than {rank} axes the {which} two were merged, so that either meant both",
            _merged(which == "first", rank),
        )
        for rank in (4, 5)
        for which in ("first", "last")
    ),
)

#: Mistakes about what a row is.
ROWS: tuple[Mistake, ...] = (
    Mistake(
        "row_of_one_element_kept",
        "a row of one element was left as it was",
        Steps(shares=_kept_if_alone),
    ),
    Mistake(
        "rows_beyond_65535_missing",
        "the rows after the first 65,535, the most blocks of a grid, were left at 0",
        Steps(shares=_of_65535_rows),
    ),
    *(
        Mistake(
            f"columns_after_vectors_of_{width}_missing",
            f"of the rows across memory, those after the last whole vector of {width} were left 0",
            _columns_of_whole_vectors(width),
            before_13(_SIDE_BY_SIDE),
        )
        for width in (8, 16)
    ),
    Mistake(
        "rows_side_by_side",
        "neighbours in a row were taken to lie side by side in memory",
        Steps(layout=_side_by_side),
        before_13(_SIDE_BY_SIDE),
    ),
    Mistake(
        "coercion_in_13",
        "the input was coerced to two dimensions, as in versions 1 and 11",
        Steps(layout=lambda since, shape, axis: coerced(shape, axis)),
        before_13("versions 1 and 11 ask for that"),
    ),
    Mistake(
        "no_coercion_before_13",
        "the input was not coerced to two dimensions, and each row ran along one axis",
        Steps(layout=lambda since, shape, axis: along(shape, axis)),
        {"13": "version 13 asks for that"},
    ),
    Mistake(
        "axis_1_always",
        "axis 1 was taken, whatever the attribute",
        _another_axis(lambda axis, rank: min(1, rank - 1)),
    ),
    Mistake(
        "last_axis_always",
        "the last axis was taken, whatever the attribute",
        _another_axis(lambda axis, rank: rank - 1),
    ),
    Mistake(
        "coercion_one_axis_long",
        "the input was coerced to two dimensions one axis before the right one",
        _coerced_at(lambda axis: max(axis - 1, 0)),
        {"13": _NO_COERCION},
    ),
    Mistake(
        "coercion_one_axis_short",
        "the input was coerced to two dimensions behind the axis, not before it",
        _coerced_at(lambda axis: axis + 1),
        {"13": _NO_COERCION},
    ),
    Mistake(
        "shape_reversed",
        "the shape was read from the last axis to the first",
        Steps(layout=lambda since, shape, axis: laid_out(since, shape[::-1], axis)),
    ),
    Mistake(
        "first_axis_always",
        "the first axis was taken, whatever the attribute",
        _another_axis(lambda axis, rank: 0),
    ),
    Mistake(
        "axis_mirrored",
        "the axis was counted from the wrong end",
        _another_axis(lambda axis, rank: rank - 1 - axis),
    ),
    Mistake("last_row_missing", "the last row was left at 0", Steps(shares=_without_the_last)),
    Mistake(
        "whole_tensor",
        "the whole tensor was one row",
        Steps(layout=lambda since, shape, axis: (1, prod(shape), 1)),
    ),
    Mistake(
        "axis_minus_1",
        "the axis before the right one was taken",
        _another_axis(lambda axis, rank: (axis - 1) % rank),
    ),
    Mistake(
        "axis_plus_1",
        "the axis after the right one was taken",
        _another_axis(lambda axis, rank: (axis + 1) % rank),
    ),
)

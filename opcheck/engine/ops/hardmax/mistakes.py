"""What is wrongly read of Hardmax, the most specific first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from opcheck.dtypes import DTYPES
from opcheck.engine.axis_mistakes import QUESTIONS, before_13, stated_axis
from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.hardmax.common import common, left_apart, side_by_side
from opcheck.engine.ops.hardmax.steps import RIGHT, Axes, Steps, coerced

_NO_COERCION = "version 13 coerces nothing"


def _also_of(*types: str) -> Steps:
    """The operator, on these types too."""

    def lenient(node: Node) -> None:
        if node.dtype not in types:
            RIGHT.dtype(node)

    return replace(RIGHT, dtype=lenient)


def _rank_0_is_a_vector(node: Node) -> Sequence[Any]:
    x = node.inputs[0]
    if x.ndim or stated_axis(node) not in (-1, 0):
        return RIGHT(node)
    return [out.reshape(()) for out in RIGHT(replace(node, inputs=(x.reshape(1),)))]


def _rank_is_an_axis(node: Node) -> Axes:
    rank = node.rank
    return (rank,) if rank and stated_axis(node) == rank else RIGHT.axes(node)


def _none_at_the_rank(node: Node, axes: Axes) -> Axes:
    return () if axes == (node.rank,) else RIGHT.competing(node, axes)


def _coerced_at(change: Callable[[int], int], left_out: int = 0) -> Callable[[Node, Axes], Axes]:
    """Coerced at another axis, or without so many of the last axes if others are left."""

    def competing(node: Node, axes: Axes) -> Axes:
        if node.op.since >= 13:
            return axes
        whole = tuple(range(change(axes[0]), node.rank))
        return whole[: len(whole) - left_out] or whole

    return competing


_NUMBERS_ELSEWHERE = [name for name, dtype in DTYPES.items() if dtype.kind != "float"]

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "bfloat16_in_every_version",
        "bfloat16, which came with version 13, was computed before",
        _also_of("bfloat16"),
        {"13": "version 13 has it"},
    ),
    Mistake(
        "integers_accepted", "integers and booleans were computed", _also_of(*_NUMBERS_ELSEWHERE)
    ),
    Mistake("rank_0_is_a_vector", "a tensor of rank 0 was taken for a vector", _rank_0_is_a_vector),
    Mistake(
        "rank_is_an_axis",
        "an axis equal to the rank was accepted, and every element was a row",
        replace(RIGHT, axes=_rank_is_an_axis, competing=_none_at_the_rank),
        {"1": "version 1 names no range for its axis, and a_k * ... * a_(n-1) is then 1"},
    ),
    *QUESTIONS,
    Mistake(
        "ties_in_column_major_order",
        "the first of equal maxima was that of the transposed tensor",
        replace(RIGHT, competing=lambda node, axes: RIGHT.competing(node, axes)[::-1]),
        {"13": "a row of version 13 runs along one axis, on which there is one order"},
    ),
    Mistake(
        "coercion_without_the_last_axis",
        "the rows of the coerced matrix lacked the last axis",
        replace(RIGHT, competing=_coerced_at(lambda axis: axis, left_out=1)),
        {"13": _NO_COERCION},
    ),
    Mistake(
        "coercion_one_axis_short",
        "the input was coerced to two dimensions behind the axis, not before it",
        replace(RIGHT, competing=_coerced_at(lambda axis: axis + 1)),
        {"13": _NO_COERCION},
    ),
    Mistake(
        "coercion_one_axis_long",
        "the input was coerced to two dimensions one axis before the right one",
        replace(RIGHT, competing=_coerced_at(lambda axis: max(axis - 1, 0))),
        {"13": _NO_COERCION},
    ),
    Mistake(
        "no_coercion_before_13",
        "the input was not coerced to two dimensions, and each row ran along one axis",
        replace(RIGHT, competing=lambda node, axes: axes),
        {"13": "version 13 asks for that"},
    ),
    Mistake(
        "coercion_in_13",
        "the input was coerced to two dimensions, as in versions 1 and 11",
        replace(RIGHT, competing=coerced),
        before_13("versions 1 and 11 ask for that"),
    ),
    Mistake(
        "rows_side_by_side",
        "neighbours in a row were taken to lie side by side in memory",
        replace(RIGHT, apart=side_by_side, back=left_apart),
        before_13("there they do"),
    ),
    Mistake(
        "not_transposed_back",
        "the axis was moved to the end, and not back in the output",
        replace(RIGHT, back=left_apart),
        before_13("the rows of the coerced matrix need no moving"),
    ),
    *common(RIGHT),
)

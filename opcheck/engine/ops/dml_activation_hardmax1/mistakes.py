"""What is wrongly read of DML_ACTIVATION_HARDMAX1, the most specific first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.hardmax.common import common, left_apart, side_by_side
from opcheck.engine.ops.hardmax.steps import Axes, Steps
from opcheck.errors import InvalidNode
from opcheck.opset.directml import MAX_RANK, invalid_axes


def _dtype(node: Node) -> None:
    if node.dtype not in ("float16", "float32"):
        raise InvalidNode(f"input of type {node.dtype}")


def _stated(node: Node) -> Axes:
    axes: Any = node.attrs.get("Axes")
    if axes is None:
        raise InvalidNode("Axes is missing")
    return tuple(axes)


def _axes(node: Node) -> Axes:
    problem = invalid_axes(_stated(node), node.rank)
    if problem:
        raise InvalidNode(problem)
    return tuple(sorted(_stated(node)))


RIGHT = Steps(dtype=_dtype, axes=_axes, competing=lambda node, axes: axes)


def _out_of_range(axis: Callable[[int, int], int]) -> Steps:
    """What is taken for those of the axes that are out of range."""

    def lenient(node: Node) -> Axes:
        rank = node.rank
        if not 1 <= rank <= MAX_RANK or not _stated(node):
            return _axes(node)
        inside = (a if 0 <= a < rank else axis(a, rank) for a in _stated(node))
        return tuple(sorted(set(inside)))

    return replace(RIGHT, axes=lenient)


def _negative_accepted(node: Node) -> Axes:
    axes = [axis % node.rank if -node.rank <= axis < 0 else axis for axis in _stated(node)]
    return _axes(replace(node, attrs={"Axes": tuple(axes)}))


def _axes_of_rank(accepted: Callable[[int], bool]) -> Callable[[Node], Axes]:
    """The axes that there are, of tensors of some more ranks."""

    def axes(node: Node) -> Axes:
        if not accepted(node.rank):
            return _axes(node)
        return tuple(sorted({axis for axis in _stated(node) if 0 <= axis < node.rank}))

    return axes


def _in_order(node: Node) -> Axes:
    if list(_stated(node)) != sorted(_stated(node)):
        raise InvalidNode("Axes are not sorted")
    return _axes(node)


def _once(node: Node) -> Axes:
    return _axes(replace(node, attrs={"Axes": tuple(sorted(set(_stated(node))))}))


def _all_if_none(node: Node) -> Axes:
    return _axes(node) if _stated(node) else tuple(range(node.rank))


def _one_after_another(node: Node) -> Any:
    """Hardmax along each axis of the answer for the axis before."""
    for axis in RIGHT.axes(node):
        node = replace(node, inputs=RIGHT(replace(node, attrs={"Axes": (axis,)})))
    return node.inputs


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "axes_in_the_order_stated",
        "joint indices ran through the axes in the order in which they are stated",
        replace(RIGHT, competing=lambda node, axes: _stated(node)),
        {"1": "the text does not say in which order unsorted axes count"},
    ),
    Mistake(
        "any_type_accepted",
        "data types other than FLOAT32 and FLOAT16 were computed",
        replace(RIGHT, dtype=lambda node: None),
    ),
    Mistake(
        "nine_dimensions_accepted",
        "more than 8 dimensions were accepted",
        replace(RIGHT, axes=_axes_of_rank(lambda rank: rank > MAX_RANK)),
    ),
    Mistake(
        "no_dimension_accepted",
        "a tensor without dimensions was accepted",
        replace(RIGHT, axes=_axes_of_rank(lambda rank: rank < 1)),
    ),
    Mistake(
        "refuses_unsorted_axes",
        "axes that do not increase were refused",
        replace(RIGHT, axes=_in_order),
    ),
    Mistake(
        "repeated_axes_counted_once",
        "an axis that is listed twice was taken once",
        replace(RIGHT, axes=_once),
    ),
    Mistake(
        "no_axes_are_all",
        "no axes at all were taken for all of them",
        replace(RIGHT, axes=_all_if_none),
    ),
    Mistake(
        "negative_axes_accepted",
        "negative axes were counted from the back",
        replace(RIGHT, axes=_negative_accepted),
    ),
    Mistake(
        "axes_clamped",
        "axes out of range were taken for the nearest one",
        _out_of_range(lambda axis, rank: min(max(axis, 0), rank - 1)),
    ),
    Mistake(
        "axes_wrap",
        "axes out of range were taken modulo the rank",
        _out_of_range(lambda axis, rank: axis % rank),
    ),
    Mistake(
        "ties_in_column_major_order",
        "the first of equal maxima was that of the transposed tensor",
        replace(RIGHT, competing=lambda node, axes: axes[::-1]),
    ),
    Mistake(
        "axes_between_too",
        "all axes from the first to the last of those stated competed",
        replace(RIGHT, competing=lambda node, axes: tuple(range(axes[0], axes[-1] + 1))),
    ),
    Mistake(
        "first_of_the_axes_only",
        "only the first of the axes competed",
        replace(RIGHT, competing=lambda node, axes: axes[:1]),
    ),
    Mistake(
        "last_of_the_axes_only",
        "only the last of the axes competed",
        replace(RIGHT, competing=lambda node, axes: axes[-1:]),
    ),
    Mistake(
        "one_axis_after_another",
        "the operator was computed along one axis, and of that along the next",
        _one_after_another,
    ),
    Mistake(
        "coercion",
        "all axes from the first of those stated competed, as in ONNX's Hardmax before 13",
        replace(RIGHT, competing=lambda node, axes: tuple(range(axes[0], node.rank))),
    ),
    Mistake(
        "rows_side_by_side",
        "neighbours in a group were taken to lie side by side in memory",
        replace(RIGHT, apart=side_by_side, back=left_apart),
    ),
    Mistake(
        "not_transposed_back",
        "the axes were moved to the end, and not back in the output",
        replace(RIGHT, back=left_apart),
    ),
    *common(RIGHT),
)

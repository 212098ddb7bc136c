"""What is wrongly read of the axis, and of the version, where an operator has one axis.

Hardmax and Softmax read it alike: coerced to two dimensions before version 13, a row along one axis
since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opcheck.engine.axes import coerced_to_2d
from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.errors import InvalidNode
from opcheck.model import Array

_NOT_FROM_THE_BACK = "version 1 counts no axis from the back"


def stated_axis(node: Node) -> int:
    """The axis as it is stated, or its default."""
    axis: Any = node.attrs.get("axis", -1 if node.op.since >= 13 else 1)
    return int(axis)


def before_13(why: str) -> dict[str, str]:
    """Why a mistake is harmless in the versions that coerce to two dimensions."""
    return {"1": why, "11": why}


def _as_version(since: int) -> Answer:
    return lambda node: node.at(since).right


def _with_axis(change: Callable[[Any, int], int]) -> Answer:
    """A stated axis is changed; `change` takes it, whatever it is, and the rank."""

    def answer(node: Node) -> tuple[Array, ...]:
        stated: Any = node.attrs.get("axis")
        if not isinstance(stated, int):
            return node.right
        axis = change(stated, node.rank)
        return _with(node, axis).right if axis != stated else node.right

    return answer


def _by_default(axis: Callable[[int], int]) -> Answer:
    """The axis where none is stated, of the rank."""
    return lambda node: (node if "axis" in node.attrs else _with(node, axis(node.rank))).right


def _with(node: Node, axis: int) -> Node:
    return replace(node, attrs={**node.attrs, "axis": axis})


def _axis_0_is_none(node: Node) -> tuple[Array, ...]:
    return (node if node.attrs.get("axis", 1) else replace(node, attrs={})).right


def _outside(change: Callable[[int, int], int]) -> Answer:
    """What `change` makes of an axis that is out of range, the default among them."""

    def answer(node: Node) -> tuple[Array, ...]:
        try:
            return node.right
        except InvalidNode:
            rank = node.rank
            if not rank or not isinstance(node.attrs.get("axis", 0), int):
                raise
            return _with(node, change(stated_axis(node), rank)).right

    return answer


def _default_in_range(node: Node) -> tuple[Array, ...]:
    """Where none is stated, axis 1 or the last one before it."""
    vector = node.rank == 1 and node.op.since < 13
    return (_with(node, 0) if vector and "axis" not in node.attrs else node).right


def _at_least_two(node: Node) -> tuple[Array, ...]:
    """The axis, whose range is that of a matrix where there is a vector."""
    vector = node.rank == 1
    return (_with(node, 0) if vector and -2 <= stated_axis(node) < 2 else node).right


def _of_some_elements(node: Node) -> tuple[Array, ...]:
    """The axis matters where there are elements."""
    return (node if node.inputs[0].size else _with(node, 0)).right


def _squeezed_first(node: Node) -> tuple[Array, ...]:
    """A negative axis, counted from the end of what is left without the last axes of one."""
    x, axis = node.inputs[0], node.attrs.get("axis", 0)
    last = max((place for place, size in enumerate(x.shape) if size != 1), default=0)
    if not isinstance(axis, int) or not -x.ndim <= axis < 0:
        return node.right
    return _with(node, max(axis + last + 1, 0)).right


def _refuses(when: Callable[[Any], bool], why: str) -> Answer:
    """Refuses an axis, or None."""

    def answer(node: Node) -> tuple[Array, ...]:
        if when(node.attrs.get("axis")):
            raise InvalidNode(why)
        return node.right

    return answer


def _left_coerced(node: Node) -> tuple[Array, ...]:
    (out,) = node.right
    matrix = coerced_to_2d(out.shape, stated_axis(node) % out.ndim)
    return (out.reshape(matrix) if node.op.since < 13 else out,)


#: Mistakes about what is asked.
QUESTIONS: tuple[Mistake, ...] = (
    Mistake(
        "axis_of_empty_tensor_unchecked",
        "an empty tensor was returned before its axis was checked",
        _of_some_elements,
        {"1": "version 1 names no range for its axis, and an empty tensor has one answer"},
    ),
    Mistake(
        "axis_of_vector_as_of_a_matrix",
        "a vector, taken for a matrix of one row, had the range of a matrix's axis",
        _at_least_two,
    ),
    Mistake(
        "default_axis_kept_in_range",
        "the default axis of a vector was 0 instead of 1",
        _default_in_range,
        {"13": "the default of version 13, -1, is an axis of every tensor that has one"},
    ),
    Mistake(
        "axis_in_32_bits",
        "the axis was cut down to 32 bits",
        _with_axis(lambda axis, rank: (axis + 2**31) % 2**32 - 2**31),
        {"1": "version 1 names no range for its axis, so nothing is outside"},
    ),
    Mistake(
        "axis_wraps",
        "an axis out of range was taken modulo the rank",
        _outside(lambda axis, rank: axis % rank),
    ),
    Mistake(
        "axis_clamped",
        "an axis out of range was clamped to the nearest one",
        _outside(lambda axis, rank: min(max(axis, 0), rank - 1)),
    ),
    Mistake(
        "out_of_range_is_last",
        "an axis out of range was taken for the last one",
        _outside(lambda axis, rank: rank - 1),
    ),
    Mistake(
        "default_axis_1_always",
        "a missing axis was taken for 1, the default of versions 1 and 11",
        _by_default(lambda rank: 1),
        before_13("that is the default of this version"),
    ),
    Mistake(
        "default_axis_minus_1_always",
        "a missing axis was taken for -1, the default of version 13",
        _by_default(lambda rank: rank - 1),
        {"13": "that is the default of version 13"},
    ),
    Mistake(
        "default_axis_0_always",
        "a missing axis was taken for 0",
        _by_default(lambda rank: 0),
    ),
    Mistake(
        "negative_axis_off_by_one",
        "negative axes were counted from -2, so that -2 was taken for the last one",
        _with_axis(lambda axis, rank: axis if axis >= -1 else axis + 1),
        {"1": _NOT_FROM_THE_BACK},
    ),
    Mistake(
        "negative_axis_after_squeezing",
        "the last axes of one element were dropped before a negative axis was counted",
        _squeezed_first,
        {"1": _NOT_FROM_THE_BACK},
    ),
    Mistake(
        "minus_sign_ignored",
        "the minus sign of a negative axis was ignored",
        _with_axis(lambda axis, rank: abs(axis)),
    ),
    Mistake(
        "refuses_negative_axes",
        "negative axes were refused",
        _refuses(lambda axis: isinstance(axis, int) and axis < 0, "the axis is negative"),
        {"1": _NOT_FROM_THE_BACK},
    ),
    Mistake(
        "refuses_a_missing_axis",
        "a missing axis was refused",
        _refuses(lambda axis: axis is None, "the axis is missing"),
    ),
    Mistake(
        "axis_0_is_no_axis",
        "axis 0 was taken for a missing axis, and replaced by the default",
        _axis_0_is_none,
    ),
    Mistake(
        "left_coerced",
        "the output kept the two dimensions that the input was coerced to",
        _left_coerced,
        {"13": "version 13 coerces nothing"},
    ),
    Mistake(
        "newest_version_always",
        "version 13 was computed, whatever the model's opset",
        _as_version(13),
        {"13": "that is the version asked for"},
    ),
    Mistake(
        "version_11_always",
        "version 11 was computed, whatever the model's opset",
        _as_version(11),
        {
            "1": "version 11 only accepts more: negative axes, of which version 1 says nothing",
            "11": "that is the version asked for",
        },
    ),
)

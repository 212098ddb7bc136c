"""Softmax as another version, or with another axis than the model states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opcheck.engine.axes import coerced_to_2d
from opcheck.engine.mistakes import Answer, Mistake, Node
from opcheck.engine.ops.softmax.steps import axis_of
from opcheck.errors import InvalidNode
from opcheck.model import Array

_NOT_FROM_THE_BACK = "version 1 counts no axis from the back"


def _before_13(why: str) -> dict[str, str]:
    return {"1": why, "11": why}


def _as_version(since: int) -> Answer:
    return lambda node: replace(node, op=replace(node.op, since=since)).right


def _with_axis(change: Callable[[Any, int], int]) -> Answer:
    """A stated axis is changed; `change` takes it, whatever it is, and the rank."""

    def answer(node: Node) -> tuple[Array, ...]:
        stated: Any = node.attrs.get("axis")
        if not isinstance(stated, int):
            return node.right
        axis = change(stated, node.inputs[0].ndim)
        return _with(node, axis).right if axis != stated else node.right

    return answer


def _by_default(axis: Callable[[int], int]) -> Answer:
    """The axis where none is stated, of the rank."""
    return lambda node: (
        (node if "axis" in node.attrs else _with(node, axis(node.inputs[0].ndim))).right
    )


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
            rank = node.inputs[0].ndim
            axis: Any = node.attrs.get("axis", -1 if node.op.since >= 13 else 1)
            if not rank or not isinstance(axis, int):
                raise
            return _with(node, change(axis, rank)).right

    return answer


def _refuses(when: Callable[[Any], bool], why: str) -> Answer:
    """Refuses an axis, or None."""

    def answer(node: Node) -> tuple[Array, ...]:
        if when(node.attrs.get("axis")):
            raise InvalidNode(why)
        return node.right

    return answer


def _left_coerced(node: Node) -> tuple[Array, ...]:
    (out,) = node.right
    matrix = coerced_to_2d(out.shape, axis_of(node))
    return (out.reshape(matrix) if node.op.since < 13 else out,)


#: Mistakes about what is asked.
QUESTIONS: tuple[Mistake, ...] = (
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
        _before_13("that is the default of this version"),
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

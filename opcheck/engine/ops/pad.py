"""Pad and CenterCropPad, all versions: elements before and after those of a tensor.

A padded axis of D elements has those of the places -begin … D + end - 1. Outside of [0, D - 1] the
mode decides which element, or which constant, is held:

- constant: `constant_value`, "by default 0, empty string or False";
- reflect: "the reflection of the vector mirrored on the first and last values";
- edge: "the edge values of array";
- wrap: "wrap-around padding as if the data tensor forms a torus".

A negative pad removes elements.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_scalar, check_size, distinct, listed
from opcheck.engine.operators import check_one_of, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import Array, Tensor
from opcheck.numbers.faulty import bare

NAMES = """CenterCropPad Pad"""

#: For each element of a padded axis the place that it comes from; CONSTANT for none.
Places: TypeAlias = NDArray[np.intp]
CONSTANT = -1

MODES = ("constant", "reflect", "edge")
MODES_SINCE_19 = (*MODES, "wrap")

REFLECTION_BEYOND_THE_AXIS = Ruling(
    "reflection-beyond-the-axis",
    "The text does not state what is reflected where padding is longer than the axis.",
    ("refused", "back_and_forth"),
)


class Ends(NamedTuple):
    """How many elements an axis gets before and after its own; negative numbers remove some."""

    axis: int
    begin: int
    end: int


# ── one axis ──────────────────────────────────────────────────────────────────────────────────


def source_places(length: int, begin: int, end: int, mode: str) -> Places:
    """Return the place that each element of a padded axis comes from, [begin + length + end].

    length: that of the axis before, 0 or more; begin, end: how much is added at each end, or
    removed if negative. In the mode constant, CONSTANT stands for what is no element. If less than
    nothing is left, there are no places.

    Raises NotSupported where the text defines no element: modes that repeat elements of an empty
    axis, or next to removed ones. For more reflected elements at one end than the axis has, or for
    any if it has one, REFLECTION_BEYOND_THE_AXIS mirrors back and forth or raises InvalidNode.
    """
    places: Places = np.arange(-begin, max(length + end, -begin), dtype=np.intp)
    is_outside = (places < 0) | (places >= length)
    if mode == "constant" or not is_outside.any():
        return np.where(is_outside, CONSTANT, places)
    if not length or min(begin, end) < 0:
        raise_unspecified(f"{mode} padding of {begin} and {end} on {length}")
    if mode == "edge":
        return np.clip(places, 0, length - 1)
    # `xp.called` computes under a name, at which a mutant may put another function.
    if mode == "wrap":
        wrapped: Places = xp.called("wrapped_around", np.mod, places, length)
        return wrapped
    # An example of the text reflects as much as the axis is long.
    longest = length if length > 1 else 0
    if max(begin, end) > longest:
        return reflected_beyond(places, length)
    mirrored: Places = xp.called("reflected", reflected, places, length - 1)
    return mirrored


def reflected(places: Places, last: int) -> Places:
    """Return `places` mirrored on 0 and on the `last` one of the axis, once on each.

    That is enough for padding as long as the axis. An axis of one element has nothing to mirror,
    and no padding comes here for it.
    """
    mirrored: Places = np.abs(last - np.abs(last - np.abs(places)))
    return mirrored


def reflected_beyond(places: Places, length: int) -> Places:
    """Return `places` mirrored back and forth on an axis of this length, as often as it takes.

    One element is repeated. Raises InvalidNode by REFLECTION_BEYOND_THE_AXIS, unless its reading is
    that padding goes back and forth.
    """
    if REFLECTION_BEYOND_THE_AXIS.reading() == "refused":
        raise InvalidNode(f"reflect padding is longer than the axis of {length} elements")
    if length == 1:
        return np.zeros_like(places)
    last = length - 1
    return last - np.abs(last - places % (2 * last))


def padded_along(x: Tensor, axis: int, places: Places, fill: Any) -> Tensor:
    """Return `x` with the elements at `places` along `axis`, and `fill` at CONSTANT.

    axis: counted from the front; fill: a scalar, which an empty axis has at all places.
    """
    behind = x.ndim - 1 - axis
    if not x.shape[axis]:
        shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
        return np.full(shape, bare(fill), x.dtype)
    is_constant = (places < 0).reshape(-1, *[1] * behind)
    x = xp.take(x, np.maximum(places, 0), axis=axis)
    return xp.where(is_constant, fill, x) if is_constant.any() else x


# ── a tensor ──────────────────────────────────────────────────────────────────────────────────


def padded(x: Tensor, pads: Sequence[int], axes: Sequence[int], mode: str, fill: Any) -> Tensor:
    """Return `x` padded along `axes` in this mode, with `fill` for the mode constant.

    pads: "[x1_begin, x2_begin, ..., x1_end, x2_end,...]", two for each axis, negative ones to
    remove elements; axes: distinct, counted from the front.

    Raises InvalidNode for another count of pads, if less than nothing is left of an axis, and for
    reflections longer than the axis, unless REFLECTION_BEYOND_THE_AXIS has them go back and forth.
    Raises NotSupported if more is removed at one end than there is, and for modes other than
    constant that repeat elements of an empty axis, or next to removed ones. Raises MemoryError for
    an output that is too large.
    """
    count = len(axes)
    reject(len(pads) != 2 * count, f"{len(pads)} pads for {count} axes; allowed: 2 each")
    ends_of_axes = [Ends(axis, pads[n], pads[count + n]) for n, axis in enumerate(axes)]
    check_removed(x, pads, ends_of_axes)
    added = {ends.axis: ends.begin + ends.end for ends in ends_of_axes}
    # Places are counted along an axis, though the tensor be empty.
    check_size([max(1, size) + max(0, added.get(axis, 0)) for axis, size in enumerate(x.shape)])
    for axis, begin, end in ends_of_axes:
        places = source_places(x.shape[axis], begin, end, mode)
        x = padded_along(x, axis, places, fill)
    return x


def check_removed(x: Tensor, pads: Sequence[int], ends_of_axes: Iterable[Ends]) -> None:
    """Raise an error if pads remove more than there is.

    pads: as the node has them, for the message; ends_of_axes: the same by axis. Raises InvalidNode
    if less than nothing is left of an axis; NotSupported if more is removed at one end than the
    axis has, though the other end adds as much.
    """
    for axis, begin, end in ends_of_axes:
        if x.shape[axis] + begin + end < 0:
            raise InvalidNode(f"pads {pads} leave less than nothing of shape {x.shape}")
    for axis, begin, end in ends_of_axes:
        if -min(begin, end) > x.shape[axis]:
            raise_unspecified("removing more than there is")


def axes_in_question(axes: Tensor | Sequence[int] | None, rank: int) -> Sequence[int]:
    """Return the axes that an attribute or a tensor lists, counted from the front; all for None.

    Raises InvalidNode for a tensor that is not a list, and for an axis out of range, [-rank, rank -
    1]; NotSupported for an axis that is named twice.
    """
    return range(rank) if axes is None else distinct(listed("axes", axes), rank)


# ── Pad ───────────────────────────────────────────────────────────────────────────────────────

PAD = operator("Pad", exact=True)


@PAD.formula(1)
def pad_1(data: Tensor, *, mode: str, paddings: Sequence[int], value: float) -> Tensor:
    """Return `data` padded by attributes, of which the text states the order in two ways.

    The example has both ends of an axis side by side, and the attribute's text all beginnings
    first. Raises NotSupported where that matters, and for negative numbers; InvalidNode for an
    unknown mode, for other than two paddings for each axis, and for reflections longer than the
    axis, unless REFLECTION_BEYOND_THE_AXIS has them go back and forth. An empty axis raises
    NotSupported in modes other than constant; an output that is too large, MemoryError.
    """
    if len(paddings) == 2 * data.ndim:
        beginnings_first = np.reshape(paddings, (2, -1))
        is_same_either_way = (beginnings_first.T.reshape(-1) == beginnings_first.reshape(-1)).all()
        if (beginnings_first < 0).any() or not is_same_either_way:
            raise NotSupported("the text contradicts itself about the order of paddings")
    return pad_2(data, mode=mode, pads=paddings, value=value)


@PAD.formula(2)
def pad_2(data: Tensor, *, mode: str, pads: Sequence[int], value: float) -> Tensor:
    """Return `data` padded by attributes along every axis, with `value` in the mode constant.

    pads: all beginnings, then all ends; negative ones remove elements. Raises InvalidNode for an
    unknown mode, for other than two pads for each axis, if less than nothing is left of an axis,
    and for reflections longer than the axis, unless REFLECTION_BEYOND_THE_AXIS has them go back and
    forth. Raises NotSupported if one end removes more than there is, and in other modes for an
    empty axis or next to removed elements; MemoryError for an output that is too large.
    """
    check_one_of("mode", mode, *MODES)
    return padded(data, listed("pads", pads), range(data.ndim), mode, data.dtype.type(value))


def pad(
    modes: Sequence[str],
    data: Tensor,
    pads: Tensor,
    constant_value: Tensor | None = None,
    axes: Tensor | None = None,
    *,
    mode: str,
) -> Tensor:
    """Return `data` padded by inputs along `axes`, by default along every axis.

    modes: those of the version. pads: all beginnings, then all ends; negative ones remove elements.
    constant_value: a scalar, used in the mode constant; by default 0, "" for texts. axes: distinct,
    negative ones count from the end.

    Raises InvalidNode for other modes, for pads and axes that are not lists, axes out of range,
    other than two pads for each axis, if less than nothing is left of one, for a constant of other
    than one element (or by ONE_ELEMENT_AS_A_SCALAR of another rank), and for long reflections,
    unless REFLECTION_BEYOND_THE_AXIS has them go back and forth. Raises NotSupported without a
    constant for types that have no zero, for an axis named twice, if one end removes more than
    there is, and in other modes for an empty axis or next to removed elements. Raises MemoryError
    for an output that is too large.
    """
    check_one_of("mode", mode, *modes)
    named_axes = axes_in_question(axes, data.ndim)
    is_text = data.dtype == object
    fill: Array = "" if is_text else np.zeros((), data.dtype)
    if mode == "constant" and constant_value is not None:
        check_scalar("constant_value", constant_value)
        fill = xp.reshape(constant_value, ())
    elif mode == "constant" and not is_text and fill != 0:
        raise NotSupported(f"the padding value is zero, which {data.dtype} has none of")
    return padded(data, listed("pads", pads), named_axes, mode, fill)


@PAD.formula(11, 13)
def pad_11(
    data: Tensor, pads: Tensor, constant_value: Tensor | None = None, *, mode: str
) -> Tensor:
    """Return `data` padded by inputs along every axis.

    pads: [2 * rank], all beginnings, then all ends; negative ones remove elements. constant_value:
    of one element, for the mode constant; by default 0, "" for texts. Raises InvalidNode for an
    unknown mode, pads of another shape, if less than nothing is left of an axis, for a constant of
    other than one element (or by ONE_ELEMENT_AS_A_SCALAR of another rank), and for reflections
    longer than the axis, unless REFLECTION_BEYOND_THE_AXIS has them go back and forth. Raises
    NotSupported if one end removes more than there is, and in modes other than constant for an
    empty axis or next to removed elements; MemoryError for an output that is too large.
    """
    return pad(MODES, data, pads, constant_value, mode=mode)


PAD.formula(18)(partial(pad, MODES))
PAD.formula(19, 21, 23, 24, 25)(partial(pad, MODES_SINCE_19))


# ── CenterCropPad ─────────────────────────────────────────────────────────────────────────────

CENTER_CROP_PAD = operator("CenterCropPad", exact=True)


def half(count: int) -> int:
    """Return half of `count`, rounded towards zero."""
    return count // 2 if count > 0 else -(-count // 2)


@CENTER_CROP_PAD.formula(18)
def center_crop_pad(input_data: Tensor, shape: Tensor, *, axes: Sequence[int] | None) -> Tensor:
    """Return the center of the input in the sizes `shape` along `axes`, by default along all.

    "The starting value for the cropping window is rounded down", so that of n elements left over n
    // 2 are removed before. Of n missing ones n // 2 are added there: "an additional pixel will be
    added to the right side". "The padding value used is zero."

    Raises InvalidNode unless `shape` is a list of a size for each axis, none is negative, and the
    axes are in range. Raises NotSupported for texts that are padded and for an axis that is named
    twice; MemoryError for an output that is too large.
    """
    sizes = listed("shape", shape)
    named_axes = axes_in_question(axes, input_data.ndim)
    if len(sizes) != len(named_axes) or any(size < 0 for size in sizes):
        raise InvalidNode(f"shape {sizes}; allowed: a size for each of {len(named_axes)} axes")
    missing = [size - input_data.shape[axis] for size, axis in zip(sizes, named_axes, strict=True)]
    if input_data.dtype == object and any(count > 0 for count in missing):
        raise NotSupported("the padding value is zero, which is no text")
    begins = [half(count) for count in missing]
    ends = [count - begin for count, begin in zip(missing, begins, strict=True)]
    fill = np.zeros((), input_data.dtype)
    return padded(input_data, [*begins, *ends], named_axes, "constant", fill)

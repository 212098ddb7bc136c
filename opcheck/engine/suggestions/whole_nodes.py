"""Rules about nodes as a whole: shapes, types and attributes that a text does not mention."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import evaluate
from opcheck.engine.suggestions import Masks, Subject, real
from opcheck.model import Array


def _covered(subject: Subject, is_covered: object) -> Masks | None:
    """Return masks of everything, or None."""
    return subject.all() if is_covered else None


def _first(subject: Subject) -> Array:
    """Return the first input that is given."""
    return subject.node.given[0]


def _attribute(subject: Subject, name: str, default: Any = None) -> Any:
    """Return an attribute that the node states, else the default."""
    return subject.node.attrs.get(name, default)


def of_other_ranks_than_2(subject: Subject) -> Masks | None:
    """Cover tensors that are no matrices."""
    return _covered(subject, _first(subject).ndim != 2)


def of_rank_2(subject: Subject) -> Masks | None:
    """Cover tensors that have no axis after the channels."""
    return _covered(subject, _first(subject).ndim == 2)


def of_rank_0(subject: Subject) -> Masks | None:
    """Cover scalars."""
    return _covered(subject, _first(subject).ndim == 0)


def of_no_elements(subject: Subject) -> Masks | None:
    """Cover nodes whose first input has no element."""
    return _covered(subject, _first(subject).size == 0)


def of_no_elements_of_a_batch(subject: Subject) -> Masks | None:
    """Cover tensors without channels, or of which each channel has no element."""
    return _covered(subject, 0 in _first(subject).shape[1:])


def of_no_indices(subject: Subject) -> Masks | None:
    """Cover an empty list of indices."""
    indices = subject.input(1)
    return _covered(subject, indices is not None and indices.size == 0)


def of_no_spread(subject: Subject) -> Masks | None:
    """Cover random numbers that can only be one number."""
    is_normal = "Normal" in subject.name
    low, high = _attribute(subject, "low", 0.0), _attribute(subject, "high", 1.0)
    is_one = _attribute(subject, "scale", 1.0) == 0 if is_normal else low == high
    return _covered(subject, is_one)


def of_blocks(subject: Subject) -> Masks | None:
    """Cover blocks whose order changes the output, of versions that do not state it.

    Version 13 of SpaceToDepth leaves open the order of channels alone.
    """
    first_stated = {"DepthToSpace": 11, "SpaceToDepth": 28}[subject.name]
    if subject.since >= first_stated or _attribute(subject, "blocksize", 1) == 1:
        return None
    x = _first(subject)
    if subject.since > 1:
        return _covered(subject, x.shape[1] > 1)
    turned = replace(subject.node, inputs=(np.swapaxes(x, 2, 3),))
    [by_columns] = evaluate(turned)
    same = np.array_equal(np.swapaxes(by_columns, 2, 3), subject.outputs[0])
    return _covered(subject, not same)


def of_two_types(subject: Subject) -> Masks | None:
    """Cover inputs of more than one type of floats."""
    return _covered(subject, len({x.dtype for x in subject.floats}) > 1)


def of_a_value_of_another_rank(subject: Subject) -> Masks | None:
    """Cover a value whose tensor is not a vector of one element."""
    value = _attribute(subject, "value")
    return _covered(subject, isinstance(value, np.ndarray) and value.ndim != 1)


def of_no_axes(subject: Subject) -> Masks | None:
    """Cover an empty list of axes, before version 13 of Unsqueeze."""
    axes = _attribute(subject, "axes", subject.input(1))
    is_stated = subject.name == "Unsqueeze" and subject.since >= 13
    return _covered(subject, axes is not None and np.size(axes) == 0 and not is_stated)


def of_pads_as_large_as_windows(subject: Subject) -> Masks | None:
    """Cover windows that may lie in padding alone: a pad is not smaller than the window."""
    window = _attribute(subject, "kernel_shape") or _attribute(subject, "WindowSize") or ()
    pads = _attribute(subject, "pads")
    if pads is None:
        pads = [
            *(_attribute(subject, "StartPadding") or [0] * len(window)),
            *(_attribute(subject, "EndPadding") or [0] * len(window)),
        ]
    sizes = [*window, *window]
    return _covered(subject, any(pad >= size for pad, size in zip(pads, sizes, strict=False)))


def of_texts(subject: Subject) -> Masks | None:
    """Cover tensors of texts."""
    x = _first(subject)
    dtype = dtypes.of(x)
    return _covered(subject, x.size > 0 and dtype is not None and dtype.kind == "string")


def of_classes(subject: Subject) -> Masks | None:
    """Cover a single index, no classes at all, and indices and a depth that are not whole."""
    indices, depth = map(real, subject.node.given[:2])
    has_fraction = (indices % 1 != 0).any() or (depth % 1 != 0).any()
    return _covered(subject, indices.ndim == 0 or not depth.any() or has_fraction)


def of_slices(subject: Subject) -> Masks | None:
    """Cover slices along an axis, where their order depends on which element is compared first."""
    axis = _attribute(subject, "axis")
    x = _first(subject)
    if axis is None or _attribute(subject, "sorted", 1) == 0 or not x.shape[axis]:
        return None
    slices = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    if not slices.size:
        return _covered(subject, len(slices) > 1)
    if dtypes.of(x) is None or slices.dtype.hasobject:
        return None
    numbers = real(slices)
    forward = numbers[np.lexsort(numbers.T[::-1])]
    backward = numbers[np.lexsort(numbers.T)]
    return _covered(subject, not np.array_equal(forward, backward, equal_nan=True))


def of_a_slope_for_each_channel(subject: Subject) -> Masks | None:
    """Cover a slope of several elements that is not one for each element, before version 7."""
    slope = subject.input(1)
    if slope is None or subject.since >= 7:
        return None
    return _covered(subject, slope.size > 1 and slope.shape != _first(subject).shape)


def of_negative_axes(subject: Subject) -> Masks | None:
    """Cover axes that count from the back."""
    axes = _attribute(subject, "axes", ())
    return _covered(subject, any(axis < 0 for axis in axes))


def of_negative_positions(subject: Subject) -> Masks | None:
    """Cover positions below 0."""
    place = {"RotaryEmbedding": 3, "TensorScatter": 2}[subject.name]
    positions = subject.input(place)
    return _covered(subject, positions is not None and bool((positions < 0).any()))


def of_ranges_of_slices(subject: Subject) -> Masks | None:
    """Cover a slice of which the version does not state where its range begins or ends."""
    x = _first(subject)
    starts, ends = (
        np.asarray(_attribute(subject, name, subject.input(place))).astype(object).tolist()
        for name, place in (("starts", 1), ("ends", 2))
    )
    axes = _attribute(subject, "axes", subject.input(3))
    axes = range(len(starts)) if axes is None else np.asarray(axes).tolist()
    given = subject.input(4)
    steps: list[int] = [1] * len(starts) if given is None else given.tolist()
    if x.ndim == 0:
        return subject.all()
    ranges = zip(starts, ends, axes, steps, strict=False)
    return _covered(
        subject,
        any(
            _is_vague(subject.since, x.shape[axis], start, end, step)
            for start, end, axis, step in ranges
        ),
    )


def _is_vague(since: int, size: int, start: int, end: int, step: int) -> bool:
    """Return True if a version of Slice does not state a range along an axis of this size."""
    if since >= 13:
        return size == 0 and step < 0
    if start < -size or (step > 0 and end < -size):
        return True
    begin = start + size * (start < 0)
    stop = end + size * (end < 0)
    if step > 0:
        return min(stop, size) < min(begin, size)
    is_before_the_first = end < -size - 1 and since < 11
    return begin >= size or (end >= -size and stop > begin) or is_before_the_first


def of_an_odd_padding(subject: Subject) -> Masks | None:
    """Cover a stated output shape with an odd padding, where the equations are turned around."""
    shape = _attribute(subject, "output_shape")
    x, kernel = subject.node.given[:2]
    if subject.since > 1 or shape is None:
        return None
    axes = x.ndim - 2
    strides = _attribute(subject, "strides", [1] * axes)
    dilations = _attribute(subject, "dilations", [1] * axes)
    added = _attribute(subject, "output_padding", [0] * axes)
    sizes = zip(
        x.shape[2:], kernel.shape[2:], strides, dilations, added, shape[-axes:], strict=True
    )
    return _covered(
        subject,
        any((s * (n - 1) + a + (k - 1) * d + 1 - y) % 2 for n, k, s, d, a, y in sizes),
    )


def of_lists_of_one(subject: Subject) -> Masks | None:
    """Cover limits and thresholds that are lists of one element."""
    given = [subject.input(place) for place in (2, 3, 4)]
    return _covered(subject, any(x is not None and x.ndim == 1 for x in given))


def of_reflections_beyond_the_axis(subject: Subject) -> Masks | None:
    """Cover reflections by the whole length of an axis or more, and those of versions 1 and 2."""
    if _attribute(subject, "mode", "constant") != "reflect":
        return _covered(subject, _first(subject).ndim == 0)
    if subject.since <= 2:
        return subject.all()
    pads = subject.input(1)
    x = _first(subject)
    if pads is None or len(pads) != 2 * x.ndim:
        return None
    sizes = [*x.shape, *x.shape]
    return _covered(subject, any(pad >= size for pad, size in zip(pads, sizes, strict=True)))


def of_ties_in_any_order(subject: Subject) -> Masks | None:
    """Cover equal elements where the order of the outputs is not stated."""
    if _attribute(subject, "sorted", 1) != 0:
        return None
    x = np.moveaxis(_first(subject), _attribute(subject, "axis", -1), -1)
    rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    return _covered(subject, any(len(np.unique(row)) < len(row) for row in rows))


def of_large_integers_of_range(subject: Subject) -> Masks | None:
    """Cover integers whose difference or count float32 or the type itself does not hold."""
    x = _first(subject)
    if x.dtype.kind not in "iu":
        return None
    start, limit = int(subject.node.given[0]), int(subject.node.given[1])
    is_far = abs(limit - start) > min(np.iinfo(x.dtype).max, 2**53)
    return _covered(subject, is_far)


def of_powers_beyond_the_range(subject: Subject) -> Masks | None:
    """Cover norms of which a power leaves the range of the type that is computed in."""
    x = _first(subject)
    dtype = dtypes.of(x)
    assert dtype
    computed_in = dtypes.DTYPES["float64" if dtype.name == "float64" else "float32"]
    p = _attribute(subject, "p", 2)
    magnitudes = np.abs(real(x))
    exponents = p * np.log2(magnitudes[(magnitudes > 0) & np.isfinite(magnitudes)])
    largest = np.log2(dtypes.limits(computed_in)[1])
    smallest = np.log2(computed_in.smallest_normal)
    return _covered(subject, ((exponents > largest) | (exponents < smallest)).any())


def of_rounded_steps(subject: Subject) -> Masks | None:
    """Cover elements of a range in 16 bits that the type does not hold."""
    start, _, delta = (real(x) for x in subject.node.given[:3])
    output = subject.outputs[0]
    dtype = dtypes.of(output)
    if dtype is None or not dtype.is_half:
        return None
    return (np.asarray(start + delta * np.arange(len(output)) != real(output)),)


def admits_added_steps(subject: Subject, place: int, output: Array) -> Array:
    """Admit what comes of adding the step again and again, each time rounded either way."""
    start, _, delta = (real(x) for x in subject.node.given[:3])
    dtype = dtypes.of(output)
    assert dtype
    steps = np.arange(len(output))
    exact = start + delta * steps
    largest = np.maximum(np.abs(start), np.abs(exact))
    unit = 2 * dtypes.half_ulp(np.asarray(largest), dtype)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(real(output) - exact) <= steps * unit)


def of_other_ranks_than_1(subject: Subject) -> Masks | None:
    """Cover tensors that are no vectors, of version 1."""
    return _covered(subject, subject.since == 1 and _first(subject).ndim != 1)


def of_axes_of_vectors(subject: Subject) -> Masks | None:
    """Cover a vector with a scale for each element, of version 19."""
    scale = subject.input(1)
    is_vector = _first(subject).ndim == 1 and scale is not None and scale.ndim == 1
    return _covered(subject, subject.since == 19 and is_vector)


def of_sizes_beyond_32_bits(subject: Subject) -> Masks | None:
    """Cover a size that 32 bits do not hold."""
    return _covered(subject, _attribute(subject, "size", 0) >= 1 << 31)


def of_bits_shifted_out(subject: Subject) -> Masks | None:
    """Cover integers that lose bits to the left, of version 11."""
    if subject.since > 11 or _attribute(subject, "direction") != "LEFT":
        return None
    x, y = subject.node.given
    # More than all bits lose no more than all of them.
    width = 8 * x.dtype.itemsize
    shifted = x.astype(object) << np.minimum(y, width).astype(object)
    return (np.asarray(shifted > np.iinfo(x.dtype).max, bool),)


def of_texts_to_split(subject: Subject) -> Masks | None:
    """Cover empty texts with a delimiter, and whitespace of other kinds without one."""
    texts = _first(subject).reshape(-1).tolist()
    if _attribute(subject, "delimiter", ""):
        return _covered(subject, "" in texts)
    return _covered(subject, any({*"\v\f"} & {*text} for text in texts))


def of_halves(subject: Subject) -> Masks | None:
    """Cover quantized numbers that lie in the middle of two integers."""
    near = [
        replace(subject.node, inputs=_with_scale(subject, factor))
        for factor in (1 - 1e-6, 1 + 1e-6)
    ]
    [right] = subject.outputs
    [below], [above] = map(evaluate, near)
    return (np.asarray((below != right) | (above != right)),)


def admits_next_integers(subject: Subject, place: int, output: Array) -> Array:
    """Admit integers next to the right ones."""
    return np.asarray(np.abs(real(output) - real(subject.outputs[place])) <= 1)


def _with_scale(subject: Subject, factor: float) -> tuple[Array | None, ...]:
    """Return the inputs of QLinearConv with another y_scale."""
    inputs = [*subject.node.inputs]
    scale = inputs[6]
    assert scale is not None
    inputs[6] = (scale * factor).astype(scale.dtype)
    return tuple(inputs)

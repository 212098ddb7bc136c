"""Rules about nodes that compute: types, roundings and pads that a text does not state.

Next to each rule stands what is admitted instead: numbers, outputs, or the answers of other nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, prod

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import is_real
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node
from opcheck.engine.suggestions import Masks, Subject, real
from opcheck.model import Array

#: A norm may be off by so many half ULP, where powers leave the range on the way.
_HALF_ULP_OF_NORMS = 64
#: A count of numbers that is computed in float32 is off by this part at most.
_OF_COUNTS_IN_FLOAT32 = 2.0**-22

# ── two types ─────────────────────────────────────────────────────────────────────────────────


def of_two_types(subject: Subject) -> Masks | None:
    """Cover inputs of more than one type of floats."""
    return subject.all_if(len(_types(subject)) > 1)


def _types(subject: Subject) -> list[np.dtype]:
    """Return the types of the floats among the inputs, each once."""
    return [*{x.dtype: None for x in subject.floats}]


def in_either_type(subject: Subject) -> Iterator[Node]:
    """Yield the node with all floats in each of their types."""
    for dtype in _types(subject):
        with np.errstate(over="ignore"):
            yield from subject.variants(
                [x.astype(dtype) if is_real(x) else x for x in subject.node.inputs]
            )


# ── LpPool ────────────────────────────────────────────────────────────────────────────────────


def of_powers_beyond_the_range(subject: Subject) -> Masks | None:
    """Cover norms of which a power leaves the range of the type that is computed in."""
    exponents = _exponents_of_powers(subject)
    are_numbers = np.isfinite(exponents)
    smallest, largest = _exponents_of_range(subject)
    return subject.all_if(((exponents > largest) | (exponents < smallest))[are_numbers].any())


def _exponents_of_powers(subject: Subject) -> Array:
    """Return the logarithms to base 2 of the powers of all elements; -∞ of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(subject.attribute("p", 2) * np.log2(np.abs(real(subject.first))))


def _exponents_of_range(subject: Subject) -> tuple[float, float]:
    """Return the logarithms of the smallest normal and of the largest number that is computed."""
    dtype = dtypes.of(subject.first)
    assert dtype
    computed_in = dtypes.DTYPES["float64" if dtype.name == "float64" else "float32"]
    ends = computed_in.smallest_normal, dtypes.limits(computed_in)[1]
    return float(np.log2(ends[0])), float(np.log2(ends[1]))


def accepts_other_norms(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept norms of powers that are lost: 0 for small ones, an end of the range for large ones.

    A norm lies between the right one and that without elements whose power is subnormal. Where its
    own power is too large, it is infinite, the largest number, or the root of that.
    """
    [output], [right] = outputs, map(real, subject.node.right)
    if output.shape != right.shape:
        return False
    dtype = dtypes.of(output)
    assert dtype
    got, p = real(output), subject.attribute("p", 2)
    smallest, largest = _exponents_of_range(subject)
    x = subject.first
    is_kept = _exponents_of_powers(subject) >= smallest
    [without] = subject.variants([np.where(is_kept, x, np.zeros((), x.dtype))])
    [least] = map(real, without.right)
    with np.errstate(all="ignore"):
        exponent = p * np.log2(right)
        # A sum of subnormal powers is rounded to multiples of the smallest of them.
        count = prod(subject.attribute("kernel_shape", ()))
        step = count * np.exp2(np.float64(smallest) - exponent)
        most = np.where(exponent < smallest, right * np.minimum(1 + step, 2) ** (1 / p), right)
        room = _HALF_ULP_OF_NORMS * dtypes.half_ulp(np.asarray(right), dtype)
        is_between = (got >= least - room) & (got <= most + room)
        is_large = exponent >= largest - 1
        root = np.exp2(largest / p)
        is_end = np.abs(got - root) <= _HALF_ULP_OF_NORMS * dtypes.half_ulp(np.asarray(root), dtype)
        is_lost = is_large & (is_end | (got >= dtypes.limits(dtype)[1]))
    is_same = (got == right) | (np.isnan(got) & np.isnan(right))
    return bool((is_same | is_between | is_lost).all())


# ── Range ─────────────────────────────────────────────────────────────────────────────────────


def of_large_integers_of_range(subject: Subject) -> Masks | None:
    """Cover integers whose difference or count float32 or the type itself does not hold."""
    x = subject.first
    if x.dtype.kind not in "iu":
        return None
    start, limit = int(subject.node.given[0]), int(subject.node.given[1])
    is_far = abs(limit - start) > min(np.iinfo(x.dtype).max, 2**53)
    return subject.all_if(is_far)


def accepts_other_counts(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept the numbers of the range up to another count, that of a difference in another type.

    It wraps around in the type itself, or is computed in float32.
    """
    [output] = outputs
    start, limit, delta = (int(x) for x in subject.node.given[:3])
    if output.ndim != 1:
        return False
    bits = np.iinfo(output.dtype).bits
    wrapped = (limit - start + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    count = max(0, -((start - limit) // delta))
    is_near = abs(len(output) - count) <= 1 + ceil(count * _OF_COUNTS_IN_FLOAT32)
    if not is_near and len(output) != max(0, -(-wrapped // delta)):
        return False
    first, step = np.uint64(start % (1 << 64)), np.uint64(delta % (1 << 64))
    numbers = first + np.arange(len(output), dtype=np.uint64) * step
    return np.array_equal(output, numbers.astype(output.dtype))


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


# ── ConvTranspose ─────────────────────────────────────────────────────────────────────────────


def of_an_odd_padding(subject: Subject) -> Masks | None:
    """Cover a stated output shape with an odd padding, where the equations are turned around."""
    if subject.since > 1 or subject.attribute("output_shape") is None:
        return None
    return subject.all_if(any(padding % 2 for padding in _paddings(subject)))


def _paddings(subject: Subject) -> list[int]:
    """Return how much the stated output shape takes from each axis, negative to add to it."""
    x, kernel = subject.node.given[:2]
    axes = x.ndim - 2
    strides = subject.attribute("strides", [1] * axes)
    dilations = subject.attribute("dilations", [1] * axes)
    added = subject.attribute("output_padding", [0] * axes)
    shape = subject.attribute("output_shape")[-axes:]
    sizes = zip(x.shape[2:], kernel.shape[2:], strides, dilations, added, shape, strict=True)
    return [s * (n - 1) + a + (k - 1) * d + 1 - y for n, k, s, d, a, y in sizes]


def with_either_padding(subject: Subject) -> Iterator[Node]:
    """Yield the node with the larger half of each padding at the end, and at the beginning."""
    totals = _paddings(subject)
    smaller = [total // 2 for total in totals]
    larger = [total - half for total, half in zip(totals, smaller, strict=True)]
    for pads in ([*smaller, *larger], [*larger, *smaller]):
        yield subject.node.with_attrs(output_shape=None, auto_pad=None, pads=pads)


# ── PRelu and DequantizeLinear ────────────────────────────────────────────────────────────────


def of_a_slope_for_each_channel(subject: Subject) -> Masks | None:
    """Cover a slope of several elements that is not one for each element, before version 7."""
    slope = subject.input(1)
    if slope is None or subject.since >= 7:
        return None
    return subject.all_if(slope.size > 1 and slope.shape != subject.first.shape)


def with_a_slope_that_broadcasts(subject: Subject) -> Iterator[Node]:
    """Yield the node of version 7, whose slope broadcasts as NumPy's arrays do."""
    yield replace(subject.node.at(7), attrs={})


def of_axes_of_vectors(subject: Subject) -> Masks | None:
    """Cover a vector with a scale for each element, of version 19."""
    scale = subject.input(1)
    if scale is None or not scale.size:
        # There is no first scale that could be that of the whole tensor.
        return None
    is_vector = subject.first.ndim == 1 and scale.ndim == 1
    return subject.all_if(subject.since == 19 and is_vector)


def with_one_scale(subject: Subject) -> Iterator[Node]:
    """Yield the node whose first scale and zero point are those of the whole tensor."""
    x, *each = subject.node.inputs
    firsts = [None if array is None else array[0] for array in each]
    yield from subject.variants([x, *firsts])


# ── integers ──────────────────────────────────────────────────────────────────────────────────


def of_bits_shifted_out(subject: Subject) -> Masks | None:
    """Cover integers that lose bits to the left, of version 11."""
    if subject.since > 11 or subject.attribute("direction") != "LEFT":
        return None
    x, y = subject.node.given
    # More than all bits lose no more than all of them.
    width = 8 * x.dtype.itemsize
    shifted = x.astype(object) << np.minimum(y, width).astype(object)
    return (np.asarray(shifted > np.iinfo(x.dtype).max, bool),)


def admits_other_shifts(subject: Subject, place: int, output: Array) -> Array:
    """Admit the largest integer, and a shift by what is left of the distance in 32 or 64 bits."""
    x, y = subject.node.given
    largest = np.iinfo(x.dtype).max
    admitted = output == largest
    for width in (8 * x.dtype.itemsize, 32, 64):
        shifted = x.astype(object) << (y % width).astype(object)
        admitted |= output == (shifted & largest).astype(x.dtype)
    return np.asarray(admitted)


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

"""Rules about nodes that move elements: orders, places and ranges that a text does not state.

Next to each rule stands what it accepts instead: a list of other answers, or a check of outputs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import fmod, prod
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node
from opcheck.engine.ops.quantization import number_of_text
from opcheck.engine.suggestions import (
    Masks,
    Subject,
    are_alike,
    are_one_of,
    are_small,
    real,
)
from opcheck.model import Array

#: From the length of an axis, a start, an end and a step: the places of a slice.
_Range: TypeAlias = Callable[[int, int, int, int], Sequence[int]]

# ── DepthToSpace and SpaceToDepth ─────────────────────────────────────────────────────────────


def of_blocks(subject: Subject) -> Masks | None:
    """Cover blocks whose order changes the output, of versions that do not state it.

    Version 13 of SpaceToDepth leaves open the order of channels alone.
    """
    first_stated = {"DepthToSpace": 11, "SpaceToDepth": 28}[subject.name]
    if subject.since >= first_stated or subject.attribute("blocksize", 1) == 1:
        return None
    x = subject.first
    if subject.since > 1:
        return subject.all_if(x.shape[1] > 1)
    turned = replace(subject.node, inputs=(np.swapaxes(x, 2, 3),))
    [by_columns] = evaluate(turned)
    same = np.array_equal(np.swapaxes(by_columns, 2, 3), subject.outputs[0])
    return subject.all_if(not same)


def accepts_other_blocks(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept any order of a block's rows and columns, and of the channels."""
    moved = _space_to_depth if subject.name == "SpaceToDepth" else _depth_to_space
    size = subject.attribute("blocksize")
    answers = ([moved(subject.first, size, order)] for order in permutations(range(3)))
    return are_one_of(outputs, answers)


def _space_to_depth(x: Array, size: int, order: Sequence[int]) -> Array:
    """Return [N, C * size², H / size, W / size] of x, [N, C, H, W].

    order: how the channels, the rows and the columns of a block, which are 0, 1 and 2, follow each
    other in the depth.
    """
    batches, channels, height, width = x.shape
    rows, columns = height // size, width // size
    split = x.reshape(batches, channels, rows, size, columns, size)
    parts = [(1, 3, 5)[place] for place in order]
    moved = split.transpose(0, *parts, 2, 4)
    return moved.reshape(batches, channels * size**2, rows, columns)


def _depth_to_space(x: Array, size: int, order: Sequence[int]) -> Array:
    """Return [N, C / size², H * size, W * size] of x, [N, C, H, W].

    order: as in `_space_to_depth`.
    """
    batches, depth, height, width = x.shape
    channels = depth // size**2
    lengths = (channels, size, size)
    split = x.reshape(batches, *(lengths[place] for place in order), height, width)
    places = [1 + order.index(place) for place in range(3)]
    moved = split.transpose(0, places[0], 4, places[1], 5, places[2])
    return moved.reshape(batches, channels, height * size, width * size)


# ── Squeeze and Unsqueeze ─────────────────────────────────────────────────────────────────────


def of_no_axes(subject: Subject) -> Masks | None:
    """Cover an empty list of axes, before version 13 of Unsqueeze."""
    axes = subject.attribute("axes", subject.input(1))
    is_stated = subject.name == "Unsqueeze" and subject.since >= 13
    return subject.all_if(axes is not None and np.size(axes) == 0 and not is_stated)


def accepts_all_axes_or_none(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept the input as it is; of Squeeze also without any axis of one element."""
    x = subject.first
    answers = [[x], [x.squeeze()]] if subject.name == "Squeeze" else [[x]]
    return are_one_of(outputs, answers)


# ── NonZero ───────────────────────────────────────────────────────────────────────────────────


def of_texts(subject: Subject) -> Masks | None:
    """Cover tensors of texts."""
    x = subject.first
    dtype = dtypes.of(x)
    return subject.all_if(x.size > 0 and dtype is not None and dtype.kind == "string")


def accepts_other_zeros(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept that the empty text is zero, a text that states 0, both, or none."""
    x = subject.first
    texts = x.reshape(-1).tolist()
    is_empty = np.reshape([text == "" for text in texts], x.shape)
    is_0 = np.reshape([number_of_text(text) == 0 for text in texts], x.shape)
    zeros = (is_empty, is_0, is_empty | is_0, np.zeros(x.shape, bool))
    return are_one_of(outputs, ([np.argwhere(~mask).T.astype(np.int64)] for mask in zeros))


# ── OneHot ────────────────────────────────────────────────────────────────────────────────────


def of_classes(subject: Subject) -> Masks | None:
    """Cover a single index, no classes at all, and indices and a depth that are not whole."""
    indices, depth = map(real, subject.node.given[:2])
    has_fraction = (indices % 1 != 0).any() or (depth % 1 != 0).any()
    return subject.all_if(indices.ndim == 0 or not depth.any() or has_fraction)


def accepts_other_classes(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept fractions that are rounded in any way, or are no class; an axis for a single index."""
    indices, depth, values = subject.node.given
    roundings: tuple[Callable[[Array], Array], ...] = (np.trunc, np.floor, np.ceil, np.rint)
    nodes = [[rounded(indices), rounded(depth), values] for rounded in roundings]
    no_class = np.asarray(real(depth).item() + 1).astype(indices.dtype)
    nodes.append([np.where(indices % 1 == 0, indices, no_class), np.trunc(depth), values])
    outputs = [*outputs]
    own = subject.outputs[0].shape
    if indices.ndim == 0 and outputs[0].ndim == len(own) + 1 and outputs[0].size == prod(own):
        outputs[0] = outputs[0].reshape(own)
    return are_one_of(outputs, subject.evaluated(*subject.variants(*nodes)))


# ── Unique ────────────────────────────────────────────────────────────────────────────────────


def of_slices(subject: Subject) -> Masks | None:
    """Cover slices along an axis, where their order depends on which element is compared first."""
    axis = subject.attribute("axis")
    x = subject.first
    if axis is None or subject.attribute("sorted", 1) == 0 or not x.shape[axis]:
        return None
    slices = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    if not slices.size:
        return subject.all_if(len(slices) > 1)
    if dtypes.of(x) is None or slices.dtype.hasobject:
        return None
    numbers = real(slices)
    forward = numbers[np.lexsort(numbers.T[::-1])]
    backward = numbers[np.lexsort(numbers.T)]
    return subject.all_if(not np.array_equal(forward, backward, equal_nan=True))


def accepts_any_order_of_slices(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept the unique slices in any order, if indices, inverse indices and counts follow it."""
    places = subject.node.outputs or range(len(outputs))
    given = dict(zip(places, outputs, strict=True))
    right = dict(zip(places, subject.outputs, strict=True))
    axis = subject.attribute("axis")
    if 0 not in right or given[0].shape != right[0].shape:
        return False
    rows = [_rows(y, axis) for y in (right[0], given[0])]
    numbers = {row: number for number, row in enumerate(rows[0])}
    if Counter(rows[0]) != Counter(rows[1]) or len(numbers) < len(rows[0]):
        return False
    order = np.array([numbers[row] for row in rows[1]], np.int64)
    wanted = {place: y[order] for place, y in right.items() if place in (1, 3)}
    if 2 in right:
        wanted[2] = np.argsort(order)[right[2]]
    return all(np.array_equal(given[place], want) for place, want in wanted.items())


def _rows(y: Array, axis: int) -> list[tuple[Any, ...]]:
    """Return the slices of `y` along an axis as tuples of numbers, subnormal ones as 0."""
    flushed = np.where(are_small(y), np.zeros((), y.dtype), y)
    slices = np.moveaxis(flushed, axis, 0)
    return [*map(tuple, slices.reshape(len(slices), prod(slices.shape[1:])).tolist())]


# ── RotaryEmbedding and TensorScatter ─────────────────────────────────────────────────────────


def of_negative_positions(subject: Subject) -> Masks | None:
    """Cover positions below 0."""
    place = {"RotaryEmbedding": 3, "TensorScatter": 2}[subject.name]
    positions = subject.input(place)
    return subject.all_if(positions is not None and bool((positions < 0).any()))


def rotations_at_other_positions(subject: Subject) -> Iterator[Node]:
    """Yield RotaryEmbedding with position 0 in place of negative ones, and with zeros as rows."""
    if subject.name != "RotaryEmbedding":
        return
    x, cos, sin, positions = subject.node.given
    is_negative = positions < 0
    beyond = np.asarray(len(cos), positions.dtype)
    with_zeros = [np.concatenate([cache, np.zeros_like(cache[:1])]) for cache in (cos, sin)]
    yield from subject.variants(
        [x, cos, sin, np.where(is_negative, np.zeros_like(beyond), positions)],
        [x, *with_zeros, np.where(is_negative, beyond, positions)],
    )


def accepts_other_writes(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept of TensorScatter writes from 0 on in place of a negative index, or no write there."""
    if subject.name != "TensorScatter":
        return False
    past, update, first = subject.node.given
    from_0 = subject.variants([past, update, np.maximum(first, 0)])
    answers = [*subject.evaluated(*from_0), (_written_inside(subject, past, update, first),)]
    return are_one_of(outputs, answers)


def _written_inside(subject: Subject, past: Array, update: Array, first: Array) -> Array:
    """Return the cache where remainders have the sign of the dividend, as in C.

    What they would write before the cache is not written.
    """
    axis = subject.attribute("axis", -2)
    written = past.copy()
    length = past.shape[axis]
    for batch, start in enumerate(first.tolist()):
        cache = np.moveaxis(written[batch], axis if axis < 0 else axis - 1, 0)
        rows = np.moveaxis(update[batch], axis if axis < 0 else axis - 1, 0)
        for n, row in enumerate(rows):
            place = int(fmod(start + n, length))
            if place >= 0:
                cache[place] = row
    return written


# ── Slice ─────────────────────────────────────────────────────────────────────────────────────


def of_ranges_of_slices(subject: Subject) -> Masks | None:
    """Cover a slice of which the version does not state where its range begins or ends."""
    x = subject.first
    if x.ndim == 0:
        return subject.all()
    return subject.all_if(
        any(
            _is_vague(subject.since, x.shape[axis], start, end, step)
            for axis, (start, end, step) in _ranges(subject)
        )
    )


def _ranges(subject: Subject) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Yield each axis of a slice with its start, end and step."""
    starts, ends = (
        np.asarray(subject.attribute(name, subject.input(place))).astype(object).tolist()
        for name, place in (("starts", 1), ("ends", 2))
    )
    axes = subject.attribute("axes", subject.input(3))
    axes = range(len(starts)) if axes is None else np.asarray(axes).tolist()
    given = subject.input(4)
    steps: list[int] = [1] * len(starts) if given is None else given.tolist()
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=False):
        yield axis, (start, end, step)


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


def accepts_other_ranges(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept ranges as Python has them, those clamped to the axis, and none along vague axes."""
    x = subject.first
    if x.ndim == 0:
        return are_one_of(outputs, [[x]])
    answers = []
    for places_of in (_as_python, _clamped, _nothing):
        places: list[Sequence[int]] = [range(size) for size in x.shape]
        for axis, bounds in _ranges(subject):
            is_vague = _is_vague(subject.since, x.shape[axis], *bounds)
            of_axis = places_of if is_vague else _as_python
            places[axis] = of_axis(x.shape[axis], *bounds)
        answers.append([x[np.ix_(*(np.array(each, np.intp) for each in places))]])
    return are_one_of(outputs, answers)


def _as_python(size: int, start: int, end: int, step: int) -> Sequence[int]:
    """Return the places of Python's slice."""
    return range(*slice(start, end, step).indices(size))


def _clamped(size: int, start: int, end: int, step: int) -> Sequence[int]:
    """Return the places from a start to an end that are moved into the axis, whatever the step."""
    begin, stop = (place + size * (place < 0) for place in (start, end))
    begin = min(max(begin, 0), size - (step < 0))
    stop = min(max(stop, 0), size)
    return range(begin, stop, step)


def _nothing(size: int, start: int, end: int, step: int) -> Sequence[int]:
    """Return no place."""
    return ()


# ── Pad ───────────────────────────────────────────────────────────────────────────────────────


def of_reflections_beyond_the_axis(subject: Subject) -> Masks | None:
    """Cover reflections by the whole length of an axis or more, and those of versions 1 and 2."""
    if subject.attribute("mode", "constant") != "reflect":
        return subject.all_if(subject.first.ndim == 0)
    if subject.since <= 2:
        return subject.all()
    if subject.input(1) is None:
        return None
    x = subject.first
    ends = _padded_ends(subject, subject.input(1))
    is_beyond = any(max(begin, end) >= x.shape[axis] for axis, (begin, end) in ends.items())
    return subject.all_if(is_beyond)


def _padded_ends(subject: Subject, pads: Any) -> dict[int, tuple[int, int]]:
    """Return how much is padded before and behind, by axis, which may be negative.

    pads: the beginnings of all axes, and then the ends; from version 18 on, of the axes that the
    node names.
    """
    ends = np.reshape(np.asarray(pads), (2, -1)).T.tolist()
    named = subject.input(3)
    axes = range(subject.first.ndim) if named is None else named.tolist()
    return {axis: (begin, end) for axis, (begin, end) in zip(axes, ends, strict=True)}


#: From places along an axis, beyond its ends too, and its length: the places of other padding.
_REFLECTIONS: Mapping[str, Callable[[Array, int], Array]] = {
    "back and forth": lambda places, n: n - 1 - np.abs(n - 1 - places % max(2 * n - 2, 1)),
    "the edge twice": lambda places, n: np.minimum(places % (2 * n), (-1 - places) % (2 * n)),
    "once": lambda places, n: np.clip(_mirrored_once(places, n), 0, n - 1),
    "the edge": lambda places, n: np.clip(places, 0, n - 1),
    "around": lambda places, n: places % n,
}


def _mirrored_once(places: Array, n: int) -> Array:
    """Return places that are mirrored on the end beyond which they are, which may be too far."""
    return np.where(places < 0, -places, np.where(places >= n, 2 * (n - 1) - places, places))


def accepts_other_reflections(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept other ways to go on beyond the axis, of the places in `_REFLECTIONS`."""
    x = subject.first
    pads = subject.attribute("pads", subject.attribute("paddings", subject.input(1)))
    if subject.attribute("mode", "constant") != "reflect" or not x.size or pads is None:
        return False
    padded = _padded_ends(subject, pads)
    answers = []
    for reflected in _REFLECTIONS.values():
        places = [np.arange(size) for size in x.shape]
        for axis, (begin, end) in padded.items():
            size = x.shape[axis]
            places[axis] = reflected(np.arange(-begin, size + end), size)
        answers.append([x[np.ix_(*places)]])
    return are_one_of(outputs, answers)


# ── TopK ──────────────────────────────────────────────────────────────────────────────────────


def of_ties_in_any_order(subject: Subject) -> Masks | None:
    """Cover equal elements where the order of the outputs is not stated."""
    if subject.attribute("sorted", 1) != 0:
        return None
    x = np.moveaxis(subject.first, subject.attribute("axis", -1), -1)
    rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])
    return subject.all_if(any(len(np.unique(row)) < len(row) for row in rows))


def accepts_any_ties(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept the right values in any order, with the indices of any elements that have them.

    Without both outputs there is nothing to compare them by, and nothing is accepted.
    """
    if len(outputs) != 2 or any(y.shape != subject.outputs[0].shape for y in outputs):
        return False
    axis = subject.attribute("axis", -1)
    x = subject.first
    values, indices = outputs
    if ((indices < 0) | (indices >= x.shape[axis])).any():
        return False
    in_order = np.sort(indices, axis=axis)
    are_distinct = (np.diff(in_order, axis=axis) != 0).all()
    are_theirs = are_alike(values, np.take_along_axis(x, indices, axis)).all()
    sorted_values = [np.sort(y, axis=axis) for y in (values, subject.outputs[0])]
    return bool(are_distinct and are_theirs and are_alike(*sorted_values).all())


# ── StringSplit ───────────────────────────────────────────────────────────────────────────────


def of_texts_to_split(subject: Subject) -> Masks | None:
    """Cover empty texts with a delimiter, and whitespace of other kinds without one."""
    texts = subject.first.reshape(-1).tolist()
    if subject.attribute("delimiter", ""):
        return subject.all_if("" in texts)
    return subject.all_if(any({*"\v\f"} & {*text} for text in texts))


def accepts_other_splits(subject: Subject, outputs: Sequence[Array]) -> bool:
    """Accept that an empty text has no substring or one, and that \\v and \\f are letters.

    Rows are those of the right answer, but for texts that the rule covers.
    """
    if len(outputs) != 2 or outputs[1].shape != subject.outputs[1].shape:
        return False
    delimiter = subject.attribute("delimiter", "")
    most = subject.attribute("maxsplit")
    right = _rows_of_texts(*subject.outputs)
    given = _rows_of_texts(*outputs)
    if given is None or right is None:
        return False
    texts = subject.first.reshape(-1).tolist()
    width = outputs[0].shape[-1]
    is_padded = width == max(map(len, given), default=0)
    return is_padded and all(
        row == want or row in _other_splits(text, delimiter, most)
        for row, want, text in zip(given, right, texts, strict=True)
    )


def _rows_of_texts(substrings: Array, counts: Array) -> list[list[str]] | None:
    """Return the substrings of each text; None unless the rest of their rows is empty texts."""
    if substrings.ndim != counts.ndim + 1 or substrings.shape[:-1] != counts.shape:
        return None
    rows = []
    width = substrings.shape[-1]
    by_text = substrings.reshape(counts.size, width).tolist()
    for row, count in zip(by_text, counts.flat, strict=True):
        if not 0 <= count <= width or any(row[count:]):
            return None
        rows.append(row[:count])
    return rows


def _other_splits(text: str, delimiter: str, most: int | None) -> Sequence[list[str]]:
    """Return other substrings of a text that the rule covers."""
    if delimiter:
        return ([], [""]) if not text else ()
    stand_ins = {"\v": "\ue000", "\f": "\ue001"}  # letters that no text has by itself
    for space, letter in stand_ins.items():
        text = text.replace(space, letter)
    parts = text.split(None, -1 if most is None else most)
    for space, letter in stand_ins.items():
        parts = [part.replace(letter, space) for part in parts]
    return (parts,)

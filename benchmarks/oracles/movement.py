"""Operators that move, repeat, choose or replace elements."""

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.oracles import (
    ORACLES,
    Array,
    Random,
    Sample,
    chance,
    int64,
    normal,
    one_of,
    oracle,
    shape,
    sizes,
    trimmed,
    whole,
)


def filled(dims: Any, value: Any, dtype: Any = np.float32) -> Array:
    """An array whose element at each index is `value(index)`."""
    y = np.zeros(dims, dtype)
    for index in np.ndindex(*dims):
        y[index] = value(index)
    return y


@oracle("Transpose")
def transposed(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (1, 4)))
    order = [int(axis) for axis in rng.permutation(x.ndim)]
    stated = chance(rng, 0.8)
    order = order if stated else [*reversed(range(x.ndim))]

    def source(index: tuple[int, ...]) -> Any:
        place = [0] * x.ndim
        for n, axis in enumerate(order):
            place[axis] = index[n]
        return x[tuple(place)]

    y = filled([x.shape[axis] for axis in order], source)
    return Sample(21, (x,), (y,), {"perm": order} if stated else {})


@oracle("Reshape")
def reshaped(rng: Random) -> Sample:
    x = normal(rng, shape(rng))
    flat, target = x.reshape(-1).tolist(), [*x.shape]
    if chance(rng, 0.5):
        target = [int(n) for n in rng.permutation(target)] + [1] * int(rng.integers(2))
    stated = [*target]
    if chance(rng, 0.5):
        stated[int(rng.integers(len(stated)))] = -1
    elif chance(rng, 0.5) and target[0] == x.shape[0]:
        stated[0] = 0
    y = filled(target, lambda index: flat[int(np.ravel_multi_index(index, target))])
    return Sample(21, (x, int64(stated)), (y,))


@oracle("Flatten")
def flattened(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (1, 4)))
    axis = int(rng.integers(-x.ndim, x.ndim + 1))
    begin = axis + x.ndim if axis < 0 else axis
    rows, columns = math.prod(x.shape[:begin]), math.prod(x.shape[begin:])
    flat = x.reshape(-1)
    y = filled([rows, columns], lambda index: flat[index[0] * columns + index[1]])
    return Sample(21, (x,), (y,), {"axis": axis})


@oracle("Squeeze")
def squeezed(rng: Random) -> Sample:
    dims = [1 if chance(rng, 0.5) else size for size in shape(rng, (1, 4))]
    x, ones = normal(rng, dims), [axis for axis, size in enumerate(dims) if size == 1]
    if not ones or chance(rng, 0.3):
        return Sample(21, (x,), (x.reshape([size for size in dims if size != 1]),))
    chosen = [axis for axis in ones if chance(rng, 0.6)] or ones[:1]
    rest = [size for axis, size in enumerate(dims) if axis not in chosen]
    stated = [axis - x.ndim if chance(rng, 0.4) else axis for axis in chosen]
    return Sample(21, (x, int64(stated)), (x.reshape(rest),))


@oracle("Unsqueeze")
def unsqueezed(rng: Random) -> Sample:
    x, count = normal(rng, shape(rng, (0, 3))), int(rng.integers(1, 3))
    rank = x.ndim + count
    chosen = [int(axis) for axis in rng.permutation(rank)[:count]]
    rest = iter(x.shape)
    dims = [1 if axis in chosen else next(rest) for axis in range(rank)]
    stated = [axis - rank if chance(rng, 0.4) else axis for axis in chosen]
    return Sample(21, (x, int64(stated)), (x.reshape(dims),))


@oracle("Concat")
def joined(rng: Random) -> Sample:
    dims = shape(rng)
    axis = int(rng.integers(-len(dims), len(dims)))
    place = axis % len(dims)
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        own = [int(rng.integers(1, 4)) if n == place else size for n, size in enumerate(dims)]
        parts.append(normal(rng, own))
    moved = [row for part in parts for row in np.moveaxis(part, place, 0)]
    return Sample(13, tuple(parts), (np.moveaxis(np.array(moved), 0, place),), {"axis": axis})


@oracle("Split")
def split(rng: Random) -> Sample:
    x = normal(rng, shape(rng, most=7))
    axis = int(rng.integers(-x.ndim, x.ndim))
    length = x.shape[axis]
    if chance(rng, 0.5):
        count = int(rng.integers(1, length + 1))
        each = math.ceil(length / count)
        lengths = [each] * (count - 1) + [length - each * (count - 1)]
        if lengths[-1] < 1:
            return Sample(18, (x,), (x,), {"axis": axis, "num_outputs": 1})
        attrs = {"axis": axis, "num_outputs": count}
        inputs: tuple[Any, ...] = (x,)
    else:
        ends = sorted({int(n) for n in rng.integers(1, length + 1, 2)} | {length})
        lengths = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        attrs = {"axis": axis}
        inputs = (x, int64(lengths))
    found, start = [], 0
    for size in lengths:
        found.append(np.take(x, range(start, start + size), axis))
        start += size
    return Sample(18, inputs, tuple(found), attrs)


@oracle("Slice")
def sliced(rng: Random) -> Sample:
    x = normal(rng, shape(rng, most=6))
    chosen = [int(axis) for axis in rng.permutation(x.ndim)[: int(rng.integers(1, x.ndim + 1))]]
    starts = rng.integers(-8, 9, len(chosen))
    ends = rng.integers(-8, 9, len(chosen))
    steps = rng.choice([-3, -2, -1, 1, 2, 3], len(chosen))
    y = x
    for axis, start, end, step in zip(chosen, starts, ends, steps, strict=True):
        y = np.take(y, _counted(int(start), int(end), int(step), x.shape[axis]), axis)
    axes = [axis - x.ndim if chance(rng, 0.4) else axis for axis in chosen]
    return Sample(13, (x, int64(starts), int64(ends), int64(axes), int64(steps)), (y,))


def _counted(start: int, end: int, step: int, length: int) -> list[int]:
    """The indices from `start` to before `end`, clamped as the text says."""
    start, end = (n + length if n < 0 else n for n in (start, end))
    if step > 0:
        start, end = min(max(start, 0), length), min(max(end, 0), length)
    else:
        start, end = min(max(start, 0), length - 1), min(max(end, -1), length - 1)
    found, place = [], start
    while (place < end) if step > 0 else (place > end):
        found.append(place)
        place += step
    return found


@oracle("Tile")
def tiled(rng: Random) -> Sample:
    x = normal(rng, shape(rng))
    repeats = sizes(rng, x.ndim, 1, 3)
    dims = [size * count for size, count in zip(x.shape, repeats, strict=True)]

    def source(index: tuple[int, ...]) -> Any:
        return x[tuple(n % size for n, size in zip(index, x.shape, strict=True))]

    return Sample(13, (x, int64(repeats)), (filled(dims, source),))


@oracle("Expand")
def expanded(rng: Random) -> Sample:
    full = shape(rng)
    own = [1 if chance(rng, 0.4) else size for size in full[int(rng.integers(len(full))) :]]
    x = normal(rng, own)
    stated = [
        size if chance(rng, 0.7) or n < len(full) - len(own) else 1 for n, size in enumerate(full)
    ]
    dims = [*stated]
    for n, size in enumerate(own):
        place = len(full) - len(own) + n
        dims[place] = max(size, stated[place])

    def source(index: tuple[int, ...]) -> Any:
        last = index[len(full) - len(own) :]
        return x[tuple(0 if size == 1 else n for n, size in zip(last, own, strict=True))]

    return Sample(13, (x, int64(stated)), (filled(dims, source),))


@oracle("DepthToSpace")
def depth_to_space(rng: Random) -> Sample:
    b, mode = int(rng.integers(1, 4)), one_of(rng, "DCR", "CRD")
    n, c, h, w = sizes(rng, 4, 1, 3)
    x = normal(rng, (n, c * b * b, h, w))

    def source(index: tuple[int, ...]) -> Any:
        batch, channel, row, column = index
        block = (row % b) * b + column % b
        depth = block * c + channel if mode == "DCR" else channel * b * b + block
        return x[batch, depth, row // b, column // b]

    y = filled([n, c, h * b, w * b], source)
    return Sample(13, (x,), (y,), {"blocksize": b, "mode": mode})


@oracle("SpaceToDepth")
def space_to_depth(rng: Random) -> Sample:
    b = int(rng.integers(1, 4))
    n, c, h, w = sizes(rng, 4, 1, 3)
    x = normal(rng, (n, c, h * b, w * b))

    def source(index: tuple[int, ...]) -> Any:
        batch, depth, row, column = index
        block, channel = divmod(depth, c)
        return x[batch, channel, row * b + block // b, column * b + block % b]

    return Sample(13, (x,), (filled([n, c * b * b, h, w], source),), {"blocksize": b})


@oracle("Pad")
def padded(rng: Random) -> Sample | None:
    x = whole(rng, shape(rng, least=2), 1, 99)
    mode = one_of(rng, "constant", "edge", "reflect", "wrap")
    least = -1 if mode == "constant" else 0
    before = [int(rng.integers(least, size)) for size in x.shape]
    after = [int(rng.integers(least, size)) for size in x.shape]
    dims = [b + size + a for b, size, a in zip(before, x.shape, after, strict=True)]
    if min(dims) < 1:
        return None

    def source(index: tuple[int, ...]) -> Any:
        place = [n - b for n, b in zip(index, before, strict=True)]
        for axis, size in enumerate(x.shape):
            if 0 <= place[axis] < size:
                continue
            if mode == "constant":
                return 7
            place[axis] = _beyond(place[axis], size, mode)
        return x[tuple(place)]

    inputs = (x, int64(before + after), *([np.float32(7)] if mode == "constant" else []))
    return Sample(one_of(rng, 19, 21, 25), inputs, (filled(dims, source),), {"mode": mode})


def _beyond(place: int, size: int, mode: str) -> int:
    """The element that stands outside of an axis."""
    if mode == "edge":
        return 0 if place < 0 else size - 1
    if mode == "wrap":
        return place % size
    return -place if place < 0 else 2 * (size - 1) - place


@oracle("CenterCropPad")
def centered(rng: Random) -> Sample:
    x = whole(rng, shape(rng, most=7), 1, 99)
    axes = [int(axis) for axis in rng.permutation(x.ndim)[: int(rng.integers(1, x.ndim + 1))]]
    target, y = sizes(rng, len(axes), 1, 9), x
    for axis, size in zip(axes, target, strict=True):
        length = y.shape[axis]
        start = (length - size) // 2 if size <= length else -((size - length) // 2)
        rows = []
        for n in range(start, start + size):
            is_inside = 0 <= n < length
            rows.append(np.take(y, n, axis) if is_inside else 0 * np.take(y, 0, axis))
        y = np.stack(rows, axis)
    stated = [axis - x.ndim if chance(rng, 0.5) else axis for axis in axes]
    return Sample(18, (x, int64(target)), (y,), {"axes": stated})


@oracle("Trilu")
def triangle(rng: Random) -> Sample:
    x, upper, k = normal(rng, shape(rng, (2, 4))), int(rng.integers(2)), int(rng.integers(-3, 4))

    def source(index: tuple[int, ...]) -> Any:
        above = index[-1] - index[-2] >= k if upper else index[-1] - index[-2] <= k
        return x[index] if above else 0

    return Sample(14, (x, int64(k)), (filled(x.shape, source),), {"upper": upper})


@oracle("EyeLike")
def eye(rng: Random) -> Sample:
    x, k = normal(rng, sizes(rng, 2)), int(rng.integers(-3, 4))
    y = filled(x.shape, lambda index: index[1] - index[0] == k)
    return Sample(22, (x,), (y,), {"k": k})


@oracle("Gather")
def gathered(rng: Random) -> Sample:
    x = normal(rng, shape(rng))
    axis = int(rng.integers(-x.ndim, x.ndim))
    length = x.shape[axis]
    at = int64(rng.integers(-length, length, shape(rng, (0, 2))))
    place = axis % x.ndim
    dims = [*x.shape[:place], *at.shape, *x.shape[place + 1 :]]

    def source(index: tuple[int, ...]) -> Any:
        chosen = int(at[index[place : place + at.ndim]]) % length
        return x[(*index[:place], chosen, *index[place + at.ndim :])]

    return Sample(13, (x, at), (filled(dims, source),), {"axis": axis})


@oracle("GatherElements")
def gathered_elements(rng: Random) -> Sample:
    x = normal(rng, shape(rng))
    axis = int(rng.integers(-x.ndim, x.ndim))
    dims = [int(rng.integers(1, size + 1)) for size in x.shape]
    at = int64(rng.integers(-x.shape[axis], x.shape[axis], dims))

    def source(index: tuple[int, ...]) -> Any:
        place = [*index]
        place[axis] = int(at[index]) % x.shape[axis]
        return x[tuple(place)]

    return Sample(13, (x, at), (filled(dims, source),), {"axis": axis})


@oracle("GatherND")
def gathered_nd(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (1, 4)))
    batch = int(rng.integers(0, x.ndim))
    depth = int(rng.integers(1, x.ndim - batch + 1))
    outer = [*x.shape[:batch], *sizes(rng, int(rng.integers(0 if batch else 1, 3)), 1, 3)]
    at = np.zeros([*outer, depth], np.int64)
    for n in range(depth):
        length = x.shape[batch + n]
        at[..., n] = rng.integers(-length, length, outer)
    dims = [*outer, *x.shape[batch + depth :]]

    def source(index: tuple[int, ...]) -> Any:
        lengths = x.shape[batch : batch + depth]
        place = [int(n) % size for n, size in zip(at[index[: len(outer)]], lengths, strict=True)]
        return x[(*index[:batch], *place, *index[len(outer) :])]

    return Sample(13, (x, at), (filled(dims, source),), {"batch_dims": batch})


REDUCERS: dict[str, Any] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
}


@oracle("ScatterElements")
def scattered_elements(rng: Random) -> Sample:
    how, dtype = one_of(rng, *REDUCERS), one_of(rng, np.float32, np.int32, np.int64)
    x = whole(rng, shape(rng, least=2), -4, 4, dtype)
    axis, dims = int(rng.integers(-x.ndim, x.ndim)), [int(rng.integers(1, n + 1)) for n in x.shape]
    length = x.shape[axis]
    if how == "none":
        full = [*dims]
        full[axis] = length
        at = np.take(np.argsort(rng.random(full), axis=axis), range(dims[axis]), axis)
    else:
        at = rng.integers(0, length, dims)
    at = int64(np.where(rng.random(at.shape) < 0.3, at - length, at))
    updates, y = whole(rng, dims, -4, 4, dtype), x.copy()
    for index in np.ndindex(*dims):
        place = [*index]
        place[axis] = int(at[index]) % length
        y[tuple(place)] = REDUCERS[how](y[tuple(place)], updates[index])
    return Sample(18, (x, at, updates), (y,), {"axis": axis, "reduction": how})


@oracle("Scatter")
def scattered(rng: Random) -> Sample:
    x = normal(rng, shape(rng, least=2))
    axis = int(rng.integers(x.ndim))
    dims = [int(rng.integers(1, size + 1)) for size in x.shape]
    full = [*dims]
    full[axis] = x.shape[axis]
    at = np.take(np.argsort(rng.random(full), axis=axis), range(dims[axis]), axis)
    updates, y = normal(rng, dims), x.copy()
    for index in np.ndindex(*dims):
        place = [*index]
        place[axis] = int(at[index])
        y[tuple(place)] = updates[index]
    return Sample(one_of(rng, 9, 10), (x, int64(at), updates), (y,), {"axis": axis})


@oracle("TensorScatter")
def updated_cache(rng: Random) -> Sample:
    past, mode = normal(rng, shape(rng, (2, 4))), one_of(rng, "linear", "circular")
    axis = int(rng.integers(1, past.ndim))
    longest = past.shape[axis]
    length = int(rng.integers(1, longest + 1))
    dims = [length if n == axis else size for n, size in enumerate(past.shape)]
    update = normal(rng, dims)
    most = longest - length if mode == "linear" else 2 * longest
    starts = int64(rng.integers(0, most + 1, past.shape[0])) if chance(rng, 0.7) else None
    y = past.copy()
    for index in np.ndindex(*dims):
        place = [*index]
        place[axis] += 0 if starts is None else int(starts[index[0]])
        if mode == "circular":
            place[axis] %= longest
        y[tuple(place)] = update[index]
    attrs: dict[str, Any] = {"mode": mode}
    if axis != past.ndim - 2 or chance(rng, 0.5):
        attrs["axis"] = axis - past.ndim if chance(rng, 0.5) else axis
    return Sample(24, trimmed(past, update, starts), (y,), attrs)


@oracle("Dropout")
def nothing_dropped(rng: Random) -> Sample:
    """Draw a node that does not train; what training drops is random."""
    opset, x = one_of(rng, 7, 10, 12, 13, 22), normal(rng, shape(rng))
    share = one_of(rng, 0.0, 0.25, 0.75)
    if opset < 12:
        return Sample(opset, (x,), (x,), {"ratio": share})
    ratio = np.float32(share) if chance(rng, 0.6) else None
    training = np.bool_(False) if chance(rng, 0.5) else None
    mask = np.ones(x.shape, np.bool_)
    outputs = (x, mask) if chance(rng, 0.6) else (x,)
    return Sample(opset, trimmed(x, ratio, training), outputs)


@oracle("ScatterND")
def scattered_nd(rng: Random) -> Sample:
    how, dtype = one_of(rng, *REDUCERS), one_of(rng, np.float32, np.int32, np.int64)
    x = whole(rng, shape(rng, least=2), -4, 4, dtype)
    depth, count = int(rng.integers(1, x.ndim + 1)), int(rng.integers(1, 4))
    at = np.stack([rng.integers(-size, size, count) for size in x.shape[:depth]], -1)
    places = [tuple(int(n) % x.shape[k] for k, n in enumerate(row)) for row in at]
    if how == "none":
        kept = [n for n, place in enumerate(places) if place not in places[:n]]
        at, places = at[kept], [places[n] for n in kept]
    updates, y = whole(rng, (len(at), *x.shape[depth:]), -4, 4, dtype), x.copy()
    for n, place in enumerate(places):
        for rest in np.ndindex(*x.shape[depth:]):
            y[place + rest] = REDUCERS[how](y[place + rest], updates[(n, *rest)])
    return Sample(18, (x, int64(at), updates), (y,), {"reduction": how})


@oracle("Compress")
def compressed(rng: Random) -> Sample:
    x = normal(rng, shape(rng))
    axis = None if chance(rng, 0.3) else int(rng.integers(-x.ndim, x.ndim))
    length = x.size if axis is None else x.shape[axis]
    condition = rng.random(int(rng.integers(1, length + 1))) < 0.6
    kept = [n for n, chosen in enumerate(condition) if chosen]
    y = np.take(x.reshape(-1), kept) if axis is None else np.take(x, kept, axis)
    attrs = {} if axis is None else {"axis": axis}
    return Sample(11, (x, np.asarray(condition)), (y.astype(np.float32),), attrs)


@oracle("ReverseSequence")
def reversed_sequence(rng: Random) -> Sample:
    x, time = normal(rng, [*sizes(rng, 2), *shape(rng, (0, 2))]), int(rng.integers(2))
    lengths = rng.integers(1, x.shape[time] + 1, x.shape[1 - time])

    def source(index: tuple[int, ...]) -> Any:
        length = int(lengths[index[1 - time]])
        place = [*index]
        place[time] = length - 1 - index[time] if index[time] < length else index[time]
        return x[tuple(place)]

    attrs = {"time_axis": time, "batch_axis": 1 - time}
    return Sample(10, (x, int64(lengths)), (filled(x.shape, source),), attrs)


@oracle("OneHot")
def one_hot(rng: Random) -> Sample:
    depth = int(rng.integers(1, 5))
    at = int64(rng.integers(-depth - 1, depth + 2, shape(rng, (1, 2))))
    axis = int(rng.integers(-at.ndim - 1, at.ndim + 1))
    off, on = (float(n) for n in whole(rng, 2))
    place = axis % (at.ndim + 1)
    dims = [*at.shape[:place], depth, *at.shape[place:]]

    def source(index: tuple[int, ...]) -> float:
        value = int(at[index[:place] + index[place + 1 :]])
        inside = -depth <= value < depth
        return on if inside and value % depth == index[place] else off

    inputs = (at, int64([depth]), np.array([off, on], np.float32))
    return Sample(11, inputs, (filled(dims, source),), {"axis": axis})


@oracle("NonZero")
def non_zero(rng: Random) -> Sample:
    x = whole(rng, shape(rng), -1, 1)
    found = [index for index in np.ndindex(*x.shape) if x[index]]
    return Sample(13, (x,), (int64(found).reshape(-1, x.ndim).T,))


@oracle("Range")
def counted(rng: Random) -> Sample:
    dtype = one_of(rng, np.int32, np.int64, np.float32)
    start, limit = (int(n) for n in rng.integers(-9, 10, 2))
    delta = int(rng.choice([-3, -2, -1, 1, 2, 3]))
    found, n = [], start
    while n < limit if delta > 0 else n > limit:
        found.append(n)
        n += delta
    inputs = tuple(np.asarray(v, dtype) for v in (start, limit, delta))
    return Sample(11, inputs, (np.array(found, dtype),))


@oracle("Shape")
def shape_of(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (0, 4)))
    start, end = (int(n) for n in rng.integers(-5, 6, 2))
    begin, stop = (min(max(n + x.ndim if n < 0 else n, 0), x.ndim) for n in (start, end))
    attrs = {"start": start, "end": end}
    return Sample(21, (x,), (int64([x.shape[n] for n in range(begin, stop)]),), attrs)


@oracle("Size")
def size_of(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (0, 4), least=0))
    return Sample(21, (x,), (int64(math.prod(x.shape)),))


@oracle("ConstantOfShape")
def constant(rng: Random) -> Sample:
    dims, value = shape(rng, (1, 3)), whole(rng, (1,), dtype=one_of(rng, np.float32, np.int64))
    y = filled(dims, lambda index: value[0], value.dtype)
    return Sample(21, (int64(dims),), (y,), {"value": value})


def _cast(like: bool, rng: Random) -> Sample:
    from onnx import helper

    kinds = (np.float32, np.float64, np.int32, np.uint8, np.bool_, np.int64)
    source, target = one_of(rng, *kinds), one_of(rng, *kinds)
    x = whole(rng, shape(rng), 0, 9, source)
    if np.dtype(source).kind == "f":
        x = (x + rng.random(x.shape)).astype(source)
    convert: Any = bool if target == np.bool_ else int if np.dtype(target).kind in "iu" else float
    y = filled(x.shape, lambda index: convert(x[index]), target)
    if target == np.float32 and source == np.float64:
        y = x.astype(np.float32)
    if like:
        return Sample(21, (x, np.zeros(1, target)), (y,), rtol=0, atol=0)
    to = {"to": int(helper.np_dtype_to_tensor_dtype(np.dtype(target)))}
    return Sample(21, (x,), (y,), to, rtol=0, atol=0)


ORACLES.update(Cast=partial(_cast, False), CastLike=partial(_cast, True))

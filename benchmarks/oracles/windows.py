"""Operators of windows and filters over images."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

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
    sizes,
    trimmed,
    whole,
    wide,
)


class Window(NamedTuple):
    """The windows along an axis: how many, and the padding on either side."""

    number: int
    before: int
    after: int


def planned(
    length: int,
    kernel: int,
    stride: int,
    dilation: int,
    pads: tuple[int, int],
    auto_pad: str,
    ceil: bool,
) -> Window:
    """The windows along an axis by the formulas of AveragePool-22."""
    width = (kernel - 1) * dilation + 1
    if auto_pad == "VALID":
        return Window((length - width) // stride + 1, 0, 0)
    if auto_pad != "NOTSET":
        count = math.ceil(length / stride)
        total = max(0, (count - 1) * stride + width - length)
        small, large = total // 2, total - total // 2
        return Window(count, *((small, large) if auto_pad == "SAME_UPPER" else (large, small)))
    steps = (length + sum(pads) - width) / stride
    count = (math.ceil(steps) if ceil else math.floor(steps)) + 1
    if ceil and (count - 1) * stride >= length + pads[0]:
        count -= 1  # It starts in the padding at the end.
    return Window(count, *pads)


class Geometry(NamedTuple):
    """A pooling operator's attributes, and its windows."""

    attrs: dict[str, Any]
    lengths: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    windows: list[Window]

    def taps(self, at: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The places under a window, inside the input or not."""
        for tap in np.ndindex(*self.kernel):
            yield tuple(
                place * stride - window.before + n * dilation
                for place, stride, window, n, dilation in zip(
                    at, self.strides, self.windows, tap, self.dilations, strict=True
                )
            )

    def inside(self, place: tuple[int, ...]) -> bool:
        return all(0 <= n < length for n, length in zip(place, self.lengths, strict=True))

    def on_padding(self, place: tuple[int, ...]) -> bool:
        """True for the input and the padding around it."""
        return all(
            -window.before <= n < length + window.after
            for n, length, window in zip(place, self.lengths, self.windows, strict=True)
        )


def drawn_geometry(rng: Random, *, ceil: bool) -> Geometry | None:
    """Attributes of a pooling operator, and windows of which none is without a value."""
    rank = int(rng.integers(1, 3))
    lengths, kernel, strides = (
        sizes(rng, rank, 3, 7),
        sizes(rng, rank, 1, 3),
        sizes(rng, rank, 1, 3),
    )
    dilations = sizes(rng, rank, 1, 2)
    auto_pad = one_of(rng, "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    pads = [0] * (2 * rank)
    rounded_up = ceil and auto_pad == "NOTSET" and chance(rng, 0.5)
    if auto_pad == "NOTSET":
        most = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
        pads = [int(rng.integers(0, n + 1)) for n in most * 2]
        attrs |= {"pads": pads, "ceil_mode": 1} if rounded_up else {"pads": pads}
    else:
        attrs["auto_pad"] = auto_pad
    windows = [
        planned(length, k, s, d, (pads[n], pads[n + rank]), auto_pad, rounded_up)
        for n, (length, k, s, d) in enumerate(zip(lengths, kernel, strides, dilations, strict=True))
    ]
    if min(window.number for window in windows) < 1:
        return None
    return Geometry(attrs, lengths, kernel, strides, dilations, windows)


def _pooled(name: str, rng: Random) -> Sample | None:
    geometry = drawn_geometry(rng, ceil=True)
    if geometry is None:
        return None
    x = normal(rng, (1, 2, *geometry.lengths), 3)
    counts = [window.number for window in geometry.windows]
    attrs = dict(geometry.attrs)
    p, include = int(rng.integers(1, 4)), chance(rng, 0.4)
    if name == "LpPool":
        attrs["p"] = p
    if name == "AveragePool" and include:
        attrs["count_include_pad"] = 1
    y, places = np.zeros((1, 2, *counts)), np.zeros((1, 2, *counts), np.int64)
    for index in np.ndindex(*y.shape):
        taps = [*geometry.taps(index[2:])]
        under = [place for place in taps if geometry.inside(place)]
        values = [float(x[(0, index[1], *place)]) for place in under]
        if not values:
            return None
        if name == "MaxPool":
            y[index] = max(values)
            first = under[values.index(max(values))]
            places[index] = np.ravel_multi_index((0, index[1], *first), x.shape)
        elif name == "LpPool":
            y[index] = math.fsum(abs(v) ** p for v in values) ** (1 / p)
        else:
            count = sum(map(geometry.on_padding, taps)) if include else len(values)
            y[index] = math.fsum(values) / count
    outputs = (y, places) if name == "MaxPool" else (y,)
    return Sample(22, (x,), outputs, attrs)


for _name in ("AveragePool", "LpPool", "MaxPool"):
    ORACLES[_name] = partial(_pooled, _name)


def convolved(x: Array, w: Array, geometry: Geometry, group: int) -> Array:
    """A convolution by plain loops, in the operands' own type."""
    counts = [window.number for window in geometry.windows]
    y = np.zeros((x.shape[0], w.shape[0], *counts), x.dtype)
    channels = w.shape[1]
    for index in np.ndindex(*y.shape):
        first = index[1] // (w.shape[0] // group) * channels
        taps = zip(np.ndindex(*geometry.kernel), geometry.taps(index[2:]), strict=True)
        for tap, place in taps:
            if geometry.inside(place):
                for channel in range(channels):
                    factor = w[(index[1], channel, *tap)]
                    y[index] += factor * x[(index[0], first + channel, *place)]
    return y


class Filters(NamedTuple):
    """What a convolution is drawn of."""

    geometry: Geometry
    attrs: dict[str, Any]
    x: list[int]
    w: list[int]
    group: int


def drawn_filters(rng: Random) -> Filters | None:
    geometry = drawn_geometry(rng, ceil=False)
    if geometry is None:
        return None
    group, each, filters = sizes(rng, 3, 1, 2)
    return Filters(
        geometry,
        {**geometry.attrs, "group": group},
        [1, group * each, *geometry.lengths],
        [group * filters, each, *geometry.kernel],
        group,
    )


@oracle("Conv")
def convolution(rng: Random) -> Sample | None:
    drawn = drawn_filters(rng)
    if drawn is None:
        return None
    x, w = normal(rng, drawn.x), normal(rng, drawn.w)
    b = normal(rng, drawn.w[0]) if chance(rng, 0.5) else None
    y = convolved(wide(x), wide(w), drawn.geometry, drawn.group)
    if b is not None:
        y += wide(b).reshape(-1, *[1] * len(drawn.geometry.kernel))
    return Sample(22, trimmed(x, w, b), (y,), drawn.attrs)


@oracle("ConvInteger")
def integer_convolution(rng: Random) -> Sample | None:
    drawn = drawn_filters(rng)
    if drawn is None:
        return None
    dtype = one_of(rng, np.uint8, np.int8)
    low, high = (0, 255) if dtype == np.uint8 else (-128, 127)
    x, w = whole(rng, drawn.x, low, high, dtype), whole(rng, drawn.w, low, high, dtype)
    zero, other = (np.asarray(rng.integers(low, high + 1)).astype(dtype) for _ in range(2))
    lifted = x.astype(np.int64) - int(zero)
    y = convolved(lifted, w.astype(np.int64) - int(other), drawn.geometry, drawn.group)
    return Sample(10, (x, w, zero, other), (y.astype(np.int32),), drawn.attrs)


@oracle("ConvTranspose")
def transposed_convolution(rng: Random) -> Sample | None:
    rank, group = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    channels, filters = group * int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths, kernel = sizes(rng, rank), sizes(rng, rank, 1, 3)
    strides, dilations = sizes(rng, rank, 1, 3), sizes(rng, rank, 1, 2)
    more = [int(rng.integers(0, stride)) for stride in strides] if chance(rng, 0.4) else [0] * rank
    attrs: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group}
    attrs["output_padding"] = more
    full = [
        strides[n] * (lengths[n] - 1) + more[n] + (kernel[n] - 1) * dilations[n] + 1
        for n in range(rank)
    ]
    pads = [int(n) for n in rng.integers(0, 2, 2 * rank)]
    dims = [full[n] - pads[n] - pads[n + rank] for n in range(rank)]
    if chance(rng, 0.4):
        dims = [max(1, size - int(rng.integers(0, 3))) for size in full]
        upper = chance(rng, 0.5)
        attrs |= {"output_shape": dims} | ({"auto_pad": "SAME_UPPER"} if upper else {})
        for n in range(rank):
            total = full[n] - dims[n]
            pads[n] = total // 2 if upper else total - total // 2
            pads[n + rank] = total - pads[n]
    else:
        attrs["pads"] = pads
    if min(dims) < 1:
        return None
    x, w = normal(rng, (1, channels, *lengths)), normal(rng, (channels, filters, *kernel))
    b = normal(rng, filters * group) if chance(rng, 0.5) else None
    y = np.zeros((1, filters * group, *dims))
    if b is not None:
        y += wide(b).reshape(-1, *[1] * rank)
    for place in np.ndindex(channels, filters, *lengths):
        channel, kind, *at = place
        target = channel // (channels // group) * filters + kind
        for tap in np.ndindex(*kernel):
            to = [at[n] * strides[n] + tap[n] * dilations[n] - pads[n] for n in range(rank)]
            if all(0 <= to[n] < dims[n] for n in range(rank)):
                product = float(x[(0, channel, *at)]) * float(w[(channel, kind, *tap)])
                y[(0, target, *to)] += product
    return Sample(22, trimmed(x, w, b), (y,), attrs)


def at_fraction(image: Array, y: float, x: float) -> float:
    """The value between four elements; beyond the edge all are 0."""
    top, left, found = math.floor(y), math.floor(x), 0.0
    for row in (top, top + 1):
        for column in (left, left + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                share = (1 - abs(y - row)) * (1 - abs(x - column))
                found += float(image[row, column]) * share
    return found


@oracle("DeformConv")
def deformed_convolution(rng: Random) -> Sample | None:
    group, offsets, filters = sizes(rng, 3, 1, 2)
    channels = group * offsets
    height, width = sizes(rng, 2, 3, 5)
    kernel, strides, dilations = (sizes(rng, 2, 1, 2) for _ in range(3))
    rows = (height - dilations[0] * (kernel[0] - 1) - 1) // strides[0] + 1
    columns = (width - dilations[1] * (kernel[1] - 1) - 1) // strides[1] + 1
    if min(rows, columns) < 1:
        return None
    taps = kernel[0] * kernel[1]
    x = normal(rng, (1, channels, height, width))
    w = normal(rng, (group * filters, channels // group, *kernel))
    offset = np.zeros((1, 2 * offsets * taps, rows, columns), np.float32)
    for index in np.ndindex(offsets * taps, rows, columns):
        number, row, column = index
        tap = number % taps
        base = (
            row * strides[0] + tap // kernel[1] * dilations[0],
            column * strides[1] + tap % kernel[1] * dilations[1],
        )
        # Places stay inside, where the text says what they hold.
        for n, (start, length) in enumerate(zip(base, (height, width), strict=True)):
            offset[0, 2 * number + n, row, column] = rng.uniform(0, length - 1) - start
    mask = rng.random((1, offsets * taps, rows, columns)).astype(np.float32)
    b = normal(rng, group * filters)
    y = np.zeros((1, group * filters, rows, columns))
    for index in np.ndindex(group * filters, rows, columns):
        filter_, row, column = index
        total = float(b[filter_])
        for each, *tap in np.ndindex(channels // group, *kernel):
            channel = filter_ // filters * (channels // group) + each
            number = channel // (channels // offsets) * taps + tap[0] * kernel[1] + tap[1]
            down, right = (float(offset[0, 2 * number + n, row, column]) for n in (0, 1))
            value = at_fraction(
                x[0, channel],
                row * strides[0] + tap[0] * dilations[0] + down,
                column * strides[1] + tap[1] * dilations[1] + right,
            )
            total += float(w[(filter_, each, *tap)]) * value * float(mask[0, number, row, column])
        y[(0, *index)] = total
    attrs = {
        "group": group,
        "offset_group": offsets,
        "strides": strides,
        "dilations": dilations,
        "kernel_shape": kernel,
    }
    return Sample(22, (x, w, offset, b, mask), (y,), attrs, rtol=1e-4, atol=1e-4)


@oracle("Col2Im")
def columns_to_image(rng: Random) -> Sample | None:
    lengths, kernel = sizes(rng, 2, 3, 7), sizes(rng, 2, 1, 3)
    strides, dilations, pads = sizes(rng, 2, 1, 3), sizes(rng, 2, 1, 2), sizes(rng, 2, 0, 2)
    counts = [
        (lengths[n] + 2 * pads[n] - dilations[n] * (kernel[n] - 1) - 1) // strides[n] + 1
        for n in range(2)
    ]
    if min(counts) < 1:
        return None
    channels = int(rng.integers(1, 3))
    x = whole(rng, (2, channels * kernel[0] * kernel[1], counts[0] * counts[1]))
    folded = torch.nn.functional.fold(
        torch.tensor(x),
        tuple(lengths),
        tuple(kernel),
        dilation=tuple(dilations),
        padding=tuple(pads),
        stride=tuple(strides),
    )
    attrs = {"strides": strides, "dilations": dilations, "pads": pads + pads}
    return Sample(18, (x, int64(lengths), int64(kernel)), (wide(folded.numpy()),), attrs)


@oracle("RoiAlign")
def aligned(rng: Random) -> Sample:
    channels, height, width = int(rng.integers(1, 3)), *sizes(rng, 2, 4, 7)
    x = normal(rng, (2, channels, height, width))
    near, far = rng.random((2, 2)), rng.random((2, 2))
    rois = np.concatenate([near * 2, 2.5 + far * 2], 1).astype(np.float32)
    batches = int64(rng.integers(0, 2, 2))
    rows, columns, ratio = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    scale = one_of(rng, 1.0, 0.5)
    mode = one_of(rng, "half_pixel", "output_half_pixel")
    attrs = {
        "output_height": rows,
        "output_width": columns,
        "sampling_ratio": ratio,
        "spatial_scale": scale,
        "coordinate_transformation_mode": mode,
    }
    y = np.zeros((2, channels, rows, columns))
    for index in np.ndindex(*y.shape):
        region, channel, row, column = index
        x1, y1, x2, y2 = (float(v) * scale - 0.5 * (mode == "half_pixel") for v in rois[region])
        w, h = x2 - x1, y2 - y1
        if mode == "output_half_pixel":
            w, h = max(w, 1.0), max(h, 1.0)
        total = 0.0
        for a, b in np.ndindex(ratio, ratio):
            down = y1 + (row + (a + 0.5) / ratio) * h / rows
            right = x1 + (column + (b + 0.5) / ratio) * w / columns
            down = min(max(down, 0.0), height - 1.0)
            right = min(max(right, 0.0), width - 1.0)
            total += at_fraction(x[batches[region], channel], down, right)
        y[index] = total / ratio**2
    return Sample(22, (x, rois, batches), (y,), attrs)


@oracle("LRN")
def local_response(rng: Random) -> Sample:
    x, size = (
        normal(rng, (2, int(rng.integers(1, 7)), *sizes(rng, 2, 1, 3))),
        int(rng.integers(1, 5)),
    )
    attrs = {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 1.5}
    before, after = (size - 1) // 2, math.ceil((size - 1) / 2)
    squares, y = wide(x) ** 2, np.zeros(x.shape)
    for channel in range(x.shape[1]):
        near = squares[:, max(0, channel - before) : channel + after + 1].sum(axis=1)
        y[:, channel] = wide(x)[:, channel] / (1.5 + 0.5 / size * near) ** 0.75
    return Sample(13, (x,), (y,), attrs)


@oracle("MaxUnpool")
def unpooled(rng: Random) -> Sample:
    lengths, kernel = sizes(rng, 2, 1, 3), sizes(rng, 2, 1, 3)
    x = normal(rng, (1, 2, *lengths))
    dims = [(n - 1) * k + k for n, k in zip(lengths, kernel, strict=True)]
    places = int64(rng.permutation(2 * math.prod(dims))[: x.size].reshape(x.shape))
    y = np.zeros(2 * math.prod(dims), np.float32)
    for index in np.ndindex(*x.shape):
        y[places[index]] = x[index]
    attrs = {"kernel_shape": kernel, "strides": kernel}
    return Sample(22, (x, places), (y.reshape(1, 2, *dims),), attrs)


@oracle("CausalConvWithState")
def causal_convolution(rng: Random) -> Sample:
    batch, channels, length, kernel = sizes(rng, 4, 1, 4)
    x, w = normal(rng, (batch, channels, length)), normal(rng, (channels, 1, kernel))
    b = normal(rng, channels) if chance(rng, 0.5) else None
    past = normal(rng, (batch, channels, kernel - 1)) if chance(rng, 0.5) else None
    activation = one_of(rng, None, "none", "silu", "swish")
    y, state = np.zeros(x.shape), np.zeros((batch, channels, kernel - 1))
    for n, channel in np.ndindex(batch, channels):
        before = [0.0] * (kernel - 1) if past is None else past[n, channel].tolist()
        row = before + x[n, channel].tolist()
        state[n, channel] = row[length:]
        for t in range(length):
            taps = zip(w[channel, 0].tolist(), row[t : t + kernel], strict=True)
            total = math.fsum(factor * value for factor, value in taps)
            total += 0.0 if b is None else float(b[channel])
            is_plain = activation in (None, "none")
            y[n, channel, t] = total if is_plain else total / (1 + math.exp(-total))
    attrs = {} if activation is None else {"activation": activation}
    return Sample(27, trimmed(x, w, b, past), (y, state), attrs)


@oracle("MaxRoiPool")
def pooled_regions(rng: Random) -> Sample:
    """Draw regions of which each part has its maximum in the middle.

    The text does not state how the borders of regions and of their parts are rounded, or which
    part they belong to. So each maximum is 3 elements away from every border.
    """
    rows, columns = sizes(rng, 2, 1, 3)
    height, width = 7 * rows, 7 * columns
    scale = one_of(rng, 0.5, 1.0, 2.0)
    x = normal(rng, (2, 2, height + 4, width + 4)) - np.float32(20)
    y = np.zeros((2, 2, rows, columns), np.float32)
    rois = np.zeros((2, 5), np.float32)
    for region in range(2):
        top, left = (int(n) for n in rng.integers(0, 4, 2))
        corners = [left, top, left + width, top + height]
        rois[region] = [region, *(n / scale for n in corners)]
        for channel, row, column in np.ndindex(2, rows, columns):
            highest = np.float32(rng.random())
            x[region, channel, top + 7 * row + 3, left + 7 * column + 3] = highest
            y[region, channel, row, column] = highest
    order = [int(n) for n in rng.permutation(2)]
    attrs = {"pooled_shape": [rows, columns], "spatial_scale": scale}
    return Sample(one_of(rng, 1, 22), (x, rois[order]), (y[order],), attrs)

"""MaxUnpool (9, 11, 22): values back where MaxPool found them, and zeros between."""

from math import prod

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import check_size, elements_at, listed
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode
from opcheck.numbers.faulty import bare

OP = operator("MaxUnpool", exact=True)


def by_places(function):
    """All versions, from `function(X, places, shape)`, where the output has that shape."""

    def formula(X, I, output_shape=None, *, kernel_shape, strides, pads):  # noqa: E741
        n = X.ndim - 2
        given = (kernel_shape, strides or (1,) * n, pads or (0,) * (2 * n))
        if n < 1 or [*map(len, given)] != [n, n, 2 * n] or X.shape != I.shape:
            raise InvalidNode(f"X {list(X.shape)}, indices {list(I.shape)}, attributes {given}")
        if min(*given[0], *given[1]) < 1 or min(given[2]) < 0:
            raise InvalidNode(f"attributes {given}; allowed: 1 or more, pads from 0 on")
        shape = [*X.shape[:2], *((length - 1) * stride + kernel for length, kernel, stride in zip(
            X.shape[2:], *given[:2], strict=True))]  # fmt: skip
        asked = None if output_shape is None else listed("output_shape", output_shape)
        if asked is None:
            padding = np.reshape(np.array(given[2], object), (2, n)).sum(axis=0)
            shape[2:] = [size - less for size, less in zip(shape[2:], padding, strict=True)]
        elif len(asked) != X.ndim:
            raise InvalidNode(f"output_shape {asked} for X of rank {X.ndim}")
        if min(asked or shape) < 0:
            raise InvalidNode(f"an output of shape {asked or shape}; allowed: 0 or more")
        check_size(asked or shape)
        places = elements_at(I, prod(asked or shape), back=False)
        if asked not in (None, shape):
            places = _beside(places, shape, asked)
        return function(X, places, asked or shape)

    return dict.fromkeys((9, 11, 22), formula)


def _beside(places, shape, asked):
    """By the text indices are of the output, by ONNX's node test of a corner of that shape."""
    fits = prod(shape) > places.max(initial=-1) and all(map(int.__ge__, asked, shape))
    moved = np.ravel_multi_index(np.unravel_index(places, shape), asked) if fits else None
    if moved is None or (moved != places).any():
        is_open("it is not said which shape indices are in, beside output_shape")
    return places if moved is None else moved


@OP.formula(by=by_places)
def unpooled(X, places, shape):
    """Each value at its place. Of overlapping windows several may name one."""
    source = np.full(prod(shape), X.size)
    source[places] = np.arange(X.size).reshape(X.shape)
    flat = xp.reshape(X, (-1,))
    values = bare(flat)
    if not np.array_equal(values[source[places.reshape(-1)]], values, equal_nan=True):
        is_open("nothing is said of several values of one place")
    return xp.reshape(xp.take(xp.pad(flat, [(0, 1)]), source, axis=0), tuple(shape))


def elsewhere(change):
    """All versions, from `change(places, plane, shape)`, where a plane has so many elements."""
    return by_places(lambda X, places, shape: unpooled(
        X, change(places, prod(shape[2:]), shape).reshape(X.shape), shape))  # fmt: skip


def of_planes(places, plane, shape):
    numbers = np.arange(prod(shape[:2])).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return places % max(1, plane) + numbers * plane


def by_columns(places, plane, shape):
    at = np.unravel_index(places.reshape(-1), shape)
    return np.ravel_multi_index(at, shape, order="F")


def added(X, places, shape):
    y = np.zeros(prod(shape), X.dtype)
    np.add.at(y, places.reshape(-1), X.reshape(-1))
    return y.reshape(shape)


OP.mutant("indices began anew with each channel", name="indices_of_planes", by=elsewhere)(of_planes)
OP.mutant("indices counted in column-major order", name="by_columns", by=elsewhere)(by_columns)
OP.mutant("values of windows that overlap were added up", by=by_places)(added)

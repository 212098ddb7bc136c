"""Operators that make one value, or an order, of all elements along some axes."""

import math
from collections.abc import Callable
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
    whole,
    wide,
)


def along(function: Callable[[list[Any]], Any], x: Array, axis: int) -> Array:
    """A list in place of each row of `x` along an axis."""
    lined = np.moveaxis(x, axis, -1)
    rows = [function(row.tolist()) for row in lined.reshape(-1, lined.shape[-1])]
    return np.moveaxis(np.array(rows).reshape(*lined.shape[:-1], -1), -1, axis)


def log_sum_exp(row: list[float]) -> float:
    top = max(row)
    return top + math.log(math.fsum(math.exp(v - top) for v in row))


#: What is made of the elements, and whether these must be positive.
REDUCTIONS: dict[str, tuple[Callable[[list[float]], float], int, bool]] = {
    "ReduceL1": (lambda row: math.fsum(map(abs, row)), 18, False),
    "ReduceL2": (lambda row: math.sqrt(math.fsum(v * v for v in row)), 18, False),
    "ReduceLogSum": (lambda row: math.log(math.fsum(row)), 18, True),
    "ReduceLogSumExp": (log_sum_exp, 18, False),
    "ReduceMax": (max, 20, False),
    "ReduceMean": (lambda row: math.fsum(row) / len(row), 18, False),
    "ReduceMin": (min, 20, False),
    "ReduceProd": (math.prod, 18, False),
    "ReduceSum": (math.fsum, 13, False),
    "ReduceSumSquare": (lambda row: math.fsum(v * v for v in row), 18, False),
}


#: Of one element they make that element itself.
_OF_ONE_ITSELF = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")


def _reduced(name: str, rng: Random) -> Sample | None:
    function, opset, positive = REDUCTIONS[name]
    x = normal(rng, shape(rng, (1, 4)), 2)
    x = np.abs(x) + np.float32(0.1) if positive else x
    count = int(rng.integers(0, x.ndim + 1))
    axes = sorted(int(axis) for axis in rng.permutation(x.ndim)[:count])
    kept = int(rng.integers(2))
    attrs: dict[str, Any] = {"keepdims": kept}
    nothing = not axes and chance(rng, 0.5)
    if nothing:
        attrs["noop_with_empty_axes"] = 1
    over = axes or [*range(x.ndim)]
    lined = np.moveaxis(wide(x), over, range(len(over)))
    rows = lined.reshape(math.prod(lined.shape[: len(over)]), -1)
    found = np.array([function(column.tolist()) for column in rows.T])
    dims = [1 if axis in over else size for axis, size in enumerate(x.shape)]
    if not kept:
        dims = [size for axis, size in enumerate(x.shape) if axis not in over]
    if nothing and name in _OF_ONE_ITSELF:
        found, dims = wide(x), [*x.shape]
    elif nothing:
        return None  # Whether each element is reduced by itself is another question.
    stated = [axis - x.ndim if chance(rng, 0.3) else axis for axis in axes]
    inputs = (x, int64(stated)) if stated else (x,)
    return Sample(opset, inputs, (found.reshape(dims),), attrs)


ORACLES.update({name: partial(_reduced, name) for name in REDUCTIONS})


def _place(largest: bool, rng: Random) -> Sample:
    x = whole(rng, shape(rng), -2, 2)
    axis, kept, last = int(rng.integers(-x.ndim, x.ndim)), int(rng.integers(2)), chance(rng, 0.5)

    def place(row: list[float]) -> list[int]:
        best = max(row) if largest else min(row)
        hits = [n for n, v in enumerate(row) if v == best]
        return [hits[-1 if last else 0]]

    found = along(place, x, axis)
    attrs = {"axis": axis, "keepdims": kept, "select_last_index": int(last)}
    return Sample(13, (x,), (int64(found if kept else np.squeeze(found, axis)),), attrs)


ORACLES.update(ArgMax=partial(_place, True), ArgMin=partial(_place, False))


def softmax(row: list[float]) -> list[float]:
    top = max(row)
    shares = [math.exp(v - top) for v in row]
    return [share / math.fsum(shares) for share in shares]


def log_softmax(row: list[float]) -> list[float]:
    total = log_sum_exp(row)
    return [v - total for v in row]


def hardmax(row: list[float]) -> list[float]:
    return [float(n == row.index(max(row))) for n in range(len(row))]


def _of_rows(function: Callable[[list[float]], list[float]], rng: Random) -> Sample:
    x, opset = normal(rng, shape(rng, (1, 4)), 3), one_of(rng, 11, 13)
    if function is hardmax:
        x = np.round(x / 2)
    axis = int(rng.integers(-x.ndim, x.ndim))
    if opset == 13:
        return Sample(opset, (x,), (along(function, wide(x), axis),), {"axis": axis})
    rows = wide(x).reshape(math.prod(x.shape[: axis % x.ndim]), -1)
    return Sample(opset, (x,), (along(function, rows, 1).reshape(x.shape),), {"axis": axis})


ORACLES.update(
    Softmax=partial(_of_rows, softmax),
    LogSoftmax=partial(_of_rows, log_softmax),
    Hardmax=partial(_of_rows, hardmax),
)


def _running(multiplied: bool, rng: Random) -> Sample:
    dtype = one_of(rng, np.float32, np.int64) if not multiplied else np.float32
    x = whole(rng, shape(rng), -4, 4, dtype)
    axis = int(rng.integers(-x.ndim, x.ndim))
    exclusive, backwards = int(rng.integers(2)), int(rng.integers(2))

    def run(row: list[float]) -> list[float]:
        total, found = (1.0 if multiplied else 0.0), []
        for v in reversed(row) if backwards else row:
            after = total * v if multiplied else total + v
            found.append(total if exclusive else after)
            total = after
        return found[::-1] if backwards else found

    found = along(run, x, axis)
    found = found if dtype == np.float32 else found.astype(dtype)
    attrs = {"exclusive": exclusive, "reverse": backwards}
    return Sample(26 if multiplied else 14, (x, int64(axis)), (found,), attrs)


ORACLES.update(CumSum=partial(_running, False), CumProd=partial(_running, True))


@oracle("TopK")
def top_k(rng: Random) -> Sample:
    opset = one_of(rng, 10, 11, 24)
    x = whole(rng, shape(rng, most=6), -3, 3, np.float32 if opset == 10 else np.int64)
    axis = int(rng.integers(-x.ndim, x.ndim))
    k, largest = int(rng.integers(1, x.shape[axis] + 1)), opset == 10 or chance(rng, 0.5)

    def order(row: list[float]) -> list[int]:
        return sorted(range(len(row)), key=lambda n: (-row[n] if largest else row[n], n))[:k]

    places = int64(along(order, x, axis))
    attrs = {"axis": axis} if opset == 10 else {"axis": axis, "largest": int(largest), "sorted": 1}
    values = np.take_along_axis(x, places, axis)
    return Sample(opset, (x, int64([k])), (values, places), attrs)


@oracle("Unique")
def unique(rng: Random) -> Sample:
    x = whole(rng, shape(rng), 0, 2, one_of(rng, np.float32, np.int64, np.int8))
    is_sorted, axis = int(rng.integers(2)), None
    if chance(rng, 0.6):
        axis = int(rng.integers(-x.ndim, x.ndim))
    parts = [x.reshape(-1)[n : n + 1] for n in range(x.size)]
    if axis is not None:
        parts = [np.take(x, n, axis) for n in range(x.shape[axis])]
    keys = [tuple(part.reshape(-1).tolist()) for part in parts]
    first = {key: keys.index(key) for key in keys}
    order = sorted(first, key=lambda key: key if is_sorted else (first[key],))
    y = np.array([key[0] for key in order], x.dtype)
    if axis is not None:
        y = np.stack([parts[first[key]] for key in order], axis)
    indices = int64([first[key] for key in order])
    inverse = int64([order.index(key) for key in keys])
    counts = int64([keys.count(key) for key in order])
    attrs = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
    return Sample(11, (x,), (y, indices, inverse, counts), attrs)


@oracle("LpNormalization")
def lp_normalization(rng: Random) -> Sample:
    x, p = normal(rng, shape(rng)), one_of(rng, 1, 2)
    axis = one_of(rng, -1, int(rng.integers(x.ndim)))

    def divided(row: list[float]) -> list[float]:
        norm = math.fsum(abs(v) ** p for v in row) ** (1 / p)
        return [v / norm for v in row]

    return Sample(22, (x,), (along(divided, wide(x), axis),), {"axis": axis, "p": p})


def _of_channels(name: str, rng: Random) -> Sample:
    x = normal(rng, shape(rng, (3, 5)), 2)
    p = int(rng.integers(1, 4))
    rows = wide(x).reshape(*x.shape[:2], -1)
    found = {
        "GlobalAveragePool": lambda: rows.mean(-1),
        "GlobalMaxPool": lambda: rows.max(-1),
        "GlobalLpPool": lambda: (np.abs(rows) ** p).sum(-1) ** (1 / p),
    }[name]()
    y = found.reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    return Sample(22, (x,), (y,), {"p": p} if name == "GlobalLpPool" else {})


for _name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    ORACLES[_name] = partial(_of_channels, _name)

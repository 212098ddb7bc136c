"""One output against what it must be: its type, its dtype, its shape, then every value.

Nothing is broadcast, converted or repaired on the way; `elements` says which values are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opcheck.compare.elements import Judge, check
from opcheck.compare.ulp import UNORDERED, chunks, native
from opcheck.compare.where import describe
from opcheck.dtypes import DType, of, round_to
from opcheck.model import Array, Comparison, Failure, Foreign, Tolerance

#: The most wrong elements of one output that a Comparison holds.
WORST = 8


@dataclass(frozen=True, eq=False)
class Want:
    """What one output must be.

    `dtype` None admits any dtype that can hold the values. `values`, in the output's shape, are
    float64 and unrounded or already in the output's dtype for floating dtypes, else exact. The
    operator's range is [low, high], an end None where it has none.
    """

    name: str
    dtype: DType | None
    values: Array
    low: float | None = None
    high: float | None = None


def compare(
    want: Want, got: Array | Foreign, tolerance: Tolerance, like: Array | None = None
) -> Comparison:
    """Judge one output.

    `got` may have any memory layout and byte order. If `like`, an input, has the output's shape,
    each wrong element is shown with the input's element in its place. `used` is the largest share
    of an element, at most 1 for a comparison that passes, and infinite where no value was judged
    because type, dtype or shape is wrong.

    Raises ValueError for a tolerance that is negative, infinite, NaN or both of its kinds, and
    for wanted values that the wanted dtype cannot hold.
    """
    check(tolerance)
    if isinstance(got, Foreign):
        return _failed(want, "type", f"{got.description}, want a tensor")
    got = got.view(np.ndarray)
    dtype = of(got)
    if dtype is None or want.dtype not in (None, dtype):
        return _failed(want, "dtype", f"{dtype or got.dtype}, want {want.dtype or 'a tensor type'}")
    try:
        values = _exact_in(dtype, want.values)
    except ValueError as error:
        if want.dtype is not None:
            raise
        return _failed(want, "dtype", f"{dtype}, but {error}")
    if got.shape != values.shape:
        return _failed(want, "shape", f"{got.shape}, want {values.shape}")
    judge = Judge(dtype, tolerance, want.low, want.high)
    return _compare_values(judge, replace(want, values=values), got, like)


def compare_outputs(
    wants: Sequence[Want],
    got: Sequence[Array | Foreign],
    tolerance: Tolerance,
    like: Array | None = None,
) -> tuple[Comparison, ...]:
    """Judge all outputs of a node, in order, each as `compare` does.

    If their number is wrong there is one Comparison only, of the first missing or extra output.
    """
    check(tolerance)
    if len(got) == len(wants):
        return tuple(compare(*pair, tolerance, like) for pair in zip(wants, got, strict=True))
    name = wants[len(got)].name if len(got) < len(wants) else f"output {len(wants)}"
    detail = f"{len(got)} output{'s' * (len(got) != 1)}, want {len(wants)}"
    return (Comparison(name, "count", detail, used=math.inf),)


def _failed(want: Want, problem: Failure, detail: str) -> Comparison:
    return Comparison(want.name, problem, detail, used=math.inf)


def _exact_in(dtype: DType, values: Array) -> Array:
    """`values` in `dtype` if that is no floating one; ValueError if it cannot hold them."""
    stated = of(values)
    if stated is None or (dtype.kind != stated.kind != "float"):
        raise ValueError(f"{values.dtype} values are wanted")
    if stated == dtype or dtype.kind == "float":
        return values
    if stated.kind == "float":
        return round_to(values.astype(np.float64), dtype)
    cast = values.astype(dtype.numpy)
    lost = (cast.astype(values.dtype) != values) | ((cast < 0) != (values < 0))
    if lost.any():
        raise ValueError(f"{values[lost].flat[0]} is no value of {dtype}")
    return cast


def _compare_values(judge: Judge, want: Want, got: Array, like: Array | None) -> Comparison:
    used = 0.0
    steps = 0 if judge.dtype.kind == "float" else None
    wrong = None
    # The shares, negated, and flat indices of the worst elements: the worst comes first.
    worst: list[tuple[float, int]] = []

    for start, (wanted, actual) in chunks(want.values, got):
        shares, furthest = judge.shares(wanted, actual)
        used = max(used, float(shares.max()))
        steps = None if steps is None or furthest is None else max(steps, furthest)
        places = np.flatnonzero(shares > 1)
        if places.size:
            if wrong is None:
                wrong = np.zeros(got.size, np.bool_)
            wrong[start + places] = True
            worst_here = places[np.argsort(-shares[places], kind="stable")[:WORST]]
            worst += [(-float(shares[place]), start + int(place)) for place in worst_here]
            worst = sorted(worst)[:WORST]

    found = Comparison(
        want.name,
        None,
        dtype=judge.dtype,
        total=got.size,
        max_ulp=None if steps == UNORDERED else steps,
        used=used,
    )
    if wrong is None:
        return found

    count = int(np.count_nonzero(wrong))
    mismatches = []
    for place in sorted(place for _, place in worst):
        index = tuple(int(i) for i in np.unravel_index(place, got.shape))
        element = judge.mismatch(
            index, native(want.values.flat[[place]]), native(got.flat[[place]])
        )
        if like is not None and like.shape == got.shape:
            element = replace(element, input=like.item(index))
        mismatches.append(element)
    return replace(
        found,
        problem="values",
        detail=f"{count} of {got.size} elements wrong",
        wrong=count,
        where=describe(wrong.reshape(got.shape)),
        worst=tuple(mismatches),
    )

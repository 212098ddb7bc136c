"""Casts of bounded numbers."""

from dataclasses import replace
from typing import Any

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DType
from opcheck.numbers.arithmetic import FLOAT32, Arithmetic, expected, grid, narrow
from opcheck.numbers.bounded.array import VALUES, Bounded, Errors, as_values, size_of
from opcheck.numbers.bounded.choice import trunc, truth
from opcheck.numbers.bounded.elementwise import either


def astype(x: Bounded, dtype: Any, *, computes: bool = False) -> Any:
    """`x` in another type: a narrower float rounds, an integer cuts the fraction off.

    Arithmetic goes on in what is expected of that type. A value that an integer type cannot hold
    is lost: no specification says what becomes of it.
    """
    wanted = np.dtype(dtype)
    if wanted.kind == "b":
        room = x.settled().e
        return truth(np.asarray(x.v != 0), None if room is None else size_of(x.v) <= room)
    kind = dtypes.of(np.empty(0, wanted))
    if kind is None or kind.kind not in ("float", "int"):
        raise TypeError(f"no bounded numbers of type {wanted}")
    return (
        _to_integer(x, kind)
        if kind.kind == "int"
        else _to_float(x, kind, _arithmetic(x.arithmetic, kind, computes))
    )


def _to_float(x: Bounded, dtype: DType, arithmetic: Arithmetic) -> Bounded:
    if x.dtype == dtype.numpy:
        return Bounded(x.v, x.dtype, arithmetic, x._errors, k=x.k, grid=x.grid, least=x.least)
    v = as_values(x.v, VALUES()[arithmetic.values])
    rounds = grid(dtype).u > _u(x.dtype)
    if x.exact and not rounds:
        # Every number of the old type is one of the new.
        return Bounded(v, dtype.numpy, arithmetic)
    return Bounded(
        v,
        dtype.numpy,
        arithmetic,
        lambda: x.settled().errors,
        k=1.0 if rounds else 0.0,
        grid=grid(dtype) if rounds else None,
        least=x.sure,
    )


def _u(dtype: np.dtype[Any]) -> float:
    known = dtypes.of(np.empty(0, dtype))
    return grid(known).u if known is not None and known.kind == "float" else 0.0


def _arithmetic(old: Arithmetic, dtype: DType, computes: bool) -> Arithmetic:
    """The arithmetic of what follows a cast to `dtype`."""
    # Results that are rounded to a type of 16 bits, or stored in one.
    is_half = old.stored is not None or old.grid.dtype.numpy.itemsize == 2
    half = old.half or (old if is_half else None)
    if dtype.numpy.itemsize > 2:
        new = expected(dtype)
    else:
        new = narrow(dtype) if computes else half or FLOAT32
    values = max(new.values, old.values)
    return replace(new, flushes=old.flushes, scatters=old.scatters, values=values, half=half)


def _to_integer(x: Bounded, dtype: DType) -> Bounded:
    low, high = dtypes.limits(dtype)
    cut = trunc(x)
    size = cut.v.astype(np.float64)
    outside = ~((size >= low) & (size <= high))
    lost = either(cut.lost, outside if outside.any() else None)
    return Bounded(cut.v, dtype.numpy, x.arithmetic, Errors(cut.e, lost=lost))

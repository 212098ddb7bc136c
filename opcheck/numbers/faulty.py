"""Plain numbers whose functions can be wrong: what a formula gives with one of them replaced."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opcheck.numbers import plain
from opcheck.numbers.arithmetic import Number
from opcheck.numbers.context import called


class Faulty(Number):
    """A plain array whose operators and functions can be replaced; see `numbers.lifting`."""

    module = __name__

    def __init__(self, v: NDArray[Any]) -> None:
        self.v = v
        self.dtype = v.dtype

    def __getitem__(self, index: Any) -> "Faulty":
        return Faulty(np.asarray(self.v[index]))


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function of plain numbers, or what takes its place, for faulty arrays."""
    function = getattr(plain, name)

    def of_faulty_arrays(*operands: Any, **options: Any) -> Any:
        arrays = [bare(operand) for operand in operands]
        return _wrapped(called(name, function, *arrays, **options))

    return of_faulty_arrays


def values_of(x: Any) -> NDArray[np.float64]:
    """Return the values of `x` in float64, as a plain array: formulas decide by them."""
    return plain.values_of(bare(x))


def bare(x: Any) -> Any:
    """Return the plain array of a faulty one, or those in a list; anything else as it is."""
    if isinstance(x, list | tuple):
        return type(x)(map(bare, x))
    return x.v if isinstance(x, Faulty) else x


def seen(x: Any) -> Any:
    """Return the values of `x` as a plain array, though rounding may have touched them."""
    return x.v if isinstance(x, Number) else x


def _wrapped(x: Any) -> Any:
    """Return floating arrays, or those in a tuple, as faulty ones; others stay plain."""
    if isinstance(x, tuple):
        return tuple(map(_wrapped, x))
    array = np.asarray(x)
    # Indices and booleans stay plain: formulas index with them.
    return Faulty(array) if array.dtype.kind in "fc" else array

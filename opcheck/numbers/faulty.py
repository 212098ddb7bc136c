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

    def __init__(self, v: NDArray[Any]) -> None:
        self.v, self.dtype = v, v.dtype

    module = __name__

    def __getitem__(self, index: Any) -> "Faulty":
        return Faulty(np.asarray(self.v[index]))


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    """The function of plain numbers, or what takes its place."""
    found = getattr(plain, name)
    return lambda *arrays, **options: _wrapped(called(name, found, *map(bare, arrays), **options))


def values_of(x: Any) -> NDArray[np.float64]:
    """The values of `x` in float64, as a plain array: formulas decide by them."""
    return plain.values_of(bare(x))


def bare(x: Any) -> Any:
    """The plain array of a faulty one, or those in a list; anything else as it is."""
    if isinstance(x, list | tuple):
        return type(x)(map(bare, x))
    return x.v if isinstance(x, Faulty) else x


def seen(x: Any) -> Any:
    """The values of `x` as a plain array, though rounding may have touched them."""
    return x.v if isinstance(x, Number) else x


def _wrapped(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_wrapped, x))
    array = np.asarray(x)
    # Indices and booleans stay plain: formulas index with them.
    return Faulty(array) if array.dtype.kind in "fc" else array

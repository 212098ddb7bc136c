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
        """Return the elements at an index, faulty too; raises IndexError as NumPy does."""
        return Faulty(np.asarray(self.v[index]))


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function of plain numbers, or what takes its place, for faulty arrays.

    It takes faulty and plain arrays, and lists of them. Floating results of NumPy's own types are
    faulty again, also in a tuple; booleans and integers are plain. It raises what the function
    raises.

    Raises AttributeError if neither `plain` nor NumPy has the function.
    """
    function = getattr(plain, name)

    def of_faulty_arrays(*operands: Any, **options: Any) -> Any:
        """Call the function, or the fault in its place, on plain arrays; wrap what it returns."""
        arrays = [bare(operand) for operand in operands]
        return _wrapped(called(name, function, *arrays, **options))

    return of_faulty_arrays


def values_of(x: Any) -> NDArray[np.float64]:
    """Return the values of `x`, faulty or plain, as a new plain float64 array.

    They are those that `x` carries, faults already in them; formulas use them where they decide
    something. Integers beyond 2⁵³ are rounded. No fault takes the place of this function.
    """
    return plain.values_of(bare(x))


def bare(x: Any) -> Any:
    """Return the plain array of a faulty one, or those in a list or tuple; others as they are."""
    if isinstance(x, list | tuple):
        return type(x)(map(bare, x))
    return x.v if isinstance(x, Faulty) else x


def seen(x: Any) -> Any:
    """Return the values of `x` as a plain array, though rounding may have touched them.

    Those of bounded numbers are float64, longdouble or mpmath's, whatever the tensor's dtype. What
    is not a `Number`, such as a plain array, a list, or booleans that are unsure, is returned as it
    is.
    """
    return x.v if isinstance(x, Number) else x


def _wrapped(x: Any) -> Any:
    """Return floating and complex arrays of NumPy's own types as faulty ones; others stay plain.

    Others are indices and booleans, and bfloat16. Of a tuple, return a tuple of these. A plain
    number becomes an array of rank 0.
    """
    if isinstance(x, tuple):
        return tuple(map(_wrapped, x))
    array = np.asarray(x)
    # Indices and booleans stay plain: formulas index with them.
    return Faulty(array) if array.dtype.kind in "fc" else array

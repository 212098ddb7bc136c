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
    """A plain array `v` whose operators and functions faults can replace; see `numbers.lifting`.

    Its functions are those of this module, which `__getattr__` makes.
    """

    module = __name__

    def __init__(self, v: NDArray[Any]) -> None:
        self.v = v
        self.dtype = v.dtype

    def __getitem__(self, index: Any) -> "Faulty":
        """Return the elements at an index, faulty too; raises IndexError as NumPy does."""
        return Faulty(np.asarray(self.v[index]))


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function `name` of plain numbers in a form for faulty arrays; cached.

    When it is called, a fault in force takes its place: see `context.called`. It takes faulty and
    plain arrays, and lists of them. Floating results of NumPy's own types are faulty again, also in
    a tuple; booleans and integers are plain. It raises what the function or the fault raises.

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
    """Return the values of `x` as a plain array, not a copy, though they may have errors.

    Those of bounded numbers are float64, longdouble or mpmath's, whatever the tensor's dtype. What
    is not a `Number`, such as a plain array, a list, a `Truth` or `Choices`, is returned as it is.
    """
    return x.v if isinstance(x, Number) else x


def _wrapped(x: Any) -> Any:
    """Return a floating or complex array of NumPy's own types as a faulty one, others as they are.

    Others are indices and booleans, with which formulas index, and bfloat16. Of a tuple, return a
    tuple of these. A plain number becomes an array of rank 0.
    """
    if isinstance(x, tuple):
        return tuple(map(_wrapped, x))
    array = np.asarray(x)
    return Faulty(array) if array.dtype.kind in "fc" else array

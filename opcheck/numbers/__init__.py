"""Kinds of numbers: one formula, evaluated on several of them, gives all there is to know.

A formula is written once, with the functions of this package, which have the names and the
meaning of the Python array API standard (https://data-apis.org/array-api/). What it computes
depends on the arrays that are put in:

- *plain*: NumPy arrays. The answer, in the arrays' own type.
- *bounded* (`opcheck.numbers.bounded.Bounded`): the value, far more accurate than the type; a bound
  on how far any sound implementation of the formula may lie from it; and, if asked for, how far
  independent roundings would scatter it.
- *precise* (`opcheck.numbers.precise.Precise`): the value to as many digits as are asked for.

The package knows NumPy, and mpmath where precise numbers are used, and nothing of operators.
Beyond the standard there are `erf`, `fmod`, `inexact`, `pad`, `sums`, `top_k`
and `values_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from opcheck.numbers import plain
from opcheck.numbers.kinds import Kind, Number

#: The functions that every kind has.
NAMES = frozenset(
    """
    abs acos acosh add argmax argmin asin asinh astype atan atanh broadcast_to ceil clip
    concat cos cosh cumulative_sum divide equal erf exp expand_dims expm1 flip floor fmod
    full_like greater greater_equal inexact isfinite isinf isnan less less_equal log log1p logical_and
    logical_not logical_or logical_xor matmul max maximum mean min minimum multiply negative
    not_equal pad permute_dims pow prod remainder reshape round sign sin sinh sqrt squeeze stack
    subtract sum take take_along_axis tan tanh tensordot tile top_k sums trunc values_of where zeros_like
    """.split()
)

__all__ = ["NAMES", "Number"]


def _kind_of(operands: Iterable[Any]) -> Any:
    for operand in operands:
        if isinstance(operand, Kind):
            return operand.kind()
        if isinstance(operand, list | tuple):
            kind = _kind_of(operand)
            if kind is not plain:
                return kind
    return plain


def _dispatched(name: str) -> Callable[..., Any]:
    def function(*operands: Any, **options: Any) -> Any:
        return getattr(_kind_of(operands), name)(*operands, **options)

    function.__name__ = function.__qualname__ = name
    return function


globals().update({name: _dispatched(name) for name in NAMES - {"astype"}})

_lift: ContextVar[Callable[[Any], Any]] = ContextVar("lift")


@contextmanager
def lifting(lift: Callable[[Any], Any]) -> Iterator[None]:
    """Evaluate a formula on the kind of numbers to which `lift` brings a plain array."""
    token = _lift.set(lift)
    try:
        yield
    finally:
        _lift.reset(token)


def astype(x: Any, dtype: Any) -> Any:
    """`x` in another type; floats that a formula makes of integers are of the kind in force."""
    if isinstance(x, Kind):
        return x.kind().astype(x, dtype)
    found = np.astype(np.asarray(x), np.dtype(dtype))
    return _lift.get(lambda array: array)(found)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"no function {name}; NAMES has those there are")


def shape(x: Any) -> tuple[int, ...]:
    """The shape of an array of any kind, or () for a Python number."""
    return x.shape if isinstance(x, Number) else np.shape(x)

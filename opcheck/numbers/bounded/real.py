"""Functions of values: float64's by NumPy, wider ones by NumPy or mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_float_erf = np.frompyfunc(math.erf, 1, 1)


@cache
def real(name: str) -> Callable[..., Any]:
    """The function `name` of arrays of float64, longdouble or mpmath's numbers, in their dtype."""
    plain = None if name == "erf" else getattr(np, name)

    def function(*given: Any) -> Any:
        # Arithmetic on mpmath's numbers of rank 0 leaves the bare number.
        operands = [np.asarray(one) for one in given]
        kind = operands[0].dtype
        if kind == np.object_:
            return _precise(name)(*operands)
        if plain is not None:
            return plain(*operands)
        if kind == np.float64:
            return np.asarray(_float_erf(operands[0]), np.float64)
        # NumPy has no erf, and Python's knows float64 only.
        return _from_precise(_precise(name), operands[0])

    return function


def _precise(name: str) -> Callable[..., Any]:
    from opcheck.numbers import precise

    function: Callable[..., Any] = precise.of_objects(name)
    return function


def _from_precise(function: Callable[..., Any], x: Any) -> Any:
    from opcheck.numbers import precise

    return precise.longdoubles(function(precise.objects(x)))

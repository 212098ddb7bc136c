"""Causes of formulas that round to whole numbers: by another rule than to the nearest even one.

Operators' own files have the rules that suites are asked about, such as ties away from 0.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck.engine.mutants.mutant import Mutant, faulty
from opcheck.model import Array

#: Whole numbers in place of others, in their type.
RoundingRule: TypeAlias = Callable[[Array], Array]


def mutants() -> Iterator[Mutant]:
    """Yield the mutants of any operator whose formula rounds."""
    for name, text, rule in (
        ("ties_down", "ties were rounded down, not to an even number", half_down),
        (
            "ties_towards_0",
            "ties were rounded towards 0, not to the nearest even number",
            half_to_0,
        ),
        ("rounded_up", "numbers were rounded up, not to the nearest one", np.ceil),
    ):
        yield faulty("round", name, text, partial(by_rule, rule))


def by_rule(rule: RoundingRule, original: Any, x: Any) -> Array:
    """Fault: numbers are rounded by another rule; infinities and NaN stay."""
    values: Array = np.asarray(x)
    return np.asarray(rule(values)).astype(values.dtype)


def half_down(x: Array) -> Array:
    """Return the nearest whole numbers, of two the lower."""
    lower = np.floor(x)
    return np.where(x - lower <= x.dtype.type(0.5), lower, np.ceil(x))


def half_to_0(x: Array) -> Array:
    """Return the nearest whole numbers, of two the one nearer to 0."""
    return np.copysign(half_down(np.abs(x)), x)

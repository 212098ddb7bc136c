"""What the engine says of a Softmax, for the tests of its bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from opcheck.engine.bounds import Allowance, Bound, Part, Tier

from opcheck.engine import Exact, exactly
from opcheck.model import OpVersion

FLOATS = ("bfloat16", "float16", "float32", "float64")
SINGLE, DOUBLE = 2.0**-24, 2.0**-53

WHOLE: Part = (slice(None), slice(None), slice(None))


def exact_of(x: Any, axis: int = -1) -> Exact:
    (out,) = exactly(OpVersion("", "Softmax", 13), [x], {"axis": axis})
    assert isinstance(out, Exact)
    return out


def tier_of(bound: Bound, name: str) -> Tier:
    (tier,) = (tier for tier in bound.tiers(()) if tier.name == name)
    return tier


def allowance_of(x: Any, name: str = "float32") -> Allowance:
    """What a tier allows to the rows of a matrix."""
    out = exact_of(x)
    return out.bound.allowance(tier_of(out.bound, name), np.arange(len(x)), out.values)


def common_of(allowance: Allowance) -> tuple[Any, Any]:
    """The logarithms of how far down and up a row's common factor may take it."""
    assert allowance.common is not None
    return allowance.common


def quickly(out: Exact, given: str = "float64", part: Part = WHOLE) -> tuple[Any, Any]:
    """A part of y, as it is given, and what is quickly accepted there."""
    y = out.values.reshape(out.bound.layout)[part].astype(given)
    accepted = np.full(y.shape, -1, given)
    before = y.tobytes()
    out.bound.quick(part, y, accepted)
    assert y.tobytes() == before
    return y, accepted

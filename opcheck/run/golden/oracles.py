"""What comes out of a node, by two oracles that share no code and have to agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opcheck import dtypes, precise
from opcheck.compare.ulp import distance
from opcheck.engine import exactly, operator_of, rounded
from opcheck.errors import InvalidNode
from opcheck.model import Array, Attrs, OpVersion
from opcheck.precise import Precise, Undecided
from opcheck.suite.golden_manifest import Method

#: How far from a midpoint, in ULP, the engine may take the other side: float64 is computed there
#: in types of 64 bits at the least, where an ULP of float64 has 2^11 steps.
NEAR = 2.0**-9


class Disagreement(ValueError):
    """The oracles, or an oracle and the case, contradict each other; nothing may be written."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a node and how they came about."""

    arrays: tuple[Array, ...]
    method: Method


def outputs(op: OpVersion, operands: Sequence[Array], attrs: Attrs) -> Outputs | None:
    """What both oracles say of a node, each value correctly rounded; None if neither knows it.

    Raises InvalidNode where both reject the node, Undecided where the text leaves open what comes
    out, and Disagreement.
    """
    fine = _said(precise.evaluate, op, operands, attrs)
    engine = _said(exactly, op, operands, attrs) if operator_of(op) else None
    if isinstance(fine, Undecided):
        raise fine
    if isinstance(fine, InvalidNode) or isinstance(engine, InvalidNode):
        _check_both_reject(fine, engine)
    if fine is None:
        return None if engine is None else Outputs(tuple(map(rounded, engine)), "engine")
    if engine is not None:
        if len(fine) != len(engine):
            raise Disagreement(
                f"opcheck.precise gives {len(fine)} outputs, the engine {len(engine)}"
            )
        for number, (one, other) in enumerate(zip(fine, engine, strict=True)):
            _check_agreement(number, one, rounded(other))
    methods = {one.method for one in fine}
    return Outputs(
        tuple(one.values for one in fine), next(m for m in reversed(_FINE) if m in methods)
    )


#: From the most to the least direct.
_FINE: tuple[Method, ...] = ("exact", "mpmath", "double-double")


def _said(by: Any, op: OpVersion, operands: Sequence[Array], attrs: Attrs) -> Any:
    try:
        return by(op, operands, attrs)
    except (InvalidNode, Undecided) as error:
        return error


def _check_both_reject(fine: Any, engine: Any) -> None:
    """Raise what both raise, or Disagreement where one of them accepts the node."""
    said = {"opcheck.precise": fine, "the engine": engine}
    for who, answer in said.items():
        if answer is not None and not isinstance(answer, InvalidNode):
            (other,) = (one for one in said if one != who)
            raise Disagreement(f"{who} accepts the node, {other} does not: {said[other]}")
    raise fine if fine is not None else engine


def _check_agreement(number: int, fine: Precise, engine: Array) -> None:
    """Raise Disagreement unless `engine` is what `fine` is, but for a ULP next to a midpoint."""
    want = fine.values
    if (want.dtype, want.shape) != (engine.dtype, engine.shape):
        told = f"{want.dtype}{list(want.shape)}, the engine {engine.dtype}{list(engine.shape)}"
        raise Disagreement(f"output {number}: opcheck.precise gives {told}")
    wrong = ~same(want, engine)
    if dtypes.of(want).kind == "float":  # type: ignore[union-attr]
        wrong &= (distance(want, engine) != 1) | (fine.distance > NEAR)
    if wrong.any():
        count, place = int(np.count_nonzero(wrong)), tuple(map(int, np.argwhere(wrong)[0]))
        raise Disagreement(
            f"output {number}: {count} of {want.size} elements differ; at {list(place)}"
            f" opcheck.precise ({fine.method}) gives {want[place]!s}, the engine {engine[place]!s};"
            f" the exact value lies {fine.distance[place]:.3g} ULP from a midpoint"
        )


def same(one: Array, other: Array) -> Any:
    """Which elements are the same: all NaN are, +0 and −0 are not."""
    bits = f"u{one.itemsize}"
    equal = one.view(bits) == other.view(bits) if one.dtype != np.bool_ else one == other
    if dtypes.of(one).kind != "float":  # type: ignore[union-attr]
        return equal
    return equal | (np.isnan(one) & np.isnan(other))


def by_engine(op: OpVersion, operands: Sequence[Array], attrs: Attrs) -> tuple[Array, ...] | None:
    """What the engine alone says, correctly rounded or a ULP beside; None if it does not know it.

    Raises InvalidNode.
    """
    return tuple(map(rounded, exactly(op, operands, attrs))) if operator_of(op) else None

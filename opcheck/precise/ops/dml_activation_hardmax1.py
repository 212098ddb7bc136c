"""DirectML's DML_ACTIVATION_HARDMAX1: 1 at the first maximum over several axes at once."""

from __future__ import annotations

import numpy as np

from opcheck.errors import InvalidNode
from opcheck.model import Array
from opcheck.precise.answer import Precise, Undecided
from opcheck.precise.first_maximum import first_maximum
from opcheck.precise.registry import Operator, Version
from opcheck.precise.rows import along


def _hardmax1(x: Array, *, Axes: tuple[int, ...] | None = None) -> Precise:
    """The first maximum in row-major order over `Axes`, which the text shows increasing only.

    "Los valores deben estar en el intervalo de [0, InputTensor.DimensionCount - 1]"; 1 to 8
    dimensions.
    """
    if not 1 <= x.ndim <= 8:
        raise InvalidNode(f"{x.ndim} dimensions are outside [1, 8]")
    if not isinstance(Axes, tuple) or not all(isinstance(axis, int) for axis in Axes):
        raise InvalidNode(f"Axes {Axes!r} are no integers")
    if not Axes:
        raise InvalidNode("Axes are empty")
    for axis in Axes:
        if not 0 <= axis < x.ndim:
            raise InvalidNode(f"axis {axis} is outside [0, {x.ndim - 1}]")
    if len(set(Axes)) < len(Axes):
        raise InvalidNode(f"Axes {list(Axes)} repeat an axis")
    answer = along(x, sorted(Axes), first_maximum)
    as_written = along(x, Axes, first_maximum)
    if not np.array_equal(answer.values, as_written.values):
        raise Undecided(f"the text does not say in which order Axes {list(Axes)} are run through")
    return answer


OPERATOR = Operator(
    domain="com.microsoft.dml",
    name="DML_ACTIVATION_HARDMAX1",
    versions={1: Version(("float16", "float32"), _hardmax1)},
)

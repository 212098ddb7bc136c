"""An output before it is rounded to its dtype."""

from __future__ import annotations

from dataclasses import dataclass

from opcheck.dtypes import DType, round_to
from opcheck.engine.bounds import Bound, Floats
from opcheck.model import Array


@dataclass(frozen=True, eq=False)
class Exact:
    """The value `values` + `rest`, both float64 and of one shape, to be rounded to `dtype`.

    `rest` is what float64 has no room for, at most half a unit in the last place of `values`; None
    where `dtype` is narrower than float64 and the value is known to float64's precision only.
    """

    values: Floats
    dtype: DType
    bound: Bound
    rest: Floats | None = None

    def rounded(self) -> Array:
        """The value rounded once to `dtype`, to nearest, ties to even."""
        return round_to(self.values, self.dtype)


def rounded(output: Array | Exact) -> Array:
    """An output of a kernel as an array of its dtype."""
    return output.rounded() if isinstance(output, Exact) else output

"""What a diagnosis is made of: a node, what a backend said of it, and what it had to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from opcheck.compare import Want, compare_outputs
from opcheck.compare.ulp import distance
from opcheck.compare.wants import computed_want
from opcheck.dtypes import DTYPES, DType, of, round_to
from opcheck.engine import Node, dtypes_of
from opcheck.engine.evaluate import exactly, is_real
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign, Tolerance

Outputs: TypeAlias = Sequence[Array | Foreign]

#: The types that something may have gone through, the widest first.
NARROWER = tuple(DTYPES[name] for name in ("float32", "float16", "bfloat16"))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A wrong answer to `node`.

    `got` is None where the backend refused the node. `admitted` are the answers that are right,
    none where the node must be refused.
    """

    node: Node
    got: Outputs | None
    admitted: Sequence[Sequence[Want]] = ()
    tolerance: Tolerance | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes the inputs have."""
        return sum(array.nbytes for array in self.node.inputs if array is not None)

    def is_right(self, outputs: Outputs) -> bool:
        """Whether other outputs would have passed."""
        return any(
            all(one.problem is None for one in compare_outputs(wants, outputs, self.tolerance))
            for wants in self.admitted
        )

    def nearest(self, place: int) -> Array | None:
        """The right values of an output, of several answers those nearest to what came.

        None where none has the shape of what came, or where that is not of floats.
        """
        return self._right[place]

    @cached_property
    def _right(self) -> list[Array | None]:
        return [self._nearest(place) for place in range(len(self.got or ()))]

    def _nearest(self, place: int) -> Array | None:
        assert self.got is not None
        got = self.got[place]
        dtype = of(got) if isinstance(got, np.ndarray) else None
        if isinstance(got, Foreign) or dtype is None or dtype.kind != "float":
            return None
        answers = [wants[place].values for wants in self.admitted if len(wants) == len(self.got)]
        right = [
            round_to(values.astype(np.float64), dtype)
            for values in answers
            if values.shape == got.shape and values.dtype.kind != "b"
        ]
        if len(right) < 2 or not got.size:
            return next(iter(right), None)
        return min(right, key=lambda one: int(distance(one, got).max()))

    def narrower_types(self) -> list[DType]:
        """The narrower types that the operator allows, the widest first.

        None where the output is none of floats of the input's type.
        """
        first = self.node.inputs[0] if self.node.inputs else None
        own = None if first is None else of(first)
        if own is None or own.kind != "float" or not self.got:
            return []
        if any(isinstance(got, Foreign) or of(got) != own for got in self.got):
            return []
        allowed = dtypes_of(self.node.op)
        return [t for t in NARROWER if t.precision < own.precision and t.name in allowed]

    def rounded_to(self, dtype: DType) -> Evidence:
        """The same with input and output rounded to one of those; the engine says what is right."""
        node, got = self.node, [array for array in self.got or () if isinstance(array, np.ndarray)]
        with np.errstate(all="ignore"):
            inputs = tuple(
                array if array is None or not is_real(array) else array.astype(dtype.numpy)
                for array in node.inputs
            )
            outputs = [array.astype(dtype.numpy) for array in got]
        node = replace(node, inputs=inputs)
        try:
            answers = exactly(node)
        except InvalidNode:
            return Evidence(node, outputs)
        return Evidence(node, outputs, (tuple(computed_want(node.op, "", one) for one in answers),))

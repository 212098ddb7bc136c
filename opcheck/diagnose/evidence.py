"""What a diagnosis is made of: a node, what a backend said of it, and what it had to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from opcheck.compare import Want, compare_outputs
from opcheck.compare.ulp import distance
from opcheck.dtypes import DTYPES, DType, of, round_to
from opcheck.engine import Exact, exactly, operator_of
from opcheck.engine.mistakes import Node
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign, Tolerance

Outputs: TypeAlias = Sequence[Array | Foreign]

#: The types that something may have gone through, the widest first.
_NARROWER = tuple(DTYPES[name] for name in ("float32", "float16", "bfloat16"))


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
        return sum(array.nbytes for array in self.node.inputs)

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

    def narrowed(self) -> list[tuple[DType, Evidence]]:
        """The same in each narrower type that the operator allows, the widest first.

        Input and output are rounded to it; what is right, the engine says. Empty where the output
        is none of floats of the input's type.
        """
        op, inputs = self.node.op, self.node.inputs
        operator = operator_of(op)
        own = of(inputs[0]) if inputs else None
        if operator is None or own is None or own.kind != "float" or not self.got:
            return []
        got = [array for array in self.got if isinstance(array, np.ndarray)]
        if len(got) != len(self.got) or any(array.dtype != inputs[0].dtype for array in got):
            return []
        allowed = operator.kernels[op.since].dtypes
        smaller = [t for t in _NARROWER if t.precision < own.precision and t.name in allowed]
        return [(dtype, self._in(dtype, got)) for dtype in smaller]

    def _in(self, dtype: DType, got: Sequence[Array]) -> Evidence:
        with np.errstate(all="ignore"):
            inputs = tuple(array.astype(dtype.numpy) for array in self.node.inputs)
            outputs = [array.astype(dtype.numpy) for array in got]
        node = Node(self.node.op, inputs, self.node.attrs, self.node.constant)
        try:
            answers = exactly(node.op, node.inputs, node.attrs)
        except InvalidNode:
            return Evidence(node, outputs)
        return Evidence(node, outputs, (tuple(_want(answer, dtype) for answer in answers),))


def _want(answer: Array | Exact, dtype: DType) -> Want:
    if isinstance(answer, Exact):
        return Want("", dtype, answer.values, bound=answer.bound, rest=answer.rest)
    return Want("", dtype, answer)

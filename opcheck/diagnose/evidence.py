"""What a diagnosis is made of: a node, what a backend said of it, and what it had to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from opcheck.compare import Want, compare_outputs
from opcheck.compare.ulp import distance
from opcheck.compare.wants import computed_want
from opcheck.diagnose.faults import NARROWER, Fault
from opcheck.dtypes import DType, limits, of, round_to
from opcheck.engine import Node, dtypes_of
from opcheck.engine.evaluate import exactly
from opcheck.errors import InvalidNode
from opcheck.model import Array, Foreign, Tolerance

Outputs: TypeAlias = Sequence[Array | Foreign]

#: Answers to one question in different ways differ by so many ULP.
_SAME = 4


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
        """Return the narrower types that the operator allows, the widest first.

        Empty where the output is not of the input's type, or that is no float.
        """
        lead = self.node.lead
        own = None if lead is None else of(lead)
        if own is None or own.kind != "float" or not self.got:
            return []
        if any(isinstance(got, Foreign) or of(got) != own for got in self.got):
            return []
        allowed = dtypes_of(self.node.op)
        return [t for t in NARROWER if t.precision < own.precision and t.name in allowed]

    def views(self) -> Iterator[tuple[Fault, Evidence]]:
        """Yield the answer as it was before a fault spoiled it, the likeliest fault first."""
        if types := self._types():
            wanted, dtype = types
            fault = Fault("output", dtype)
            with np.errstate(all="ignore"):
                got = [np.asarray(array).astype(wanted.numpy) for array in self.got or ()]
            cast = replace(self, got=got)
            yield fault, cast
            # An output of a narrower type cannot have more digits than that.
            yield from [(fault, cast._rounded(fault))] * (dtype in cast.narrower_types())
        for dtype in self.narrower_types():
            yield (computed := Fault("computed", dtype)), (view := self._rounded(computed))
            end, values = limits(dtype)[1], [*self.node.given, *(self.got or ())]
            with np.errstate(all="ignore"):
                is_cut = any((np.abs(np.asarray(array)) >= end).any() for array in values)
            saturated = Fault("saturated", dtype)
            yield saturated, self._rounded(saturated) if is_cut else view

    def _types(self) -> tuple[DType, DType] | None:
        """Return the type that all outputs must be of, and the one that all are of instead."""
        wanted = {want.dtype for wants in self.admitted for want in wants}
        types = {of(got) if isinstance(got, np.ndarray) else None for got in self.got or ()}
        if len(wanted) != 1 or len(types) != 1 or wanted == types:
            return None
        want, dtype = wanted.pop(), types.pop()
        return (want, dtype) if want and dtype else None

    def _rounded(self, fault: Fault) -> Evidence:
        """Return the same in a fault's type: the engine says what is right there."""
        node = fault.narrowed(self.node)
        with np.errstate(all="ignore"):
            got = [
                fault.restored(array) for array in self.got or () if isinstance(array, np.ndarray)
            ]
        try:
            answers = exactly(node)
        except InvalidNode:
            # Right answers to a node that the text leaves open are known by their values alone.
            admitted = [
                [replace(want, dtype=fault.dtype, bound=None, rest=None) for want in wants]
                for wants in self.admitted
            ]
            return Evidence(node, got, admitted, Tolerance(ulp=_SAME))
        return Evidence(node, got, (tuple(computed_want(node.op, "", one) for one in answers),))

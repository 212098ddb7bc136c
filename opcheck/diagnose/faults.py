"""Faults that any operator may have, and two mistakes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from opcheck.dtypes import DTYPES, DType, limits, of
from opcheck.engine import Node
from opcheck.engine.evaluate import is_real
from opcheck.engine.mutants.mutant import Answer
from opcheck.engine.mutants.mutant import Mutant as Mistake
from opcheck.model import Array

#: The types that something may have gone through, the widest first.
NARROWER = tuple(DTYPES[name] for name in ("float32", "float16", "bfloat16"))


@dataclass(frozen=True)
class Fault:
    """A way to spoil any operator: the `output` is of another type, or all is `computed` in one.

    `saturated`: what leaves its range, infinities too, became its largest finite number.
    """

    kind: Literal["output", "computed", "saturated"]
    dtype: DType

    @property
    def name(self) -> str:
        """The name of the fault: `computed_in_float32`."""
        return f"{self.kind}_in_{self.dtype}"

    @property
    def text(self) -> str:
        """A sentence that fits after "as if"."""
        match self.kind:
            case "output":
                return f"the output was {self.dtype} whatever the input"
            case "computed":
                return f"it was computed in {self.dtype}"
            case "saturated":
                limit = f"what leaves its range became {limits(self.dtype)[1]:.3g}"
                return f"it was computed in {self.dtype}, where {limit}"

    def beside(self, mistake: Mistake | None = None) -> Mistake:
        """Return the mistakes of a backend that makes another one too, or none."""
        if mistake is None:
            within = ", within whose error it lies" * (self.kind == "computed")
            return Mistake(self.name, self.text + within, self._spoiling(lambda node: node.right))
        name, text = f"{mistake.name}+{self.name}", f"{mistake.text}, and {self.text}"
        return Mistake(name, text, self._spoiling(mistake.answer))

    def _spoiling(self, answer: Answer) -> Answer:
        def spoilt(node: Node) -> Sequence[Any]:
            own = None if node.lead is None else of(node.lead)
            if self.kind == "output":
                return [np.asarray(one).astype(self.dtype.numpy) for one in answer(node)]
            if own is None or own.kind != "float" or self.dtype.precision >= own.precision:
                return answer(node)
            outputs = [self._bounded(np.asarray(one)) for one in answer(self.narrowed(node))]
            return [one.astype(own.numpy) for one in outputs]

        return spoilt

    def narrowed(self, node: Node) -> Node:
        """Return the node with its inputs in the type."""
        with np.errstate(all="ignore"):
            inputs = tuple(self._narrow(array) for array in node.inputs)
        return replace(node, inputs=inputs)

    def _narrow(self, array: Array | None) -> Array | None:
        if array is None or not is_real(array):
            return array
        return self._bounded(array.astype(self.dtype.numpy))

    def restored(self, got: Array) -> Array:
        """Return an output in the type, infinite again where it was cut."""
        narrow = got.astype(self.dtype.numpy)
        if self.kind != "saturated":
            return narrow
        largest = np.abs(narrow) == limits(self.dtype)[1]
        return np.where(largest, np.copysign(np.inf, narrow), narrow).astype(narrow.dtype)

    def _bounded(self, array: Array) -> Array:
        if self.kind != "saturated" or array.dtype != self.dtype.numpy:
            return array
        low, high = (array.dtype.type(end) for end in limits(self.dtype))
        return np.asarray(np.clip(array, low, high))


def both(one: Mistake, other: Mistake) -> Mistake:
    """Return two mistakes that each spoil elements of their own; of an element both, the second."""

    def spoilt(node: Node) -> Sequence[Any]:
        outputs = []
        for right, mine, its in zip(node.right, one.answer(node), other.answer(node), strict=True):
            if not np.shape(right) == np.shape(mine) == np.shape(its):
                return other.answer(node)
            same = (its == right) | (np.isnan(its) & np.isnan(right))
            outputs.append(np.where(same, mine, its).astype(right.dtype))
        return outputs

    return Mistake(f"{one.name}+{other.name}", f"{one.text}, and {other.text}", spoilt)


#: Every fault, by its name.
FAULTS = {
    fault.name: fault
    for dtype in DTYPES.values()
    for fault in (Fault("output", dtype), Fault("computed", dtype), Fault("saturated", dtype))
}


def mistake_named(name: str, mistakes: Mapping[str, Mistake]) -> Mistake | None:
    """Return the mistake, the fault or the two of them that go by a name; None if none does."""
    first, *rest = (mistakes.get(part) or FAULTS.get(part) for part in name.split("+"))
    found = first.beside() if isinstance(first, Fault) else first
    for part in rest if found else ():
        if part is None or found is None:
            return None
        found = part.beside(found) if isinstance(part, Fault) else both(found, part)
    return found

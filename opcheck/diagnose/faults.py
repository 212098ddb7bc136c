"""Faults: mistakes that any operator can have, in the type of the output or of the computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product, starmap
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from opcheck.dtypes import BASIC, DType, is_real, limits, of
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import AnswerFunction, reading
from opcheck.model import (
    Array,
)

#: Saturated: computed, and clipped to the largest finite number.
_FaultKind: TypeAlias = Literal["output", "computed", "saturated"]


class Fault(NamedTuple):
    """A mistake that any operator can have, in the output's type or that of the computation.

    Attributes:
        kind: "output", all outputs are of the type; "computed", all is computed in the type;
            "saturated", and what leaves its range becomes its largest finite number.
        dtype: The type.
    """

    kind: _FaultKind
    dtype: DType

    @property
    def name(self) -> str:
        """The name of the fault: `computed_in_float32`."""
        return f"{self.kind}_in_{self.dtype}"

    @property
    def text(self) -> str:
        """A sentence without its full stop: what was done instead."""
        if self.kind == "output":
            return f"the output was {self.dtype} whatever the input"
        text = f"it was computed in {self.dtype}"
        if self.kind == "saturated":
            text += f", where what leaves its range became {limits(self.dtype)[1]:.3g}"
        return text

    def beside(self, mutant: Mutant | None = None) -> Mutant:
        """Return the fault as a mutant, combined with `mutant` unless that is None.

        Alone it answers right but for the fault. The combination bears the names of both, as in
        `mutant+computed_in_float32`, and the former ones of `mutant` as aliases.
        """
        if mutant is None:
            text = self.text
            if self.kind == "computed":
                text += ", within whose error it lies"
            return Mutant(self.name, text, partial(self._spoilt, attrgetter("right")))
        name, *aliases = (f"{name}+{self.name}" for name in mutant.names)
        text = f"{mutant.text}, and {self.text}"
        answer = partial(self._spoilt, mutant.answer)
        return Mutant(name, text, answer, aliases=tuple(aliases), derived=mutant.derived)

    def _spoilt(self, answer: AnswerFunction, node: Node) -> Sequence[Any]:
        """Return the outputs that `answer` gives to a node, with the fault.

        An output fault casts all outputs to the fault's type. Otherwise the first input's type
        decides: if it is floating, with more digits than the fault's, `answer` gets the node in the
        fault's type, and floating outputs are cast back; if not, outputs stay as they are. Raises
        what `answer` raises.
        """
        own = None if node.lead is None else of(node.lead)
        if self.kind == "output":
            return [np.asarray(output).astype(self.dtype.numpy) for output in answer(node)]
        if own is None or own.kind != "float" or self.dtype.precision >= own.precision:
            return answer(node)
        outputs = [self._bounded(np.asarray(output)) for output in answer(self.narrowed(node))]
        return [output.astype(own.numpy) if is_real(output) else output for output in outputs]

    def narrowed(self, node: Node) -> Node:
        """Return the node with its floating inputs in the fault's type; made once for small ones.

        If the fault is saturation, they are clipped to the largest finite number. Other inputs and
        attributes stay.
        """

        def made() -> Node:
            """Return the node with floating inputs in the fault's type, clipped if it saturates."""
            narrow = self.dtype.numpy
            with np.errstate(all="ignore"):
                inputs = tuple(
                    self._bounded(x.astype(narrow)) if is_real(x) else x for x in node.inputs
                )
            return replace(node, inputs=inputs)

        return node.variant(self.name, made)

    def restored(self, got: Array) -> Array:
        """Return an output in the fault's type, as it would be without saturation.

        If the fault is saturation, the type's largest number and its negative become infinite.
        """
        narrow = got.astype(self.dtype.numpy)
        if self.kind != "saturated":
            return narrow
        largest = np.abs(narrow) == limits(self.dtype)[1]
        return np.where(largest, np.copysign(np.inf, narrow), narrow).astype(narrow.dtype)

    def _bounded(self, array: Array) -> Array:
        """Return an array of the fault's type clipped to finite numbers, if the fault saturates.

        Any other is returned as it is.
        """
        if self.kind != "saturated" or array.dtype != self.dtype.numpy:
            return array
        low, high = (array.dtype.type(end) for end in limits(self.dtype))
        return np.asarray(np.clip(array, low, high))


def both(one: Mutant, other: Mutant) -> Mutant:
    """Return two mutants as one; where both spoil an element, `other` wins.

    If either gives other shapes or another number of outputs than the right ones, the answer is
    that of `other` alone. Of two that read the node wrongly, it is that to the node read by both. A
    pair is derived if either is. Its names are all pairs `one+other`, former names too. Its answer
    raises what theirs raise, and what `Node.right` does.
    """

    def spoilt(node: Node) -> Sequence[Any]:
        """Return the outputs of the first mutant, with the elements that the second changes.

        Those of the second alone if either has other shapes than the right ones.
        """
        mine = one.answer(node)
        its = other.answer(node)
        if not _shapes(node.right) == _shapes(mine) == _shapes(its):
            return its
        outputs = []
        for right, first, second in zip(node.right, mine, its, strict=True):
            # Texts have no isnan.
            same = (second == right) | ((second != second) & (right != right))
            outputs.append(np.where(same, first, second).astype(right.dtype))
        return outputs

    name, *aliases = ("+".join(names) for names in product(one.names, other.names))
    text = f"{one.text}, and {other.text}"
    is_derived = one.derived or other.derived
    if one.read and other.read:
        read = partial(_read_by_both, one.read, other.read)
        return reading(name, text, read, aliases=tuple(aliases), derived=is_derived)
    return Mutant(name, text, spoilt, aliases=tuple(aliases), derived=is_derived)


def _read_by_both(one: Callable[[Node], Node], other: Callable[[Node], Node], node: Node) -> Node:
    """Return the node that is answered if a node is misread in two ways."""
    return other(one(node))


def _shapes(outputs: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the shape of each output."""
    return [np.shape(output) for output in outputs]


#: Every fault, by its name.
FAULTS = {
    fault.name: fault for fault in starmap(Fault, product(get_args(_FaultKind), BASIC.values()))
}


def mutant_named(name: str, mutants: Mapping[str, Mutant]) -> Mutant | None:
    """Return the mutant or fault of this name, or the combination that it names.

    A name is one of `mutants`, of a fault, or several with "+" between them. None if a part is
    unknown.
    """
    combined: Mutant | None = None
    for part in name.split("+"):
        mutant = mutants.get(part)
        fault = FAULTS.get(part)
        if mutant is not None:
            combined = mutant if combined is None else both(combined, mutant)
        elif fault is not None:
            combined = fault.beside(combined)
        else:
            return None
    return combined

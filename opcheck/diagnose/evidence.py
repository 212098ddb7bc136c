"""A wrong answer, the faults that any operator may have, and what wrong values look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from opcheck.backends import as_outputs
from opcheck.compare import Want, are_plainly_right, compare_outputs
from opcheck.compare.elements import Floats, distance, wide
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import BASIC, DTYPES, DType, limits, of, round_to
from opcheck.engine import Node, dtypes_of, operator_of
from opcheck.engine.evaluate import exactly, is_real
from opcheck.engine.mutants.mutant import AnswerFunction, Mutant
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import Array, Foreign, Tolerance

#: The types that values may have been rounded to, the widest first.
NARROWER = tuple(DTYPES[name] for name in ("float32", "float16", "bfloat16"))
Output: TypeAlias = Array | Foreign
OutputSequence: TypeAlias = Sequence[Output]
#: Two arithmetics that mean the same differ by so many ULP; by more only where the right answer is
#: so many times farther away.
_SAME, _SAME_IN_16_BITS = 4, 1
_FARTHER = 16
#: And the backend's answer is nearer to the mutant's than to the right one by this factor.
_NEARER = 2
#: The fewest values that can have a pattern.
_ENOUGH = 3


@dataclass(frozen=True)
class Fault:
    """A mistake that any operator can have, in the output's type or that of the computation.

    `saturated`: computed, and clipped to the largest finite number.
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

    def beside(self, mutant: Mutant | None = None) -> Mutant:
        """Return the fault as a mutant, combined with another one if given."""
        if mutant is None:
            within = ", within whose error it lies" * (self.kind == "computed")
            return Mutant(self.name, self.text + within, self._spoiling(lambda node: node.right))
        name, text = f"{mutant.name}+{self.name}", f"{mutant.text}, and {self.text}"
        return Mutant(name, text, self._spoiling(mutant.answer))

    def _spoiling(self, answer: AnswerFunction) -> AnswerFunction:
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
        narrow = self.dtype.numpy
        with np.errstate(all="ignore"):
            inputs = tuple(
                one if one is None or not is_real(one) else self._bounded(one.astype(narrow))
                for one in node.inputs
            )
        return replace(node, inputs=inputs)

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


def both(one: Mutant, other: Mutant) -> Mutant:
    """Combine two mutants; where both spoil an element, the second wins."""

    def spoilt(node: Node) -> Sequence[Any]:
        outputs = []
        for right, mine, its in zip(node.right, one.answer(node), other.answer(node), strict=True):
            if not np.shape(right) == np.shape(mine) == np.shape(its):
                return other.answer(node)
            same = (its == right) | (np.isnan(its) & np.isnan(right))
            outputs.append(np.where(same, mine, its).astype(right.dtype))
        return outputs

    return Mutant(f"{one.name}+{other.name}", f"{one.text}, and {other.text}", spoilt)


#: Every fault, by its name.
FAULTS = {
    fault.name: fault
    for dtype in BASIC.values()
    for fault in (Fault("output", dtype), Fault("computed", dtype), Fault("saturated", dtype))
}


def mutant_named(name: str, mutants: Mapping[str, Mutant]) -> Mutant | None:
    """Return the mutant or fault of this name, or the combination that it names; else None."""
    first, *rest = (mutants.get(part) or FAULTS.get(part) for part in name.split("+"))
    found = first.beside() if isinstance(first, Fault) else first
    for part in rest if found else ():
        if part is None or found is None:
            return None
        found = part.beside(found) if isinstance(part, Fault) else both(found, part)
    return found


@dataclass(frozen=True, eq=False)
class Evidence:
    """A wrong answer, None for a refusal, and the `admitted` ones, none for an invalid node."""

    node: Node
    got: OutputSequence | None
    admitted: Sequence[Sequence[Want]] = ()
    tolerance: Tolerance | None = None

    @property
    def nbytes(self) -> int:
        """Size of the inputs in bytes."""
        return sum(array.nbytes for array in self.node.inputs if array is not None)

    def is_right(self, outputs: OutputSequence) -> bool:
        """Return True if other outputs would have passed."""
        return any(
            are_plainly_right(wants, outputs, self.tolerance)
            or all(one.problem is None for one in compare_outputs(wants, outputs, self.tolerance))
            for wants in self.admitted
        )

    def passes(self, place: int, output: Output) -> bool:
        """Return True if an output at this place would have passed, whatever the others are."""
        return any(
            compare_outputs([want], [output], self.tolerance)[0].problem is None
            for want in self._wants(place)
        )

    def within_errors(self, place: int, one: Array, other: Array) -> Any:
        """Mask elements that may differ so much between two correct implementations; or False."""
        bounds = [want.bound for want in self._wants(place)]
        if len(bounds) != 1 or bounds[0] is None:
            return False
        room = bounds[0].room(bounds[0].tiers()[0]).own
        if room.shape != one.shape:
            return False
        with np.errstate(all="ignore"):
            return np.abs(wide(one) - wide(other)) <= 2 * room

    def _wants(self, place: int) -> list[Want]:
        return [wants[place] for wants in self.admitted if place < len(wants)]

    @cached_property
    def passing(self) -> frozenset[int]:
        """The places of the outputs that pass, where others do not."""
        got = self.got or ()
        found = frozenset(n for n, one in enumerate(got) if len(got) > 1 and self.passes(n, one))
        return found if len(found) < len(got) else frozenset()

    @cached_property
    def nearest(self) -> list[Array | None]:
        """For each output the nearest right values; None without floats of the same shape."""
        return [self._nearest(place, got) for place, got in enumerate(self.got or ())]

    def _nearest(self, place: int, got: Output) -> Array | None:
        dtype = None if isinstance(got, Foreign) else of(got)
        if isinstance(got, Foreign) or dtype is None or dtype.kind != "float":
            return None
        wants = [some[place] for some in self.admitted if len(some) == len(self.got or ())]
        right = [
            round_to(want.values.astype(np.float64), dtype)
            for want in wants
            if want.values.shape == got.shape and want.values.dtype.kind != "b"
        ]
        if len(right) < 2 or not got.size:
            return next(iter(right), None)
        return min(right, key=lambda one: int(distance(one, got).max()))

    @cached_property
    def farthest(self) -> list[tuple[int, int]]:
        """Largest distance of each output in ULP, and its place; 0 if unknown."""
        pairs = zip(self.got or (), self.nearest, strict=True)
        steps = [
            np.zeros(1) if right is None or isinstance(got, Foreign) else distance(got, right)
            for got, right in pairs
        ]
        return [(int(off.max(initial=0)), int(off.argmax()) if off.size else 0) for off in steps]

    def narrower_types(self) -> list[DType]:
        """Return narrower types, the widest first, for outputs of the input's floating type."""
        lead = self.node.lead
        own = None if lead is None else of(lead)
        if own is None or own.kind != "float" or not self.got:
            return []
        if any(isinstance(got, Foreign) or of(got) != own for got in self.got):
            return []
        allowed = dtypes_of(self.node.op)
        return [t for t in NARROWER if t.precision < own.precision and t.name in allowed]

    def views(self) -> Iterator[tuple[Fault, Evidence]]:
        """Yield the answer as it would be without each fault, the likeliest first."""
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
        """Return the type that all outputs must have, and the one that all have instead."""
        wanted = {want.dtype for wants in self.admitted for want in wants}
        types = {of(got) if isinstance(got, np.ndarray) else None for got in self.got or ()}
        if len(wanted) != 1 or len(types) != 1 or wanted == types:
            return None
        want, dtype = wanted.pop(), types.pop()
        # Strings and complex numbers are not the same answer in another type.
        numbers = want and dtype and {want.kind, dtype.kind} <= {"bool", "float", "int"}
        return (want, dtype) if want and dtype and numbers else None

    def _rounded(self, fault: Fault) -> Evidence:
        """Return the evidence in a fault's type, with the engine's answer there."""
        node = fault.narrowed(self.node)
        with np.errstate(all="ignore"):
            arrays = [array for array in self.got or () if isinstance(array, np.ndarray)]
            got = [*map(fault.restored, arrays)]
        try:
            answers = exactly(node)
        except (InvalidNode, NotSupported):
            # Right answers to a node that the text leaves open are known by their values alone.
            admitted = [
                [replace(want, dtype=fault.dtype, bound=None, rest=None) for want in wants]
                for wants in self.admitted
            ]
            return Evidence(node, got, admitted, Tolerance(ulp=_SAME))
        return Evidence(node, got, (tuple(computed_want(node.op, "", one) for one in answers),))


def reproduces(mutant: Mutant, evidence: Evidence) -> bool:
    """Return True if `mutant` gives the same wrong answer, up to rounding."""
    made = mutant.made_on(evidence.node)
    if evidence.got is None or isinstance(made, InvalidNode):
        return evidence.got is None and isinstance(made, InvalidNode)
    # Most mutants make no difference to a node, and a right answer explains no failure.
    if evidence.node.is_legal and made is evidence.node.right:
        return False
    answer = as_outputs(made)
    if len(evidence.got) != len(answer) or not all(map(_same_kind, evidence.got, answer)):
        return False
    operator = operator_of(evidence.node.op)
    rounded = operator is not None and not operator.exact
    for place, (got, given) in enumerate(zip(evidence.got, answer, strict=True)):
        # An output that is right in both may be computed in another arithmetic.
        both_right = place in evidence.passing and evidence.passes(place, given)
        if not both_right and not _alike(got, given, evidence, place, rounded):
            return False
    # An answer that passes explains no failure.
    return not evidence.is_right(answer)


def contradicts(mutant: Mutant, passed: Evidence) -> bool:
    """Return True if `mutant` would have failed where the backend passed."""
    answer = _answer(mutant, passed)
    return bool(passed.admitted) if answer is None else not passed.is_right(answer)


def refuses(mutant: Mutant, accepted: Evidence) -> bool:
    """Return True if `mutant` would have refused a model that was accepted."""
    return _answer(mutant, accepted) is None


def _answer(mutant: Mutant, evidence: Evidence) -> OutputSequence | None:
    """Return the outputs of a mutant, None where it refuses the node."""
    answer = mutant.made_on(evidence.node)
    return None if isinstance(answer, InvalidNode) else as_outputs(answer)


def _same_kind(got: Output, answer: Output) -> bool:
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return isinstance(got, Foreign) and isinstance(answer, Foreign) and got == answer
    same_type = got.dtype.newbyteorder("=") == answer.dtype.newbyteorder("=")
    return same_type and got.shape == answer.shape


def _alike(got: Output, answer: Output, evidence: Evidence, place: int, rounded: bool) -> bool:
    """Return True if two outputs of one kind, at a place of the evidence, are equal."""
    if isinstance(got, Foreign) or isinstance(answer, Foreign):
        return True
    dtype = of(got)
    is_float = dtype is not None and dtype.kind == "float"
    if dtype is None or not (is_float and rounded and got.size):
        return np.array_equal(got, answer, equal_nan=is_float)
    same = _SAME_IN_16_BITS if got.dtype.itemsize == 2 else _SAME
    right, (wrong, worst) = evidence.nearest[place], evidence.farthest[place]
    # Most mutants leave the worst element right.
    if right is not None and wrong > same and answer.flat[worst] == right.flat[worst]:
        return False
    between = distance(got, answer)
    furthest = int(between.max())
    if right is None or furthest <= same:
        return furthest <= same
    # The most by which two arithmetics that mean the same may differ: half of the digits.
    most = 2 ** (dtype.precision // 2)
    away = np.minimum(distance(right, answer) // np.uint64(_FARTHER), np.uint64(most))
    if furthest > wrong // _NEARER:
        return False
    allowed = between <= np.maximum(np.uint64(same), away)
    return bool(allowed.all() or (allowed | evidence.within_errors(place, got, answer)).all())


def resemblance(evidence: Evidence) -> str | None:
    """Describe what wrong values have in common; None if nothing fits."""
    if evidence.got is None or len(evidence.admitted) != 1:
        return None
    said: list[str | None] = []
    for place, (want, got) in enumerate(zip(evidence.admitted[0], evidence.got, strict=False)):
        if (right := evidence.nearest[place]) is None or isinstance(got, Foreign):
            return None
        if (dtype := of(got)) is None or (want.dtype or dtype) != dtype:
            return None
        if compare_outputs([want], [got], evidence.tolerance)[0].problem is None:
            continue
        lead = evidence.node.lead
        if np.array_equal(wide(right), wide(got), equal_nan=True):
            said.append("like the right values, but for the sign of zeros")
        elif lead is not None and _is_swapped(lead, right, got):
            said.append("like the right values, swapped between equal elements of the input")
        else:
            said.append(next(_words(right, got, dtype), None))
    # All wrong outputs must be explained.
    return None if None in said else "; ".join(dict.fromkeys(filter(None, said))) or None


def _is_swapped(given: Array, right: Array, got: Array) -> bool:
    """Return True if each value of the input has the same outputs, in another order."""
    if not given.shape == right.shape == got.shape:
        return False
    pairs = (np.stack([wide(given).ravel(), wide(out).ravel()]) for out in (right, got))
    one, other = (pair[:, np.lexsort(pair)] for pair in pairs)
    return np.array_equal(one, other)


def _words(right: Array, got: Array, dtype: DType) -> Iterator[str]:
    steps = distance(right, got)
    off = steps > 0
    wanted, actual = wide(right)[off], wide(got)[off]
    if not (np.isfinite(wanted).all() and np.isfinite(actual).all() and off.any()):
        return
    if (furthest := int(steps.max())) <= 2 ** (dtype.precision // 2):
        yield f"like less precision: it would pass with a tolerance of {furthest:,} ULP"
    few, digits = 2.0 ** (3 - dtype.precision), 3 if got.dtype.itemsize == 2 else 6
    with np.errstate(over="ignore"):
        varied = wanted.size >= _ENOUGH and np.ptp(wanted) > 0
    if varied:
        with np.errstate(all="ignore"):
            factors, offsets = actual / wanted, actual - wanted
        factor = _common(factors, few * np.abs(factors))
        if factor is not None and abs(factor) > few:
            yield f"like {factor:.{digits}g} times the right values, where it is wrong"
        offset = _common(offsets, few * np.maximum(np.abs(actual), np.abs(wanted)))
        if offset is not None:
            sign = "+-"[offset < 0]
            yield f"like the right values {sign} {abs(offset):.{digits}g}, where it is wrong"


def _common(values: Floats, room: Floats) -> float | None:
    """Return the one value that all are, each within its `room`."""
    if not np.isfinite(values).all():
        return None
    middle = float(np.median(values))
    return middle if np.all(np.abs(values - middle) <= room) else None

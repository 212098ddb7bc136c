"""A wrong answer with what is known of it: the right ones, how far they are, poorer arithmetics.

Outputs go by their *place*, their number among a node's outputs. Several answers may be *admitted*,
or none where the model must be refused. A *fault* is a mistake that any operator can have, such as
to compute in a narrower type.

What asks for an operator raises WrongOperator if the file that declares it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from opcheck.compare import Want, are_plainly_right, compare_outputs
from opcheck.compare.elements import Floats, Mask, distance, wide
from opcheck.compare.outputs import Outputs, computed_want
from opcheck.diagnose.faults import Fault
from opcheck.dtypes import DTYPES, DType, limits, of, round_to
from opcheck.engine import Node, dtypes_of
from opcheck.errors import InvalidNode, NotSupported
from opcheck.grouping import not_none
from opcheck.model import (
    Array,
    Foreign,
    Tolerance,
)

Output: TypeAlias = Array | Foreign
#: Two arithmetics that mean the same differ by so many ULP.
SAME = 4
#: They differ by more only where the right answer is so many times farther away.
FARTHER = 16
#: The fewest values of which the nearest can be chosen.
_SEVERAL = 2
#: The fewest values that can have a pattern.
_ENOUGH = 3
#: Roundings differ by more than this factor, or in sign.
_ALIKE = 1.5
#: The largest error that they make is smaller than the unit roundoff by so many bits at most.
_FINER = 8


def is_off(base: Floats, values: Floats, times: int) -> Mask:
    """Mask known elements of `values` that are off from `base` by a part of the largest.

    That is, by more than the largest absolute value of a known element of `base`, divided by
    `times`. Known elements are finite in both, and not 0 in `values`: what engines flush or lose is
    not. Both, and the mask, have one shape.
    """
    known = np.isfinite(base) & np.isfinite(values) & (values != 0)
    with np.errstate(all="ignore"):
        far = times * np.abs(values - base) > np.abs(base[known]).max(initial=0)
        return np.asarray(known & far)


def _is_uniform(array: Array) -> bool:
    """Return True if all elements are equal, or all are NaN; of an empty array too."""
    flat = array.reshape(-1)
    first = flat[:1]
    return bool(((flat == first) | ((flat != flat) & (first != first))).all())


@dataclass(frozen=True, eq=False)
class Evidence:
    """A backend's answer to a node, which failed or passed, and what is right there.

    Attributes:
        node: The node, with its inputs.
        got: The backend's outputs; None for a refusal.
        admitted: The outputs of each right answer; empty for an invalid node.
        tolerance: That of the case; None for the operator's own bounds.
    """

    node: Node
    got: Outputs | None
    admitted: Sequence[Sequence[Want]] = ()
    tolerance: Tolerance | None = None

    @cached_property
    def distant(self) -> set[str]:
        """Names of mutants, tried so far, too far from this answer for a poorer arithmetic.

        It begins empty; `likeness.reproduces` adds to it.
        """
        return set()

    @property
    def nbytes(self) -> int:
        """Size of the inputs in bytes."""
        return sum(array.nbytes for array in self.node.inputs if array is not None)

    def is_right(self, outputs: Outputs) -> bool:
        """Return True if other outputs would have passed, next to any of the admitted answers.

        False if nothing is admitted. A bound that is computed for the first time raises what the
        operator's formula raises.
        """
        return any(
            are_plainly_right(wants, outputs, self.tolerance)
            or all(
                output.problem is None for output in compare_outputs(wants, outputs, self.tolerance)
            )
            for wants in self.admitted
        )

    def passes(self, place: int, output: Output) -> bool:
        """Return True if an output at this place would have passed, whatever the others are.

        Any admitted answer may have it; False if none has an output there. A bound that is computed
        for the first time raises what the operator's formula raises.
        """
        return any(self._is_as_wanted(want, output) for want in self._wants(place))

    def _is_as_wanted(self, want: Want, output: Output) -> bool:
        """Return True if an output, or each tensor of a sequence, has no problem next to `want`.

        A bound that is computed for the first time raises what the operator's formula raises.
        """
        comparisons = compare_outputs([want], [output], self.tolerance)
        return all(comparison.problem is None for comparison in comparisons)

    def within_errors(self, place: int, one: Array, other: Array) -> Mask:
        """Mask elements of two arrays that differ by no more than correct implementations may.

        That is by twice the error that the output's bound allows in the expected arithmetic. Both
        have the output's shape. All False if not exactly one answer is admitted, or it has no bound
        there. Raises what the operator's formula raises if the bound is new.
        """
        bounds = [want.bound for want in self._wants(place)]
        if len(bounds) != 1 or bounds[0] is None:
            return np.zeros(one.shape, np.bool_)
        own = bounds[0].room(bounds[0].tiers()[0]).own
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(wide(one) - wide(other)) <= 2 * own)

    def is_far_from(self, place: int, plain: Output) -> bool:
        """Return True if the output at `place` cannot be `plain`, however that was rounded.

        `plain` is a mutant's output in plain arithmetic, of the type and shape of the backend's
        output, which is there. The output cannot be it if for some element their distance

        - is more than half of the digits of the largest element (in 16 bits, than nearly all),
        - is more than an eighth of the distance of the right value from `plain`, and
        - is beyond twice the bound.

        False for an output that passes where others do not, and for one that is not floating or has
        another shape than the right one. A bound that is computed for the first time raises what
        the operator's formula raises.
        """
        got = (self.got or ())[place]
        right = self.nearest[place]
        if place in self.passing or right is None:
            return False
        if isinstance(got, Foreign) or isinstance(plain, Foreign):
            return False
        dtype = not_none(of(got))
        # Plain numbers of 16 bits are computed in float32.
        bits = dtype.precision - 2 if dtype.is_half else dtype.precision // 2 - 1
        mine = wide(got)
        other = wide(plain)
        off = is_off(mine, other, 2**bits)
        with np.errstate(all="ignore"):
            off &= 8 * abs(mine - other) > abs(wide(right) - other)
        if not off.any():
            return False
        return bool((off & ~self.within_errors(place, got, plain)).any())

    @cached_property
    def wrong_elements(self) -> int:
        """The number of wrong elements of outputs whose elements are not all equal.

        Wrong are those that are not the right ones exactly, and NaN. All elements count of an
        output that has another shape than it should have, or whose right values are not known.
        """
        count = 0
        for place, got in enumerate(self.got or ()):
            if not isinstance(got, Foreign) and not _is_uniform(got):
                count += self._count_wrong(place, got)
        return count

    @cached_property
    def is_degenerate(self) -> bool:
        """True if each output has equal elements, or at most one axis longer than 1.

        False for a refusal and for what is not a tensor.
        """
        arrays = [got for got in self.got or () if not isinstance(got, Foreign)]
        return bool(arrays) and all(
            _is_uniform(got) or sum(length > 1 for length in got.shape) <= 1 for got in arrays
        )

    @cached_property
    def uniform_values(self) -> frozenset[object]:
        """The values of outputs whose elements are all equal, such as zeros."""
        arrays = [got for got in self.got or () if not isinstance(got, Foreign)]
        uniform = [got for got in arrays if got.size and _is_uniform(got)]
        return frozenset(got.reshape(-1)[:1].tolist()[0] for got in uniform)

    def _count_wrong(self, place: int, got: Array) -> int:
        """Return how many elements of the output at a place are not the right ones, or are NaN.

        The right ones are the nearest, or for other types than floats those of the first admitted
        answer. All elements are counted where there are none of this shape.
        """
        nearest = self.nearest[place]
        wants = self._wants(place)
        right = nearest if nearest is not None else next((want.values for want in wants), None)
        if right is None or right.shape != got.shape:
            return int(got.size)
        return int(np.count_nonzero(got != right))

    def _wants(self, place: int) -> list[Want]:
        """Return what each admitted answer with an output at this place has there."""
        return [wants[place] for wants in self.admitted if place < len(wants)]

    @cached_property
    def passing(self) -> frozenset[int]:
        """The places of the outputs that pass, where others do not.

        Empty for a refusal, for a single output, and if all pass or none.
        """
        got = self.got or ()
        if len(got) == 1:
            return frozenset()
        passing = frozenset(n for n, output in enumerate(got) if self.passes(n, output))
        return passing if len(passing) < len(got) else frozenset()

    @cached_property
    def nearest(self) -> list[Array | None]:
        """For each output the nearest right values, in its dtype and shape; None if there are none.

        None for an output that is not floating, and without right real numbers of its shape. Empty
        for a refusal.
        """
        return [self._nearest(place, got) for place, got in enumerate(self.got or ())]

    def _nearest(self, place: int, got: Output) -> Array | None:
        """Return the right values of an output nearest to `got`, rounded to its dtype.

        Of several admitted answers, those at the smallest largest distance. None if `got` is not
        floating, and without right real numbers of its shape.
        """
        dtype = None if isinstance(got, Foreign) else of(got)
        if isinstance(got, Foreign) or dtype is None or dtype.kind != "float":
            return None
        wants = [some[place] for some in self.admitted if len(some) == len(self.got or ())]
        fitting = (want.values for want in wants if want.values.shape == got.shape)
        numbers = (x.astype(np.float64) for x in fitting if x.dtype.kind not in "bcO")
        right = [round_to(x, dtype) for x in numbers]
        if len(right) < _SEVERAL or not got.size:
            return next(iter(right), None)

        def furthest(values: Array) -> int:
            """Return the largest distance of an element in ULP."""
            return int(distance(values, got).max())

        return min(right, key=furthest)

    @cached_property
    def farthest(self) -> list[tuple[int, int]]:
        """Largest distance in ULP of each output from its `nearest` right values, and where it is.

        The right values of an output are those of one admitted answer, rounded. The distance is
        `UNORDERED` for NaN and a number; the place is a flat index. Both are 0 if unknown: for what
        is not floating, has another shape, or has no element. Empty for a refusal.
        """
        farthest = []
        for got, right in zip(self.got or (), self.nearest, strict=True):
            if right is None or isinstance(got, Foreign) or not got.size:
                farthest.append((0, 0))
            else:
                steps = distance(got, right)
                farthest.append((int(steps.max()), int(steps.argmax())))
        return farthest

    def narrower_types(self) -> list[DType]:
        """Return narrower types that may explain the answer, the widest first.

        They are types of the operator whose unit roundoff is at most 256 times the largest relative
        error, if that is known. Empty unless all outputs are of the leading input's floating type,
        and for a refusal.
        """
        lead = self.node.lead
        own = None if lead is None else of(lead)
        if own is None or own.kind != "float" or not self.got:
            return []
        if any(isinstance(got, Foreign) or of(got) != own for got in self.got):
            return []
        least = -math.log2(self._coarseness) - _FINER
        narrower = ("float32", "float16", "bfloat16")
        allowed = [DTYPES[name] for name in narrower if name in dtypes_of(self.node.op)]
        return [t for t in allowed if least <= t.precision < own.precision]

    @cached_property
    def _coarseness(self) -> float:
        """The largest relative error of wrong elements; infinite if there is none or it is unknown.

        Wrong is what is off by more than 1 ULP, and by more than a sixteenth of the largest
        distance. If all errors are alike, in sign and within a factor of 1.5, they are not
        roundings, and the result is 2¹⁶ times less.
        """
        by_output = [np.zeros(0)]
        for right, got in zip(self.nearest, self.got or (), strict=True):
            if right is not None and isinstance(got, np.ndarray):
                steps = distance(right, got)
                wrong = steps > max(1, int(steps.max(initial=0)) // FARTHER)
                with np.errstate(all="ignore"):
                    by_output.append(wide(got)[wrong] / wide(right)[wrong] - 1)
        errors = np.concat(by_output)
        if not (errors.any() and np.isfinite(errors).all()):
            return math.inf
        least, most = sorted((errors.min(), errors.max()), key=abs)
        largest = float(abs(most))
        are_alike = 0 < most / least < _ALIKE and np.unique(errors).size >= _ENOUGH
        return math.ldexp(largest, -2 * _FINER) if are_alike else largest

    def views(self) -> Iterator[tuple[Fault, Evidence]]:
        """Yield faults, each with the answer as it would be without it, the likeliest first.

        An output of the wrong type comes first, then computation in each narrower type, the widest
        first, without and with saturation. The answer is cast to the right type or, in a narrower
        one, has the engine's answer there as the only admitted one. Where no number reaches the
        type's largest, saturation changes nothing, and both items have one view. Nothing is yielded
        if no type is wrong or narrower. Computing a view raises what the operator's formula raises,
        but for InvalidNode and NotSupported.
        """
        types = self._types()
        if types:
            wanted, dtype = types
            fault = Fault("output", dtype)
            with np.errstate(all="ignore"):
                got = [np.asarray(array).astype(wanted.numpy) for array in self.got or ()]
            cast = replace(self, got=got)
            yield fault, cast
            # An output of a narrower type cannot have more digits than that.
            if dtype in cast.narrower_types():
                yield fault, cast._rounded(fault)
        for dtype in self.narrower_types():
            computed = Fault("computed", dtype)
            view = self._rounded(computed)
            yield computed, view
            _, largest = limits(dtype)
            arrays = [*self.node.given, *(self.got or ())]
            with np.errstate(all="ignore"):
                is_cut = any((np.abs(np.asarray(array)) >= largest).any() for array in arrays)
            saturated = Fault("saturated", dtype)
            yield saturated, self._rounded(saturated) if is_cut else view

    def is_beyond(self, dtype: DType) -> bool:
        """Return True if the answer has finite numbers beyond the largest one of a type."""
        arrays = [wide(got) for got in self.got or () if isinstance(got, np.ndarray)]
        return any((np.isfinite(x) & (np.abs(x) > limits(dtype)[1])).any() for x in arrays)

    def _types(self) -> tuple[DType, DType] | None:
        """Return the type that all outputs must have, and the one that all have instead.

        None if they are equal, if outputs or admitted answers differ in it, and unless both are
        booleans, floats or integers. None for a refusal and for what is not a tensor, too.
        """
        wanted = {want.dtype for wants in self.admitted for want in wants}
        types = {of(got) if isinstance(got, np.ndarray) else None for got in self.got or ()}
        if len(wanted) != 1 or len(types) != 1 or wanted == types:
            return None
        want = wanted.pop()
        dtype = types.pop()
        # Strings and complex numbers are not the same answer in another type.
        if want and dtype and {want.kind, dtype.kind} <= {"bool", "float", "int"}:
            return want, dtype
        return None

    def _rounded(self, fault: Fault) -> Evidence:
        """Return the evidence with inputs and outputs in a fault's type, and what is right there.

        That is the engine's, with its bounds. If it has none (InvalidNode, NotSupported), the
        admitted answers stay, without their bounds, and the answer may be off by 4 ULP. Raises what
        else the formula raises.
        """
        node = fault.narrowed(self.node)
        with np.errstate(all="ignore"):
            arrays = [array for array in self.got or () if isinstance(array, np.ndarray)]
            got = [*map(fault.restored, arrays)]
        try:
            answers = node.exact
        except (InvalidNode, NotSupported):
            # Right answers to a node that the text leaves open are known by their values alone.
            bare = partial(replace, dtype=fault.dtype, bound=None, rest=None)
            admitted = [[*map(bare, wants)] for wants in self.admitted]
            return Evidence(node, got, admitted, Tolerance(ulp=SAME))
        return Evidence(
            node, got, (tuple(computed_want(node.op, "", output) for output in answers),)
        )

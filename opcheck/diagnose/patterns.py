"""Patterns in wrong values: what they have in common where no mutant gives them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from opcheck import opset
from opcheck.compare import compare_outputs
from opcheck.compare.elements import Floats, Want, distance, wide
from opcheck.diagnose.evidence import Evidence
from opcheck.dtypes import DType, of
from opcheck.engine import Node
from opcheck.model import Array, Foreign

#: The fewest values that can have a pattern.
_ENOUGH = 3
#: The fewest different values that can come in another order than at random.
_ENOUGH_TO_ORDER = 4


def resemblance(evidence: Evidence) -> str | None:
    """Describe what wrong values have in common, of each output that is wrong.

    Of several outputs each pattern names its own: `Mean: like 2 times the right values`. None if a
    wrong output has no pattern, if none is wrong, for a refusal, for several admitted answers or
    none, and if an output is of another dtype or shape than wanted, even a right one. A bound that
    is computed for the first time raises what the operator's formula raises.
    """
    if evidence.got is None or len(evidence.admitted) != 1:
        return None
    outputs_by_pattern: dict[str, list[str]] = defaultdict(list)
    for place, (want, got) in enumerate(zip(evidence.admitted[0], evidence.got, strict=False)):
        right = _right_of(evidence, place, want)
        if right is None or isinstance(got, Foreign):
            return None
        dtype = of(got)
        if dtype is None or (want.dtype or dtype) != dtype:
            return None
        if compare_outputs([want], [got], evidence.tolerance)[0].problem is None:
            continue
        pattern = _pattern(evidence.node, right, got, dtype)
        # All wrong outputs must be explained.
        if pattern is None:
            return None
        outputs_by_pattern[pattern].append(want.name)
    if len(evidence.got) == 1:
        return next(iter(outputs_by_pattern), None)
    named = [f"{', '.join(names)}: {text}" for text, names in outputs_by_pattern.items()]
    return "; ".join(named) or None


def _right_of(evidence: Evidence, place: int, want: Want) -> Array | None:
    """Return the right values of the output at `place` in its own type; None if they are not known.

    They are known of floats, and of integers and booleans without a bound. None, too, for what is
    not a tensor, for another type than these, and for another shape than that of `want`, which is
    expected there.
    """
    got = (evidence.got or ())[place]
    if isinstance(got, Foreign):
        return None
    nearest = evidence.nearest[place]
    dtype = of(got)
    if nearest is not None or dtype is None or dtype.kind not in ("int", "bool"):
        return nearest
    is_plain = want.bound is None and want.values.dtype == got.dtype
    return want.values if is_plain and want.values.shape == got.shape else None


def _pattern(node: Node, right: Array, got: Array, dtype: DType) -> str | None:
    """Describe what the wrong values of one output have in common; None if nothing fits.

    In this order: floats are right but for the sign of zeros, or swapped between equal elements of
    the leading input; values of any type are right in another order, or in a part alone; floats are
    off by one factor, one offset or few digits. `right` and `got` have one shape and `dtype`.
    """
    is_float = dtype.kind == "float"
    if is_float and np.array_equal(wide(right), wide(got), equal_nan=True):
        return "like the right values, but for the sign of zeros"
    if node.lead is not None and is_float and _is_swapped(node.lead, right, got):
        return "like the right values, swapped between equal elements of the input"
    of_parts = _pattern_of_parts(node, right, got)
    if of_parts or not is_float:
        return of_parts
    return next(_patterns_of_numbers(right, got, dtype), None)


def _pattern_of_parts(node: Node, right: Array, got: Array) -> str | None:
    """Describe wrong values by what they are instead: right in another order, zero or an input's.

    Zero or those of an input, or the first right ones along an axis, they may be in a part alone.
    Else None. At least three values must be wrong; not all of these may be wanted alike and given
    alike; and one value must be right, unless the order is another.
    """
    off = (got != right) & ~((got != got) & (right != right))
    if np.count_nonzero(off) < _ENOUGH:
        return None
    are_varied = np.unique(right[off]).size > 1
    if not are_varied and np.unique(got[off]).size == 1:
        return None
    if _is_in_another_order(right, got):
        return "like the right values, in another order"
    if off.all():
        return None
    if not got[off].any():
        return "like the right values in a part, and zero elsewhere"
    for name, x in _named_inputs(node):
        if x.shape == got.shape and x.dtype == got.dtype and np.array_equal(x[off], got[off]):
            return f"like the right values in a part, and like input {name} elsewhere"
    for axis in range(got.ndim):
        first = np.broadcast_to(np.take(right, [0], axis=axis), right.shape)
        if np.array_equal(first[off], got[off]):
            return (
                f"like the right values in a part, and elsewhere like the first along axis {axis}"
            )
    return None


def _is_in_another_order(right: Array, got: Array) -> bool:
    """Return True for at least four different values, each as many times in both arrays.

    False if one is NaN.
    """
    values, counts = np.unique(right, return_counts=True)
    if values.size < _ENOUGH_TO_ORDER:
        return False
    others, other_counts = np.unique(got, return_counts=True)
    return np.array_equal(values, others) and np.array_equal(counts, other_counts)


def _named_inputs(node: Node) -> Iterator[tuple[str, Array]]:
    """Yield the inputs that are given, after their names in the schema; none of a whole model.

    Those of a variadic parameter, the last one, all have its name.
    """
    schema = opset.versions(node.op.domain, node.op.name).get(node.op.since)
    parameters = schema.inputs if schema else ()
    for place, x in enumerate(node.inputs):
        if x is not None and parameters:
            yield parameters[min(place, len(parameters) - 1)].name, x


def _is_swapped(given: Array, right: Array, got: Array) -> bool:
    """Return True if equal elements of the input have the right outputs, swapped among them.

    True if both outputs are equal, too. `given` is the input. False for texts and complex numbers,
    if one is NaN, and unless all three have one shape.
    """
    if given.dtype.kind in "Oc" or not given.shape == right.shape == got.shape:
        return False

    def sorted_pairs(output: Array) -> Array:
        """Return the pairs of the input's and the output's elements, [2, size], in order."""
        pairs = np.stack([wide(given).ravel(), wide(output).ravel()])
        return np.asarray(pairs[:, np.lexsort(pairs)])

    return np.array_equal(sorted_pairs(right), sorted_pairs(got))


def _patterns_of_numbers(right: Array, got: Array, dtype: DType) -> Iterator[str]:
    """Yield what the numbers that are wrong have in common: a factor, an offset, few digits.

    The likeliest comes first. A factor (not about 0 or 1) or an offset needs at least three wrong
    numbers whose right values are not all equal. Nothing is yielded if one of them is not finite,
    or none is wrong. Less precision means no more than half of the digits wrong. `right` and `got`
    have one shape, and `dtype`, a floating one. Raises ValueError otherwise.
    """
    steps = distance(right, got)
    off = steps > 0
    wanted = wide(right)[off]
    actual = wide(got)[off]
    if not (np.isfinite(wanted).all() and np.isfinite(actual).all() and off.any()):
        return
    # Relative errors of a few roundings.
    roundings = 2.0 ** (3 - dtype.precision)
    digits = 3 if dtype.is_half else 7
    with np.errstate(over="ignore"):
        varied = wanted.size >= _ENOUGH and np.ptp(wanted) > 0
    if varied:
        with np.errstate(all="ignore"):
            factors = actual / wanted
            offsets = actual - wanted
        factor = _common(factors, roundings * np.abs(factors))
        if factor is not None and min(abs(factor), abs(factor - 1)) > roundings:
            yield f"like {factor:.{digits}g} times the right values, where it is wrong"
        room = roundings * np.maximum(np.abs(actual), np.abs(wanted))
        offset = _common(offsets, room)
        # A lesser offset may have either sign.
        if offset is not None and abs(offset) > np.median(room):
            sign = "-" if offset < 0 else "+"
            yield f"like the right values {sign} {abs(offset):.{digits}g}, where it is wrong"
    furthest = int(steps.max())
    if furthest <= 2 ** (dtype.precision // 2):
        yield f"like less precision: it would pass with a tolerance of {furthest:,} ULP"


def _common(values: Floats, room: Floats) -> float | None:
    """Return the median if all `values` are within their `room` of it; None otherwise.

    None too if one is infinite or NaN. `values`, at least one, and `room` have one shape.
    """
    if not np.isfinite(values).all():
        return None
    middle = float(np.median(values))
    with np.errstate(over="ignore"):
        is_near = np.abs(values - middle) <= room
    return middle if np.all(is_near) else None

"""CumSum and CumProd, all versions: sums and products of the elements so far along one axis.

"the j-th output element would be the sum of the first (j-1) elements" if `exclusive` is 1,
"Otherwise, it would be the sum of the first j elements." With `reverse` they are counted from the
last element on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from opcheck import numbers as xp, opset
from opcheck.engine.axes import from_either_end, scalar
from opcheck.engine.integers import marked_in_type
from opcheck.engine.mutants.elements import BEYOND_FLOAT16, DOUBLE, FLOATS, LONG
from opcheck.engine.operators import Formula, formulas_of_versions, operator
from opcheck.engine.rulings import flag
from opcheck.numbers import Array

NAMES = """CumProd CumSum"""

#: Makes y of x, the number of the axis, and whether it is exclusive and in reverse.
Scan: TypeAlias = Callable[[Array, int, bool, bool], Array]


# ── the operators ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Accumulation:
    """What is accumulated.

    Attributes:
        accumulate: Makes what is accumulated up to each element, that included.
        start: What is accumulated of no elements.
        without: Takes the second of two away from the first; only a mutant does.
    """

    accumulate: Callable[..., Array]
    start: int
    without: Callable[[Array, Array], Array]

    def scan(self, x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        """Return what is accumulated along `axis` up to each element, in the shape of `x`.

        Of a plain array of integers the result is in 64 bits. If `exclusive`, each element is left
        out of its own, and the first is `start`. In `reverse`, it runs from the last element on. An
        empty `x` gives an empty result. Integers that the type does not hold may be anything.
        Raises NotSupported, while judging, if there are no others, and for them in graphs.
        """
        scan = partial(self._scan, axis=axis, exclusive=exclusive, reverse=reverse)
        return marked_in_type(scan(x), scan, x)

    def _scan(self, x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        """Return what is accumulated, as `scan` does, of floats and of Python's integers, too."""
        y = self.accumulate(xp.flip(x, axis=axis) if reverse else x, axis=axis)
        if exclusive and y.size:
            first = xp.take(y, np.arange(1), axis=axis)
            others = xp.take(y, np.arange(y.shape[axis] - 1), axis=axis)
            y = xp.concat([xp.full_like(first, self.start), others], axis=axis)
        return xp.flip(y, axis=axis) if reverse else y


def scanned(scan: Scan, x: Array, axis: Array, *, exclusive: int, reverse: int) -> Array:
    """Return `scan` along an axis in [-rank(x), rank(x)-1], of x's shape.

    axis: a tensor of one element. exclusive: 1 leaves each element out of its own; reverse: 1
    counts from the last element on. Raises InvalidNode for an axis out of range, as any is for an
    `x` of rank 0, and for more elements or none; NotSupported for an axis that rounding decides.
    One element of rank 1 or more is taken, or refused so: ONE_ELEMENT_AS_A_SCALAR. A flag other
    than 0 and 1 counts as either, or is refused so: FLAG_OF_ANOTHER_NUMBER.
    """
    counted = from_either_end(scalar("axis", axis), x.ndim)
    return scan(x, counted, flag("exclusive", exclusive), flag("reverse", reverse))


ACCUMULATIONS: Mapping[str, Accumulation] = {
    "CumProd": Accumulation(xp.cumulative_prod, start=1, without=np.divide),
    "CumSum": Accumulation(xp.cumulative_sum, start=0, without=np.subtract),
}


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def starting_anew(
    width: int, accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: each `width` elements, counted from the end in reverse, are scanned alone.

    Raises NotSupported, while judging, for integers that the type does not hold.
    """
    length = x.shape[axis]
    first_end = length % width if reverse else width
    parts = np.split(x, range(first_end, length, width), axis)
    return np.concatenate(
        [accumulation.scan(part, axis, exclusive, reverse) for part in parts], axis
    )


def flattened(
    accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: the whole tensor is scanned, in the order of memory.

    Raises NotSupported, while judging, for integers that the type does not hold.
    """
    return accumulation.scan(x.reshape(-1), 0, exclusive, reverse).reshape(x.shape)


def along_the_first(
    accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: the axis is the first.

    Raises NotSupported, while judging, for integers that the type does not hold.
    """
    return accumulation.scan(x, 0, exclusive, reverse)


def along_the_last(
    accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: the axis is the last.

    Raises NotSupported, while judging, for integers that the type does not hold.
    """
    return accumulation.scan(x, x.ndim - 1, exclusive, reverse)


def exclusive_from_the_front(
    accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: in reverse too, an exclusive scan is the inclusive one moved back by one place.

    It begins with the start value at the front, where in reverse it should be at the end. Raises
    NotSupported, while judging, for integers that the type does not hold.
    """
    if not (exclusive and reverse):
        return accumulation.scan(x, axis, exclusive, reverse)
    inclusive = accumulation.scan(x, axis, False, True)
    return np.delete(np.insert(inclusive, 0, accumulation.start, axis), -1, axis)


def by_difference(
    accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: what is not to be accumulated is taken away from a scan that has it.

    In reverse, what comes before an element is taken away from the total; if `exclusive`, the
    element itself is, too. Raises NotSupported, while judging, for integers that the type does not
    hold.
    """
    y = accumulation.scan(x, axis, False, False)
    if reverse and y.size:
        total = np.take(y, [-1], axis)
        y = accumulation.without(total, accumulation.scan(x, axis, True, False))
    return accumulation.without(y, x) if exclusive else y


def scanned_in(
    kind: Any, accumulation: Accumulation, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    """Mutant: the scan is kept in `kind`, a type of fewer digits."""
    return accumulation.scan(x.astype(kind), axis, exclusive, reverse).astype(x.dtype)


#: Widths of vectors, registers and blocks, at which a kernel may forget what came before.
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: A text, what takes an accumulation before the operands of a scan, and its dtypes if not all.
MUTANTS: Mapping[str, tuple[Any, ...]] = {
    **{
        f"starts_anew_after_{width}": (
            f"the scan started anew after each {width} elements",
            partial(starting_anew, width),
        )
        for width in WIDTHS
    },
    "flattened": ("the whole tensor was scanned, in the order of memory", flattened),
    "first_axis_always": ("the first axis was taken", along_the_first),
    "last_axis_always": ("the last axis was taken", along_the_last),
    "exclusive_from_the_front": (
        "what is exclusive was moved to the back in reverse too",
        exclusive_from_the_front,
    ),
    "by_difference": (
        "what is left out was taken away from a scan of more",
        by_difference,
        *FLOATS,
    ),
    "scanned_in_float32": (
        "the scan was kept in float32",
        partial(scanned_in, np.float32),
        *DOUBLE,
    ),
    "scanned_in_float16": (
        "the scan was kept in float16",
        partial(scanned_in, np.float16),
        *BEYOND_FLOAT16,
    ),
    "scanned_in_bfloat16": (
        "the scan was kept in bfloat16",
        partial(scanned_in, ml_dtypes.bfloat16),
        "float16",
        *LONG,
    ),
}


def declare(name: str, accumulation: Accumulation) -> None:
    """Declare the operator `name`, whose versions have one formula, and its mutants.

    It is added to the operators that opcheck finds. accumulation: what it computes, sums or
    products.

    Raises WrongOperator for a name that ONNX does not have.
    """
    op = operator(name, module=__name__)
    versions = formulas_of_versions(*opset.versions("", name))(scanned)
    op.formula(build=versions)(accumulation.scan)

    def of_mutant(scan: Callable[..., Array]) -> Mapping[int, Formula]:
        return versions(partial(scan, accumulation))

    op.mutant_table(MUTANTS, build=of_mutant)


for _name, _accumulation in ACCUMULATIONS.items():
    declare(_name, _accumulation)

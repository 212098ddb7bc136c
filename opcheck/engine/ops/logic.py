"""Logic, comparisons and bits of two tensors, all versions.

Comparisons of floating numbers are those of IEEE 754. From version 7 on the tensors broadcast to
each other; before, B alone is stretched, as in arithmetic.py.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine import axes
from opcheck.engine.mutants.elements import FLOATS, SIGNED, UNSIGNED
from opcheck.engine.operators import Formula, check_one_of, operator
from opcheck.engine.ops.arithmetic import OfPair, each_version_of_pair
from opcheck.engine.undefined import undefined_where
from opcheck.numbers import Array

NAMES = """And BitShift BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less
LessOrEqual Or Xor"""

#: A text, a function of two tensors, and the dtypes in which it is wrong if not all.
PairMutant: TypeAlias = tuple[Any, ...]

#: What operators compute of two tensors of one shape, by their names.
FUNCTIONS: Mapping[str, OfPair] = {
    "Less": xp.less,
    "LessOrEqual": xp.less_equal,
    "Greater": xp.greater,
    "GreaterOrEqual": xp.greater_equal,
    "Equal": xp.equal,
    "And": xp.logical_and,
    "Or": xp.logical_or,
    "Xor": xp.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


def of_pair(function: OfPair, A: Array, B: Array) -> Array:
    """Return `function` of two tensors, which broadcast to each other as NumPy's do.

    Raises InvalidNode where their shapes do not fit.
    """
    return function(*axes.broadcast(A, B))


def each_version(name: str, function: OfPair) -> Mapping[int, Formula]:
    """Return the formula of each version of an operator, by the opset since which it is in force.

    function: of two tensors that broadcast. Before version 7, B alone is stretched, with the
    attributes `broadcast` and `axis`; the formulas raise InvalidNode for shapes that do not fit,
    and those before version 7 raise NotSupported for a negative axis, and InvalidNode for a
    `broadcast` other than 0 and 1 by a reading of FLAG_OF_ANOTHER_NUMBER.
    """
    return each_version_of_pair(name, function, of_pair)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────

#: Functions that are easily taken for each other.
SIBLINGS = (
    ("And", "Or", "Xor"),
    ("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    ("Less", "LessOrEqual"),
    ("Greater", "GreaterOrEqual"),
)
#: Each comparison is true where this one is false, but for NaN.
OPPOSITES = {
    "Less": "GreaterOrEqual",
    "GreaterOrEqual": "Less",
    "LessOrEqual": "Greater",
    "Greater": "LessOrEqual",
}


def sibling_mutants(name: str) -> dict[str, PairMutant]:
    """Return mutants, by name, that compute another function of the same group of SIBLINGS.

    Such groups are And, Or and Xor, or Less and LessOrEqual. An operator without one has none.
    """
    return {
        f"{other.lower()}_computed": (f"{other} was computed", FUNCTIONS[other])
        for group in SIBLINGS
        if name in group
        for other in group
        if other != name
    }


def equal_bits(a: Array, b: Array) -> Array:
    """Mutant of Equal: +0 differs from -0, and NaN equals NaN."""
    bits = f"u{a.itemsize}"
    return a.view(bits) == b.view(bits)


def not_the_opposite(opposite: OfPair, a: Array, b: Array) -> Array:
    """Mutant of a comparison: NaN makes it true."""
    is_opposite: Array = opposite(a, b)
    return ~is_opposite


def by_the_difference(comparison: OfPair, a: Array, b: Array) -> Array:
    """Mutant of a comparison: a - b, which wraps around in integers, is compared with 0."""
    return comparison(a - b, a.dtype.type(0))


def sign_bit_misread(comparison: OfPair, a: Array, b: Array) -> Array:
    """Mutant of a comparison: signed integers are taken for unsigned ones, and the reverse."""
    return comparison(a ^ sign_bit(a), b ^ sign_bit(b))


def sign_bit(x: Array) -> Array:
    """Return the highest bit of the integer type of `x`, as one number of that type."""
    return np.left_shift(x.dtype.type(1), x.dtype.type(8 * x.itemsize - 1))


def comparison_mutants(name: str) -> dict[str, PairMutant]:
    """Return the mutants of a comparison by name; raises KeyError for one without an opposite."""
    opposite = OPPOSITES[name]
    comparison = FUNCTIONS[name]
    # Infinities differ by NaN, which is neither less nor greater, as equal numbers are not.
    shows_in_floats = FLOATS if "Equal" in name else ()
    return {
        "not_the_opposite": (
            f"not {opposite} was computed, which NaN makes true",
            partial(not_the_opposite, FUNCTIONS[opposite]),
            *FLOATS,
        ),
        "by_the_difference": (
            "a − b was compared with 0",
            partial(by_the_difference, comparison),
            *SIGNED,
            *UNSIGNED,
            *shows_in_floats,
        ),
        "sign_bit_misread": (
            "signed integers were compared as unsigned, others as signed",
            partial(sign_bit_misread, comparison),
            *SIGNED,
            *UNSIGNED,
        ),
    }


def mutants_of(name: str) -> dict[str, PairMutant]:
    """Return the mutants of an operator by name: a text, a function, and its dtypes if not all.

    They are siblings computed in its place, of Equal also one of bits, and of comparisons three
    more. An operator that has none gives {}.
    """
    mutants = sibling_mutants(name)
    if name == "Equal":
        mutants["bits_compared"] = (
            "the bits of floating numbers were compared",
            equal_bits,
            *FLOATS,
        )
    if name in OPPOSITES:
        mutants |= comparison_mutants(name)
    return mutants


for _name, _function in FUNCTIONS.items():
    _operator = operator(_name, exact=True)
    _versions = partial(each_version, _name)
    _operator.formula(build=_versions)(_function)
    _operator.mutant_table(mutants_of(_name), build=_versions)


# ── BitShift ──────────────────────────────────────────────────────────────────────────────────

BIT_SHIFT = operator("BitShift", exact=True)


@BIT_SHIFT.formula(11)
def shifted_11(X: Array, Y: Array, *, direction: str) -> Array:
    """Return X shifted by Y bits in `direction`, LEFT or RIGHT, in the type of X.

    X and Y: unsigned integers of one type, which broadcast to each other. Bits that leave are lost,
    and zeros follow. Version 11 does not define shifts by the width of the type or more, which may
    give anything. Raises InvalidNode for shapes that do not broadcast and for other directions;
    NotSupported if there are no other shifts, and for such ones in judged graphs.
    """
    y = shifted(X, Y, direction=direction)
    return undefined_where(y, 8 * X.dtype.itemsize <= Y, "shifts by the width or more")


@BIT_SHIFT.formula(28)
def shifted(X: Array, Y: Array, *, direction: str) -> Array:
    """Return X shifted by Y bits in `direction`, LEFT or RIGHT, in the type of X.

    X and Y: integers of one type, which broadcast to each other. Bits that leave are lost. To the
    right a negative X is filled with its sign, other numbers with 0. A shift by the width of the
    type or more leaves 0, or -1 of a negative X to the right; a negative Y shifts as much as that.

    Raises InvalidNode for shapes that do not broadcast, and for other directions.
    """
    X, Y = axes.broadcast(X, Y)
    check_one_of("direction", direction, "LEFT", "RIGHT")
    zero = X.dtype.type(0)
    is_beyond = (Y < 0) | (8 * X.dtype.itemsize <= Y)
    amount = np.where(is_beyond, Y.dtype.type(0), Y)
    if direction == "LEFT":
        return np.where(is_beyond, zero, np.left_shift(X, amount))
    signs = np.where(X < 0, ~zero, zero)
    return np.where(is_beyond, signs, np.right_shift(X, amount))


@BIT_SHIFT.mutant("the amount was taken modulo the width", 28)
def shifted_modulo_the_width(X: Array, Y: Array, *, direction: str) -> Array:
    """Mutant: as processors do it.

    Raises InvalidNode for shapes that do not broadcast, and for directions other than LEFT and
    RIGHT.
    """
    return shifted(X, Y & Y.dtype.type(8 * Y.itemsize - 1), direction=direction)


@BIT_SHIFT.mutant("the direction was ignored")
def always_to_the_left(X: Array, Y: Array, *, direction: str) -> Array:
    """Mutant: the direction is LEFT.

    Raises InvalidNode for shapes that do not broadcast.
    """
    return shifted(X, Y, direction="LEFT")


@BIT_SHIFT.mutant("zeros were shifted in, whatever the sign", 28, only=SIGNED)
def zeros_shifted_in(X: Array, Y: Array, *, direction: str) -> Array:
    """Mutant: signed integers are shifted as unsigned ones.

    Raises InvalidNode for shapes that do not broadcast, and for directions other than LEFT and
    RIGHT.
    """
    unsigned = f"u{X.itemsize}"
    return shifted(X.view(unsigned), Y.view(unsigned), direction=direction).view(X.dtype)

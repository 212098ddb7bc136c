"""Mod, all versions."""

from typing import Any

from opcheck import numbers as xp
from opcheck.engine.axes import common_shape
from opcheck.engine.mutants.elements import SIGNED
from opcheck.engine.operators import check_one_of, formulas_of_versions, operator
from opcheck.engine.ops.arithmetic import check_quotients
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array

OP = operator("Mod")

FMOD_OF_INTEGERS = Ruling(
    "fmod-of-integers",
    'Version 13 constrains fmod 1 to floating numbers, and its "or 1" does not.',
    ("refused", "remainder"),
)


def modulo(since: int, A: Array, B: Array, *, fmod: int) -> Array:
    """Return the remainder of A / B, of the sign of B, or with fmod 1 of the sign of A.

    A, B: of one type, integers or floats, which broadcast to each other. since: the version. Of
    floats an infinite A, or a B of 0, gives NaN.

    Raises InvalidNode for shapes that do not broadcast, for fmod other than 0 and 1 (of integers in
    version 10 by a reading of FLAG_OF_ANOTHER_NUMBER alone), for fmod 0 of floats before version
    28, and in version 13 for fmod 1 of integers, unless FMOD_OF_INTEGERS makes it a remainder.
    Integers divided by 0 have no remainder: it may be anything, or is refused,
    INTEGERS_WITHOUT_QUOTIENT. In version 10 that of an integer 0 may be anything, too. Raises
    NotSupported if there are no others, and in judged graphs.
    """
    is_integer = A.dtype.kind in "iu"
    if since == 10 and is_integer:
        fmod = int(flag("fmod", fmod))
    else:
        # Version 10 states of floating numbers that it "must be set to 1", later ones of all types
        # that it "must be `0` (default), or `1`".
        check_one_of("fmod", fmod, 0, 1)
    if since == 13 and is_integer and fmod == 1 and FMOD_OF_INTEGERS.reading() == "refused":
        raise InvalidNode("fmod 1 of integers; allowed: 0")
    reject(since < 28 and not is_integer and not fmod, "fmod 0 of floating numbers; allowed: 1")
    common_shape(A.shape, B.shape)
    y = xp.fmod(A, B) if fmod else xp.remainder(A, B)
    if not is_integer:
        return y
    if not B.all():
        check_quotients()
    # "In case of dividend being zero, the results will be platform dependent."
    is_by_platform = (A == 0) & (since == 10)
    return undefined_where(y, is_by_platform | (B == 0), "such remainders of integers")


@formulas_of_versions(each={10: 10, 13: 13, 28: 28})
def versions(function: Any, since: int, A: Array, B: Array, *, fmod: int) -> Array:
    """Return what `function` makes of the version `since`, A, B and fmod: a remainder of A / B.

    Raises what `function` does: InvalidNode for shapes that do not broadcast, for an fmod that the
    version refuses, and for integers divided by 0 if INTEGERS_WITHOUT_QUOTIENT refuses them, whose
    remainder may be anything otherwise; NotSupported if all may be anything, and in judged graphs.
    """
    return function(since, A, B, fmod=fmod)


OP.formula(build=versions)(modulo)


@OP.alternative("", 28)
def by_the_quotient(A: Array, B: Array, *, fmod: int) -> Array:
    """Return A less the rounded quotient times B, which is as right for floating numbers.

    The quotient is rounded down, with fmod 1 towards 0. Of floats nothing is checked: a division by
    0 or by infinity gives NaN, a quotient that overflows infinity or NaN. Integers have their exact
    remainder; of those, raises InvalidNode for a wrong `fmod`, for shapes that do not broadcast,
    and for a division by 0 if INTEGERS_WITHOUT_QUOTIENT refuses it: it may give anything otherwise,
    or raises NotSupported if that is all, and in judged graphs.
    """
    if A.dtype.kind in "iu":
        return modulo(28, A, B, fmod=fmod)
    quotient = A / B
    rounded = xp.trunc(quotient) if fmod else xp.floor(quotient)
    return A - rounded * B


# Version 13 forbids an fmod of 1, which is that mistake in the others.
@OP.mutant("the sign was the dividend's, as in C", 13, only=SIGNED)
def sign_of_the_dividend(A: Array, B: Array, *, fmod: int) -> Array:
    """Mutant: fmod is 1, whatever the attribute.

    Of integers, raises InvalidNode for shapes that do not broadcast, for an fmod other than 0 and
    1, for 1 unless FMOD_OF_INTEGERS makes it a remainder, and for a division by 0 if
    INTEGERS_WITHOUT_QUOTIENT refuses it.
    """
    modulo(13, A, B, fmod=fmod)
    return xp.fmod(A, B)

"""Kinds of numbers: one formula, evaluated on several of them, gives all there is to know.

A formula is written once, with the functions of this package, which have the names and the
meaning of the Python array API standard (https://data-apis.org/array-api/). What it computes
depends on the arrays that are put in:

- *plain*: NumPy arrays. The answer, in the arrays' own type.
- *bounded* (`opcheck.numbers.bounded.Bounded`): the value, far more accurate than the type; a bound
  on how far any sound implementation of the formula may lie from it; and, if required, how far
  independent roundings would scatter it. With any number of digits and no errors, it also gives
  what a value rounds to.
- *faulty* (`opcheck.numbers.faulty.Faulty`): what comes out where one of the functions is wrong.
- *traced* (`opcheck.numbers.traced.Traced`): which calls made each number, for `opcheck explain`.

The package knows NumPy, and mpmath where precise numbers are used, and nothing of operators.
Formulas import it as `xp`. Its functions are in `opcheck.numbers.functions`; beyond the standard
there are `at_most_1`, `bilinear`, `drawn`, `erf`, `fmod`, `inexact`, `pad`, `real`, `sums`, `top_k`
and `values_of`. How a formula is evaluated is in `opcheck.numbers.context`.
"""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from opcheck.numbers import functions, plain
from opcheck.numbers.arithmetic import Kind, Number
from opcheck.numbers.context import (
    FaultFunction,
    Faults,
    called,
    drawn,
    if_known,
    in_graph,
    lifted,
    lifting,
    parted,
    primitive,
    real,
    setting,
    share,
)
from opcheck.numbers.functions import *
from opcheck.numbers.protocol import Booleans, Operand, Places, Tensor

#: A tensor of any kind of numbers, or a plain array: what of it is used is not checked. `Tensor` is
#: checked, and the functions take and return it.
Array: TypeAlias = Any

#: The functions that every kind has.
NAMES = frozenset(functions.__all__)


if not TYPE_CHECKING:  # A type checker reports such a name itself.

    def __getattr__(name: str) -> NoReturn:
        """Raise AttributeError, for a name that the package lacks, with the nearest of `NAMES`."""
        nearest = ", ".join(get_close_matches(name, sorted(NAMES), n=4, cutoff=0))
        raise AttributeError(f"{__name__} has no function {name}; NAMES has {nearest} and others")

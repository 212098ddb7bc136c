"""Tiers: the arithmetics that an implementation may use, and how each is judged."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from math import inf

from opcheck.dtypes import DType
from opcheck.engine.operators import Formula, Operator
from opcheck.numbers.arithmetic import Arithmetic, expected, narrow, stored

_WITHOUT_CASTS = "right only where a Cast to 16 bits is left out"
_OUT_OF_RANGE = "right but where an intermediate result left the range of the arithmetic"


@dataclass(frozen=True)
class Tier:
    """An arithmetic and a formulation: the expected one, or a coarser one that is tolerated.

    Attributes:
        name: A short name of the arithmetic, such as `float32` or `range`.
        arithmetic: The arithmetic that an implementation may use.
        formula: The formulation, None for the operator's formula.
        remark: Explains the warning of an output that needs this tier; "" for no warning.
        ranged: It is about range, so that its remark holds where an error comes of that alone.
    """

    name: str
    arithmetic: Arithmetic
    formula: Formula | None = None
    remark: str = ""
    ranged: bool = False

    def __hash__(self) -> int:
        return hash((self.name, self.formula))  # Many of the arithmetic's fields take long.

    def without_limits(self) -> "Tier":
        """Return the tier of the same roundings where nothing overflows and nothing is flushed.

        Its half arithmetic, if it has one, has no limits either.
        """
        half = self.arithmetic.half
        arithmetic = replace(_without_limits(self.arithmetic), half=half and _without_limits(half))
        return replace(self, name=f"{self.name} without limits", arithmetic=arithmetic)

    @property
    def is_poorer(self) -> bool:
        """True for a 16-bit arithmetic that is not declared."""
        arithmetic = self.arithmetic
        return bool(self.remark) and arithmetic.everywhere


def _without_limits(arithmetic: Arithmetic) -> Arithmetic:
    return replace(arithmetic, largest=inf, smallest=0.0, flushes=False)


@cache
def tiers_of(
    operator: Operator,
    since: int,
    dtype: DType,
    short: tuple[DType, ...],
    declared: Set[str],
    inside: tuple[DType, ...] = (),
    casts: bool = False,
) -> tuple[Tier, ...]:
    """Return the tiers of an operator's version, those without a remark first; cached.

    They compute as expected of `dtype`, or in a 16-bit type of `short`; or in one of `inside`, but
    only what is of a 16-bit type. Those of a type that is `declared`, by its name, have no remark.
    The formula comes first, then its alternatives of this version. Each of the usual arithmetic has
    a tier of the same formula that may also leave its range, "range". The last one leaves out the
    roundings of casts within a graph, if it `casts`.
    """
    name = "float64" if dtype.name == "float64" else "float32"
    usual = expected(dtype)
    flushing = replace(usual, flushes=True)
    alternatives = [one for one in operator.alternatives if one.since == since]
    formulas: list[Formula | None] = [None]
    formulas += [one.function for one in alternatives if not one.remark]
    tiers = [Tier(name, usual, formula) for formula in formulas]
    tiers += [Tier("range", flushing, formula, _OUT_OF_RANGE, ranged=True) for formula in formulas]
    for alternative in alternatives:
        if alternative.remark:
            remark = f"right only {alternative.remark}"
            tiers.append(Tier(name, flushing, alternative.function, remark))
    for narrower in short:
        tiers += _tiers_in(narrower, formulas, is_declared=narrower.name in declared)
    for narrower in inside:
        tiers += _tiers_inside(flushing, narrower, is_declared=narrower.name in declared)
    if casts:
        without = replace(flushing, keeps_casts=True)
        tiers.append(Tier(f"{name} without casts", without, None, _WITHOUT_CASTS))
    return tuple(sorted(tiers, key=lambda tier: tier.remark != ""))


def _tiers_in(
    narrower: DType, formulas: Sequence[Formula | None], *, is_declared: bool
) -> Iterator[Tier]:
    """Yield the tiers in a 16-bit type: results that are stored in it, and all computed in it.

    formulas: the formulations of each, None for the operator's formula. A type that is not declared
    has a remark. What its roundings leave is excused, and nothing that results from an overflow in
    it: see `Tier.without_limits`.
    """
    for word, remark, arithmetic in _narrower(narrower, is_declared=is_declared):
        everywhere = replace(arithmetic, everywhere=True)
        for formula in formulas:
            yield Tier(f"{narrower} {word}", everywhere, formula, remark)


def _tiers_inside(usual: Arithmetic, narrower: DType, *, is_declared: bool) -> Iterator[Tier]:
    """Yield the tiers of a graph that computes in a 16-bit type only what is of such a type.

    That sums are in it too has to be declared: its bound admits answers that are notably wrong.
    """
    for word, remark, arithmetic in _narrower(narrower, is_declared=is_declared):
        if is_declared or arithmetic.stored is not None:
            mixed = replace(usual, half=arithmetic, everywhere=True)
            yield Tier(f"{narrower} {word} inside", mixed, None, remark)


def _narrower(narrower: DType, *, is_declared: bool) -> Iterator[tuple[str, str, Arithmetic]]:
    """Yield the arithmetics of a 16-bit type, each with a word for it and its remark.

    They are "stored", of float32 with results kept in the type, and "arithmetic", all in it. The
    remark of a declared type is "".
    """
    for word, message, arithmetic in (
        ("stored", f"kept in {narrower} between operations", stored(narrower)),
        ("arithmetic", f"computed in {narrower}", narrow(narrower)),
    ):
        yield word, "" if is_declared else f"{message}; declare accumulate={narrower}", arithmetic

"""Equations of Einsum: of one operand of up to three axes, of two operands, and diagonals.

Two equations that differ in letters only are one situation. Of two operands of one or two axes,
every equation is a situation. Where an operand has three axes, a situation is how many letters
play each role: a *batch* letter is in both operands and in the output, a *contracted* one in both
operands only, a *kept* one in one operand and in the output, a *summed* one in one operand only.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, permutations, product
from string import ascii_letters, ascii_lowercase
from typing import NamedTuple

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.family import Family

_LEFT_OUT = (
    "Equations of more than two operands or of operands of more than three axes, ellipses, "
    "implicit outputs, and a letter twice in one of two operands: other cases ask some of each. "
    "Outputs of two matrices with four axes. Where an operand has three axes, the order of its "
    "letters, and which operand comes first."
)
_DIAGONALS = (
    *("aa->a", "aa->", "aab->ab", "aab->b", "aab->ba"),
    *("aba->ab", "aba->b", "abb->ab", "abb->a", "aaa->a"),
)
_MOST_AXES = 3


class Roles(NamedTuple):
    """How many letters of two operands play each role; the first operand is the longer one."""

    batch: int
    contracted: int
    kept: tuple[int, int]
    summed: tuple[int, int]

    def __str__(self) -> str:
        return (
            f"{self.batch} batch, {self.contracted} contracted, "
            f"{self.kept[0]} and {self.kept[1]} kept, {self.summed[0]} and {self.summed[1]} summed"
        )


def situations(schema: Schema) -> Iterator[str]:
    """Yield Einsum's situations."""
    if schema.op.name != "Einsum":
        return
    yield from _of_one_operand()
    yield from _DIAGONALS
    yield from _of_vectors_and_matrices()
    yield from map(str, dict.fromkeys(_of_three_axes()))


def found_in(case: Case) -> Iterator[str]:
    """Yield the situation of an equation."""
    equation = str(case.attrs.get("equation", "")).replace(" ", "")
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if case.op.name != "Einsum" or not arrow or {*left, *output} - {*ascii_letters, ","}:
        return
    is_diagonal = any(len({*term}) < len(term) for term in terms)
    if len(terms) == 2 and max(map(len, terms)) == _MOST_AXES and not is_diagonal:
        longer, shorter = sorted(terms, key=len, reverse=True)
        yield str(_roles(longer, shorter, output))
    else:
        yield _renamed(terms, output)


def _of_one_operand() -> Iterator[str]:
    for rank in range(_MOST_AXES + 1):
        for output in _outputs(ascii_lowercase[:rank]):
            yield f"{ascii_lowercase[:rank]}->{output}"


def _of_vectors_and_matrices() -> Iterator[str]:
    found = (
        _renamed((first, "".join(second)), output)
        for first in ("a", "ab")
        for rank in (1, 2)
        for second in permutations("abcd"[: len(first) + rank], rank)
        for output in _outputs("".join(sorted({*first, *second})))
    )
    return iter(dict.fromkeys(found))


def _outputs(letters: str) -> Iterator[str]:
    """Yield each arrangement of some of the letters, of up to three."""
    for rank in range(min(len(letters), _MOST_AXES) + 1):
        yield from map("".join, permutations(letters, rank))


def _of_three_axes() -> Iterator[Roles]:
    """Yield the roles in an operand of three axes and another one of one to three."""
    for rank, batch, contracted in product(range(1, 4), range(4), range(4)):
        alone = _MOST_AXES - batch - contracted, rank - batch - contracted
        if min(alone) < 0:
            continue
        for kept in product(range(alone[0] + 1), range(alone[1] + 1)):
            summed = alone[0] - kept[0], alone[1] - kept[1]
            yield _in_order(Roles(batch, contracted, kept, summed))


def _roles(first: str, second: str, output: str) -> Roles:
    shared = {*first} & {*second}
    alone = {*first} - shared, {*second} - shared
    kept = len(alone[0] & {*output}), len(alone[1] & {*output})
    summed = len(alone[0]) - kept[0], len(alone[1]) - kept[1]
    batch = len(shared & {*output})
    return _in_order(Roles(batch, len(shared) - batch, kept, summed))


def _in_order(roles: Roles) -> Roles:
    """Return the same roles for two operands of three axes in either order."""
    if roles.kept[0] + roles.summed[0] == roles.kept[1] + roles.summed[1]:
        return roles._replace(
            kept=(max(roles.kept), min(roles.kept)), summed=(min(roles.summed), max(roles.summed))
        )
    return roles


def _renamed(terms: Sequence[str], output: str) -> str:
    """Return the equation with the letters a, b, c … in the order of their first occurrence."""
    letters = dict.fromkeys(chain.from_iterable(terms))
    names = str.maketrans(dict(zip(letters, ascii_letters, strict=False)))
    return f"{','.join(terms)}->{output}".translate(names)


FAMILY = Family(
    name="equations",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
)

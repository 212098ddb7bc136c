"""Situations: what the cases of an operator must be about, enumerated by rule.

A family of situations is a lattice, such as every pair of shapes up to rank 3 of which one is
stretched to the other. `survey` finds the situations that no case of level core is in. Of an
operator's cases, those of its newest version count that must be answered, in one type unless the
family says otherwise.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from opcheck.dtypes import BY_TEXT
from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations import (
    attributes,
    axes,
    broadcasting,
    coefficients,
    equations,
    indexing,
    integers,
    quantization,
    ranges,
    windows,
)
from opcheck.situations.family import Argument, Family, newest_schema

FAMILIES = (
    broadcasting.FAMILY,
    integers.FAMILY,
    equations.FAMILY,
    indexing.FAMILY,
    windows.FAMILY,
    quantization.FAMILY,
    attributes.FAMILY,
    axes.FAMILY,
    coefficients.FAMILY,
    ranges.FAMILY,
)
#: The types that situations of one type are asked of: the first that an operator has.
_LEADING = ("float32", "int64", "uint32", "bool", "string")


@dataclass(frozen=True)
class Survey:
    """The situations of one operator in one family, in the family's order.

    `missing` are those that no case is in, and `argued` those of them that an argument explains.
    `refuted` are arguments about situations that a case is in.
    """

    op: str
    family: str
    situations: tuple[str, ...]
    missing: tuple[str, ...]
    argued: tuple[str, ...]
    refuted: tuple[Argument, ...]

    @property
    def unexplained(self) -> tuple[str, ...]:
        """The missing situations that no argument explains."""
        return tuple(one for one in self.missing if one not in self.argued)


def survey(op: str, cases: Iterable[Case]) -> tuple[Survey, ...]:
    """Return which situations of `op`, an operator of ONNX's own domain, the cases are in."""
    counted = [case for case in cases if case.level != "deep"]
    return tuple(
        _survey(op, family, {one for found in in_situations.values() for one in found})
        for family, in_situations in by_family(op, counted)
    )


def by_family(
    op: str, cases: Iterable[Case]
) -> Iterator[tuple[Family, Mapping[Case, Sequence[str]]]]:
    """Yield each family that is about `op`, with the cases in its situations, and which these are.

    Only cases of the operator's newest version that must be answered are among them, and of one
    type unless the family says otherwise.
    """
    schema = newest_schema(op)
    if schema is None:
        return
    of_op = [case for case in cases if _counts(case, schema)]
    for family in FAMILIES:
        situations = {*family.situations(schema)}
        if situations:
            leading = leading_type(schema) if family.one_type else None
            of_type = (case for case in of_op if leading in (None, _type(case, schema)))
            found = {case: situations.intersection(family.found_in(case)) for case in of_type}
            yield family, {case: sorted(of_case) for case, of_case in found.items() if of_case}


def leading_type(schema: Schema) -> str | None:
    """Return the type that situations of one type are asked of."""
    allowed = {BY_TEXT[text].name for text in schema.typed.types if text in BY_TEXT}
    return next((name for name in _LEADING if name in allowed), None)


def _counts(case: Case, schema: Schema) -> bool:
    is_answered = case.expect.rejection is None and case.rule == "must"
    return case.op == schema.op and is_answered


def _survey(op: str, family: Family, found: Collection[str]) -> Survey:
    schema = newest_schema(op)
    situations = tuple(family.situations(schema)) if schema else ()
    missing = tuple(one for one in situations if one not in found)
    arguments = [one for one in family.argued if one.op == op]
    return Survey(
        op=op,
        family=family.name,
        situations=situations,
        missing=missing,
        argued=tuple(s for s in missing if any(a.is_about(op, s) for a in arguments)),
        refuted=tuple(a for a in arguments if any(a.is_about(op, s) for s in found)),
    )


def _type(case: Case, schema: Schema) -> str | None:
    leading = case.inputs[schema.lead : schema.lead + 1]
    return next((spec.dtype.name for spec in leading), case.dtype.name if case.dtype else None)

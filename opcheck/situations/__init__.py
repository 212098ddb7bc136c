"""Situations: what the cases of an operator must be about, enumerated by rule.

A family of situations is a lattice, such as every pair of shapes up to rank 3 of which one is
stretched to the other. `survey` finds the situations that no case of level core is in. Of an
operator's cases, those of its newest version count that must be answered, in one type unless the
family says otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from opcheck import opset
from opcheck.dtypes import BY_TEXT
from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations import broadcasting, equations, indexing, integers, windows
from opcheck.situations.family import Argument, Family

FAMILIES = (
    broadcasting.FAMILY,
    integers.FAMILY,
    equations.FAMILY,
    indexing.FAMILY,
    windows.FAMILY,
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
    schema = opset.describe("", op, opset.newest(""))
    if schema is None:
        return ()
    counted = [case for case in cases if case.op == schema.op and _counts(case)]
    surveys = (_survey(family, schema, counted) for family in FAMILIES)
    return tuple(one for one in surveys if one.situations)


def cases_in(op: str, cases: Iterable[Case]) -> dict[tuple[str, str], list[str]]:
    """Return the ids of the cases, of any level, in each situation of `op` that one is in.

    A key is the name of a family and the situation.
    """
    schema = opset.describe("", op, opset.newest(""))
    if schema is None:
        return {}
    answered = [case for case in cases if case.op == schema.op and _is_answered(case)]
    by_situation: dict[tuple[str, str], list[str]] = {}
    for family in FAMILIES:
        situations = {*family.situations(schema)}
        leading = leading_type(schema) if family.one_type else None
        for case in answered if situations else ():
            if leading is None or _type(case, schema) == leading:
                for situation in situations.intersection(family.found_in(case)):
                    by_situation.setdefault((family.name, situation), []).append(case.id)
    return by_situation


def leading_type(schema: Schema) -> str | None:
    """Return the type that situations of one type are asked of."""
    allowed = {BY_TEXT[text].name for text in schema.typed.types if text in BY_TEXT}
    return next((name for name in _LEADING if name in allowed), None)


def _counts(case: Case) -> bool:
    return case.level != "deep" and _is_answered(case)


def _is_answered(case: Case) -> bool:
    """Return True if a backend must answer the case, and may not refuse it."""
    return case.expect.rejection is None and case.rule == "must"


def _survey(family: Family, schema: Schema, cases: Iterable[Case]) -> Survey:
    leading = leading_type(schema) if family.one_type else None
    situations = tuple(family.situations(schema))
    of_type = (case for case in cases if leading is None or _type(case, schema) == leading)
    found = {one for case in of_type for one in family.found_in(case)} if situations else set()
    missing = tuple(one for one in situations if one not in found)
    arguments = [one for one in family.argued if one.op == schema.op.name]
    return Survey(
        op=schema.op.name,
        family=family.name,
        situations=situations,
        missing=missing,
        argued=tuple(s for s in missing if any(a.is_about(schema.op.name, s) for a in arguments)),
        refuted=tuple(a for a in arguments if any(a.is_about(schema.op.name, s) for s in found)),
    )


def _type(case: Case, schema: Schema) -> str | None:
    leading = case.inputs[schema.lead : schema.lead + 1]
    return next((spec.dtype.name for spec in leading), case.dtype.name if case.dtype else None)

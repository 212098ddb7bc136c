"""The operators, versions and types that a backend is for, as a profile states them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from opcheck import opset, reading
from opcheck.dtypes import DTYPES
from opcheck.errors import UsageError, did_you_mean
from opcheck.model import Case, OpVersion
from opcheck.suite.select import operator_matcher

#: `Conv`, `Reduce*`, `MatMul@13`, `MatMul@13+`, `*:float32`.
PART = re.compile(r"(?P<op>[\w*?]+)(?:@(?P<opset>[1-9]\d{0,3})(?P<later>\+)?)?(?::(?P<dtype>\w+))?")
FORM = "write OP, OP@OPSET, OP@OPSET+ or OP:DTYPE, with * in a name"


@dataclass(frozen=True)
class _Part:
    """Operators by name or pattern: of one version, from it on, or all (0); of a type, or all."""

    name: str
    is_meant: Callable[[str], bool]
    opset: int
    later: bool
    dtype: str | None

    def has(self, op: OpVersion, dtype: str | None) -> bool:
        is_of_type = self.dtype is None or self.dtype == dtype
        if not (is_of_type and self.is_meant(op.name)):
            return False
        return opset.is_in_force(op, self.opset, or_later=self.later)


class Scope:
    """What backends are for: the cells of any of its parts.

    Attributes:
        operators: The names and patterns of its operators, for a `Selection`.

    Raises UsageError with every part that is malformed, or names no operator or type.
    """

    def __init__(self, parts: Iterable[str]) -> None:
        parts = tuple(parts)
        self._text = ", ".join(sorted({*parts}))
        self._parts: list[_Part] = []
        errors: list[UsageError] = []
        for text in parts:
            try:
                self._parts.append(_parsed(text))
            except UsageError as error:
                errors.append(error)
        if errors:
            each = [f"{error.message} ({error.hint})" for error in errors]
            raise UsageError("operators of the profile are wrong", "\n  ".join(each))
        self.operators = tuple(part.name for part in self._parts)

    def __str__(self) -> str:
        return self._text

    def has(self, op: OpVersion, dtype: str | None) -> bool:
        """Return True if a version of an operator is in the scope, with the type of its cases.

        A case whose inputs have types of their own has None, which only parts without a type hold.
        """
        return any(part.has(op, dtype) for part in self._parts)

    def of(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Return the cases that are in the scope, in their order."""
        # Many cases are of one cell.
        has = cache(self.has)
        return tuple(
            case for case in cases if has(case.op, case.dtype.name if case.dtype else None)
        )


def _parsed(text: str) -> _Part:
    """Return one part; raise UsageError if it is malformed, or names no operator or type."""
    found = PART.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} names no operators", FORM)
    is_meant = operator_matcher([found["op"]])
    known = _known_operators()
    if not any(map(is_meant, known)):
        raise UsageError(f"{text!r}: no such operator", did_you_mean(found["op"], known))
    newest = max(opset.newest(domain) for domain in opset.domains())
    if int(found["opset"] or 0) > newest:
        raise UsageError(f"{text!r}: opset {found['opset']}", f"the newest is {newest}")
    if found["dtype"] not in (None, *DTYPES):
        hint = did_you_mean(found["dtype"], DTYPES)
        raise UsageError(f"{text!r}: unknown dtype {found['dtype']!r}", hint)
    return _Part(
        found["op"], is_meant, int(found["opset"] or 0), bool(found["later"]), found["dtype"]
    )


def _known_operators() -> set[str]:
    """Return the operators of all domains, those of shipped cases included."""
    known = {name for domain in opset.domains() for name in opset.operators(domain)}
    return known.union(reading.shipped_operators())

"""From a result to its record: from here on nothing knows of arrays and cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from opcheck.clauses import quotation, rulings
from opcheck.dtypes import DType
from opcheck.model import (
    Case,
    Comparison,
    ComparisonRecord,
    ElementRecord,
    Mismatch,
    Record,
    Result,
    Suite,
    Verdict,
)
from opcheck.report import spelling
from opcheck.suite import case_digest, suite_digest

#: What a record has as the result has it.
_ALIKE = ({field.name for field in dataclasses.fields(Result)}) & (
    {field.name for field in dataclasses.fields(Record)} - {"case", "comparisons"}
)


class Recorder:
    """Makes the records of a run; `suite` are all cases of the selection, in their order.

    `backends` are the addresses of all that take part.
    """

    def __init__(self, cases: Sequence[Case], backends: Sequence[str] = ()) -> None:
        self._backends = backends
        digests = [(case.id, case_digest(case)) for case in cases]
        self.suite = Suite(suite_digest(digests), len(cases))
        #: Place and digest of each case, by its id.
        self.digests = {id: (place, digest) for place, (id, digest) in enumerate(digests)}

    def record(self, result: Result) -> Record:
        """The record of a result on one of the cases."""
        case = result.case
        place, digest = self.digests[case.id]
        passed = result.verdict is Verdict.PASS
        return Record(
            case=case.id,
            place=place,
            digest=digest,
            op=case.op,
            opset=case.opset,
            dtype=case.dtype.name if case.dtype else None,
            name=case.name,
            row=case.row,
            rule=case.rule,
            level=case.level,
            clause=quotation(case.clause, case.op) or case.clause,
            source=case.source,
            question=spelling.question(case),
            repeat=spelling.repeat(result, self._backends),
            # Nobody asks how a sentence is read of which nothing went wrong.
            rulings=() if passed else rulings(case.clause, case.op),
            comparisons=tuple(map(_comparison, result.comparisons)),
            **{name: getattr(result, name) for name in _ALIKE},
        )


def _comparison(comparison: Comparison) -> ComparisonRecord:
    fields = {f.name: getattr(comparison, f.name) for f in dataclasses.fields(comparison)}
    dtype = comparison.dtype
    fields["dtype"] = dtype.name if dtype else None
    fields["picture"] = comparison.picture and comparison.picture()
    fields["worst"] = tuple(_element(one, dtype) for one in comparison.worst)
    return ComparisonRecord(**fields)


def _element(mismatch: Mismatch, dtype: DType | None) -> ElementRecord:
    want, got = mismatch.want, mismatch.got
    return ElementRecord(
        index=mismatch.index,
        input=spelling.number(mismatch.input, dtype),
        want=spelling.number(want, dtype),
        want_bits=spelling.bits(want, dtype) if dtype else "",
        got=spelling.number(got, dtype),
        got_bits=spelling.bits(got, dtype) if dtype else "",
        ulp=mismatch.ulp,
        allowed=mismatch.allowed,
    )

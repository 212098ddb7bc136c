"""What is said of all failures of an operator in the end, by which cases failed, and how."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from opcheck.diagnose import Suspects
from opcheck.diagnose.attribution import attribute_causes
from opcheck.diagnose.results import DiagnosedResult
from opcheck.diagnose.suspects import cell_of
from opcheck.dtypes import DTYPES
from opcheck.model import Case, Diagnosis, Fill, Rejected, Verdict
from tests.report.made import CASE, record
from tests.wording import Wording

SITUATIONS = yaml.safe_load(Path(__file__).with_name("attribution.yaml").read_text("utf-8"))


class Contradicted(Suspects):
    """Cases of positive numbers speak against some mutants, and accepted ones against another."""

    def __init__(self, seen: Sequence[DiagnosedResult]) -> None:
        super().__init__(lambda case: None)
        few, many = ([s.case for s in seen if s.case.attrs["alpha"] >= least] for least in (9, 0))
        self.taken: list[Case] = []
        self.by_name = {
            "refuses_float32": many,
            "refuses_float64": few,
            "refuses_int8": few,
            "refuses_bool": self.taken,
        }

    def accepted(self, case: Case) -> None:
        self.taken.append(case)

    def against(
        self, mutant: Any, cell: Any, enough: int | None = None, *, of_legal: bool = False
    ) -> list[Case]:
        those = self.by_name.get(mutant.name, [])
        return [case for case in those if cell_of(case) == cell][:enough]

    def refit(self, case: Case, known: Sequence[Any]) -> dict[str, Any]:
        return {one.name: one for one in known if case.attrs["alpha"] == -99}


def some(result: Mapping[str, Any]) -> Iterator[DiagnosedResult]:
    """Cases that came out alike."""
    fields = {"verdict": "fail" if "failure" in result else "pass", **result}
    start, stop = fields.pop("alpha")
    dtype, why = DTYPES[fields.pop("dtype", "float32")], fields.pop("invalid", "")
    expect = Rejected(why, replace(CASE, attrs={"alpha": 50})) if why else CASE.expect
    verdict, said = Verdict(fields.pop("verdict")), fields.pop("said", ())
    unexplained = fields.pop("unexplained", "failure" in result)
    fields["diagnoses"] = [Diagnosis(None if " " in one else one, one) for one in said]
    inputs = (replace(CASE.inputs[0], dtype=dtype),)
    for alpha in range(start, stop):
        name, attrs = f"{alpha} {dtype}", {"alpha": alpha}
        case = replace(CASE, id=name, attrs=attrs, expect=expect, inputs=inputs)
        yield DiagnosedResult(case, record(verdict, id=name, **fields), unexplained)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_said_of_all_failures_in_the_end(situation: str) -> None:
    results, expected = SITUATIONS[situation].values()
    seen = [*chain(*map(some, results))]
    said = attribute_causes(seen, Contradicted(seen)).values()
    assert Counter("; ".join(map(str, found)) for found in said) == {
        text: n for n, text in expected
    }
    evidence = [one.counts for found in said for one in found if one.counts]
    assert all(0 <= elsewhere <= others for _, _, elsewhere, others in evidence)


def test_messages_are_compared_up_to_a_length() -> None:
    reason = "raised on a legal model: " + "a" * 4000 + "b"
    seen = DiagnosedResult(CASE, record(Verdict.ERROR, failure="raised", reason=reason), True)
    assert seen.message == "a" * 4000


@pytest.mark.parametrize("shapes", ["(2, 3)|(4, 5, 6)", "2x3|4x5x6", "[2,3]|[4]", "{2,3}|{4,5,6}"])
def test_messages_about_other_shapes_are_the_same(shapes: str) -> None:
    reasons = [f"raised on a legal model: no kernel for {shape}" for shape in shapes.split("|")]
    one, other = (
        DiagnosedResult(CASE, record(Verdict.ERROR, failure="raised", reason=reason), True)
        for reason in reasons
    )
    assert one.message == other.message


def of_values(alpha: int, diagnoses: Sequence[Diagnosis], *shape: int) -> DiagnosedResult:
    """A failure of values, of a case with an input of this shape."""
    spec = replace(CASE.inputs[0], shape=shape, content=Fill("arange", (1, 1)))
    case = replace(CASE, id=f"{alpha}", attrs={"alpha": alpha}, inputs=(spec,))
    answer = record(Verdict.FAIL, id=case.id, failure="values", diagnoses=diagnoses)
    return DiagnosedResult(case, answer, unexplained=True)


LAST = Diagnosis("last_of_ties", "the last of equal maxima won")


@pytest.mark.parametrize(("names", "is_named"), [((LAST, LAST, LAST), True), ((), False)])
def test_what_is_too_large_for_mutants_has_the_cause_of_what_is_smaller(
    names: Sequence[Diagnosis], is_named: bool, wording: Wording
) -> None:
    small = [of_values(n, [name], 2) for n, name in enumerate(names)]
    large = of_values(9, [], 1 << 19)
    found = attribute_causes([*small, large], Contradicted([*small, large]))[large.case.id]
    assert [*map(str, found)] == ([wording] if is_named else [])


def test_a_smaller_case_without_a_cause_has_none_of_its_like() -> None:
    results = [*(of_values(n, [LAST], 2) for n in range(3)), of_values(9, [], 4)]
    assert attribute_causes(results, Contradicted(results))["9"] == ()

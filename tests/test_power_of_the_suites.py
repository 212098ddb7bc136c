"""Whether the shipped suites see what they are there to see.

Backends that are wrong in more ways than a wrong answer must be found, and no backend that is right
may be accused. That the cases find every known mistake is asked in `tests/cases`.
"""

import os
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from opcheck.backends import Backend
from opcheck.execution.evaluation import CaseEvaluation
from opcheck.model import AnyOf, Case, LiveResult, OpVersion, Rejected, Verdict
from opcheck.report import store
from tests.asking import elements, shipped_cases
from tests.conftest import TURNS, FirstRun
from tests.hardmax import LAPSES, LIBERTIES, Hardmax
from tests.inline import result_of
from tests.miniatures import answering, refusing

pytestmark = pytest.mark.reads_all_suites

DTYPES = {
    OpVersion("", "Hardmax", 1): ("float16", "float32", "float64"),
    OpVersion("", "Hardmax", 11): ("float16", "float32", "float64"),
    OpVersion("", "Hardmax", 13): ("bfloat16", "float16", "float32", "float64"),
    OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1): ("float16", "float32"),
}


@cache
def trials() -> tuple[CaseEvaluation, ...]:
    """All shipped cases, those of level deep last; their data is made once for all tests."""
    return tuple(
        map(CaseEvaluation, sorted(shipped_cases(), key=lambda case: case.level == "deep"))
    )


def of_hardmax(small: bool = False) -> list[CaseEvaluation]:
    """Those of Hardmax and of its sibling; the small ones take a fraction of the time."""
    of_both = [evaluation for evaluation in trials() if evaluation.case.op in DTYPES]
    return [t for t in of_both if not small or elements(t.case) <= 5000]


def results(backend: Backend, among=None, *, deep: bool = False) -> Iterator[LiveResult]:
    chosen = trials() if among is None else among
    return (result_of(t, backend) for t in chosen if deep or t.case.level != "deep")


def rejections(case: Case) -> bool:
    """Whether the case expects a refusal, or admits one."""
    if isinstance(case.expect, AnyOf):
        return any(isinstance(one.expect, Rejected) for one in case.expect.alternatives)
    return isinstance(case.expect, Rejected)


def rejection(case: Case) -> object:
    """Each is asked by a whole gate, one version, type and row of it by others."""
    whole = os.environ.get("OPCHECK_PART") == "whole"
    return case.id if whole else (case.op.name, case.name, case.rule)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["no_mistake", *LIBERTIES])
def test_a_backend_that_is_right_passes_every_case(name: str) -> None:
    backend = LIBERTIES.get(name, Hardmax())
    found = results(backend, of_hardmax(name != "no_mistake"), deep=name == "no_mistake")
    assert not [(r.case.id, r.reason) for r in found if r.verdict is not Verdict.PASS]


@pytest.mark.parametrize("name", LAPSES)
def test_what_only_should_not_be_is_warned_of(name: str) -> None:
    among = of_hardmax(small=True)
    found = [r for r in results(LAPSES[name], among) if r.case.op.name == "Hardmax"]
    assert {r.verdict for r in found} == {Verdict.PASS, Verdict.WARN}
    assert {r.case.rule for r in found if r.verdict is Verdict.WARN} == {"should"}


@pytest.mark.gate
def test_no_real_backend_is_called_unstable(first_run: FirstRun) -> None:
    records = store.read(first_run.stored).records
    assert {r.backend for r in records} == {"numpy", "onnxruntime", "reference"}
    unstable = [r.case for r in records if Verdict.UNSTABLE in (r.verdict, r.found)]
    # ONNX Runtime gives what the memory holds: a known defect.
    unset = "(MatMulInteger|QLinearMatMul)/empty@.*#(no_products|vectors_of_nothing)"
    assert not [case for case in unstable if not re.fullmatch(unset, case)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stage", ["run", "prepare"])
def test_who_refuses_everything_passes_no_case_at_all(stage: str, of_part) -> None:
    def kind(case: Case) -> object:
        """What a refusal is judged by: of each kind one case is asked; see `rejection`."""
        if not rejections(case):
            return case.op.name, case.rule, type(case.expect), str(case.dtype)
        return rejection(case)

    shallow = (one for one in trials() if one.case.level != "deep")
    chosen = {kind(evaluation.case): evaluation for evaluation in shallow}
    found = list(results(refusing(stage=stage), of_part([*chosen.values()], parts=2 * TURNS)))
    assert not [result.case.id for result in found if result.verdict is Verdict.PASS]
    asked = [result for result in found if rejections(result.case)]
    assert len(found) > len(asked) > 200
    assert {result.case.rule for result in asked} == {"must", "should", "open"}
    for result in asked:
        assert result.reason.startswith("refuses its legal ")
        assert result.verdict is (Verdict.WARN if result.case.rule == "should" else Verdict.ERROR)


def test_who_accepts_everything_fails_every_rejection() -> None:
    zeros = answering(lambda inputs: [np.zeros_like(inputs[0] if inputs else 0)])
    asked = {rejection(one.case): one for one in trials() if isinstance(one.case.expect, Rejected)}
    rejected = list(results(zeros, asked.values()))
    assert {result.case.rule for result in rejected} == {"must", "should"}
    for result in rejected:
        assert result.verdict is (Verdict.FAIL if result.case.rule == "must" else Verdict.WARN)
        assert result.reason.startswith("accepts an invalid ")

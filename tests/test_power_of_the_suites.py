"""Whether the shipped suites see what they are there to see.

Every mistake of `tests.mistakes` must be found by a `must` case of every version of Hardmax that
it can be made in, and no backend that is right may be accused. `tests/cases` asks the same of the
other operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pytest

from opcheck.backends import Backend, connect
from opcheck.model import AnyOf, Case, Rejected, Result, Verdict
from opcheck.run.conduct import Trial
from opcheck.suite import load
from tests.miniatures import HABITS, Fake, answering, refusing
from tests.mistakes import LAPSES, LIBERTIES, MISTAKES, Hardmax, Mistake

ONE, ELEVEN, THIRTEEN = "Hardmax-1", "Hardmax-11", "Hardmax-13"
DIRECTML = "DML_ACTIVATION_HARDMAX1-1"
VERSIONS = (ONE, ELEVEN, THIRTEEN, DIRECTML)

#: Mistakes that not every version can be made in: it lacks the attribute, the dtype, or the
#: difference, or its text leaves the matter open.
CONCERNS: dict[str, tuple[str, ...]] = {
    "no_coercion_before_13": (ONE, ELEVEN),
    "coercion_in_13": (THIRTEEN,),
    "coercion_after_the_axis": (ONE, ELEVEN, DIRECTML),
    "newest_version_always": (ONE, ELEVEN),
    "version_11_always": (THIRTEEN,),
    "default_axis_0_always": (ONE, ELEVEN, THIRTEEN),
    "default_axis_1_always": (THIRTEEN,),
    "default_axis_minus_1_always": (ONE, ELEVEN),
    "negative_axis_off_by_one": (ELEVEN, THIRTEEN),
    "minus_sign_ignored": (ELEVEN, THIRTEEN),
    "ties_in_column_major_order": (ONE, ELEVEN, DIRECTML),
    "first_of_the_axes_only": (DIRECTML,),
    "last_of_the_axes_only": (DIRECTML,),
    "float32_inside": (ONE, ELEVEN, THIRTEEN),
    "empty_becomes_one": (ONE, ELEVEN, THIRTEEN),
    "axis_wraps": (ELEVEN, THIRTEEN, DIRECTML),
    "axis_clamped": (ELEVEN, THIRTEEN, DIRECTML),
    "out_of_range_is_last": (ELEVEN, THIRTEEN, DIRECTML),
    "axis_in_32_bits": (ELEVEN, THIRTEEN),
    "refuses_negative_axes": (ELEVEN, THIRTEEN),
    "refuses_empty_tensors": (ONE, ELEVEN, THIRTEEN),
    "refuses_float64": (ONE, ELEVEN, THIRTEEN),
    "refuses_bfloat16": (THIRTEEN,),
    "refuses_constants": (ONE, ELEVEN, THIRTEEN),
    "refuses_a_missing_axis": (ONE, ELEVEN, THIRTEEN),
}


@cache
def trials() -> tuple[Trial, ...]:
    """All shipped cases, those of level deep last; their data is made once for all tests."""
    return tuple(map(Trial, sorted(load(), key=lambda case: case.level == "deep")))


def of_hardmax() -> list[Trial]:
    """Those of Hardmax and of its sibling."""
    return [trial for trial in trials() if str(trial.case.op) in VERSIONS]


def results(
    backend: Backend, among: Iterable[Trial] | None = None, *, deep: bool = False
) -> Iterator[Result]:
    chosen = trials() if among is None else among
    return (t.on(backend) for t in chosen if deep or t.case.level != "deep")


def rejections(case: Case) -> bool:
    """Whether the case expects a refusal, or admits one."""
    if isinstance(case.expect, AnyOf):
        return any(isinstance(one.expect, Rejected) for one in case.expect.alternatives)
    return isinstance(case.expect, Rejected)


# ── mistakes are found ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", MISTAKES)
def test_the_suites_find_every_mistake_in_every_version(name: str) -> None:
    backend = Hardmax(mistake=MISTAKES[name])
    # A mistake is a wrong answer; only where it is to refuse may it show as an error.
    red = Verdict.ERROR if name.startswith("refuses_") else Verdict.FAIL
    missing = set(CONCERNS.get(name, VERSIONS))
    for trial in of_hardmax():
        case = trial.case
        if not missing or case.level == "deep":
            break
        if str(case.op) in missing and case.rule == "must" and trial.on(backend).verdict is red:
            missing.remove(str(case.op))
    assert not missing, f"no case of {', '.join(sorted(missing))} finds this"


@pytest.mark.parametrize("name", HABITS)
def test_the_suites_find_every_habit_in_every_version(name: str) -> None:
    right = Hardmax()
    backend = Fake(lambda task: HABITS[name](right.prepared(task)))
    unstable = [r for r in results(backend, of_hardmax()) if r.verdict is Verdict.UNSTABLE]
    found = {str(result.case.op) for result in unstable}
    assert found == set(VERSIONS)


def test_the_table_of_concerns_names_mistakes_and_versions_that_exist() -> None:
    assert set(CONCERNS) <= set(MISTAKES)
    assert {str(trial.case.op) for trial in of_hardmax()} == set(VERSIONS)
    assert {version for versions in CONCERNS.values() for version in versions} <= set(VERSIONS)


# ── who is right is not accused ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["no_mistake", *LIBERTIES])
def test_a_backend_that_is_right_passes_every_case(name: str) -> None:
    backend = Hardmax(mistake=LIBERTIES.get(name, Mistake()))
    found = results(backend, of_hardmax())
    assert not [(r.case.id, r.reason) for r in found if r.verdict is not Verdict.PASS]


@pytest.mark.parametrize("name", LAPSES)
def test_what_only_should_not_be_is_warned_of(name: str) -> None:
    backend = Hardmax(mistake=LAPSES[name])
    hardmax = [r for r in results(backend, of_hardmax()) if r.case.op.name == "Hardmax"]
    assert {r.verdict for r in hardmax} == {Verdict.PASS, Verdict.WARN}
    assert {r.case.rule for r in hardmax if r.verdict is Verdict.WARN} == {"should"}


def test_the_engine_passes_every_case_and_refuses_nothing_by_accident() -> None:
    for result in results(connect("numpy"), deep=True):
        assert result.verdict is Verdict.PASS, (result.case.id, result.reason)
        assert "accident" not in result.reason


@pytest.mark.parametrize("address", ["numpy", "onnxruntime", "reference"])
def test_no_real_backend_is_called_unstable(address: str) -> None:
    unstable = [r.case.id for r in results(connect(address)) if r.verdict is Verdict.UNSTABLE]
    assert not unstable


# ── rejections cannot be had for nothing ──────────────────────────────────────────────────────


@pytest.mark.parametrize("stage", ["prepare", "run"])
def test_who_refuses_everything_passes_no_case_at_all(stage: str) -> None:
    found = list(results(refusing(stage=stage)))
    passed = [result.case.id for result in found if result.verdict is Verdict.PASS]
    assert not passed
    asked = [result for result in found if rejections(result.case)]
    assert {result.case.rule for result in asked} == {"must", "should", "open"}
    for result in asked:
        assert result.reason.startswith("refuses its legal twin too")
        assert result.verdict is (Verdict.WARN if result.case.rule == "should" else Verdict.ERROR)


def test_who_accepts_everything_fails_every_rejection() -> None:
    zeros = answering(lambda inputs: [np.zeros_like(inputs[0])])
    rejected = [r for r in results(zeros) if isinstance(r.case.expect, Rejected)]
    assert {result.case.rule for result in rejected} == {"must", "should"}
    for result in rejected:
        assert result.verdict is (Verdict.FAIL if result.case.rule == "must" else Verdict.WARN)
        assert result.reason.startswith("accepts an invalid model")


def test_every_rejection_has_a_twin_of_the_same_operator_that_is_no_rejection() -> None:
    for trial in trials():
        expect = trial.case.expect
        many = expect.alternatives if isinstance(expect, AnyOf) else ()
        for one in (expect, *(alternative.expect for alternative in many)):
            if isinstance(one, Rejected):
                assert one.legal.op.name == trial.case.op.name
                assert not rejections(one.legal)

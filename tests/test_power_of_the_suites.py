"""Whether the shipped suites see what they are there to see.

Every mistake of Hardmax and its sibling must be found by a `must` case of every version and type
where it does harm, and no backend that is right may be accused. `tests/cases` asks the same of the
other operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from opcheck.backends import Backend, connect
from opcheck.engine.mistakes import Mistake, Node
from opcheck.engine.ops.dml_activation_hardmax1 import mistakes as dml_activation_hardmax1
from opcheck.engine.ops.hardmax import mistakes as hardmax
from opcheck.errors import InvalidNode
from opcheck.model import AnyOf, Case, OpVersion, Rejected, Result, Verdict
from opcheck.run.lying import Lying
from opcheck.run.trial import Trial
from opcheck.suite import load
from tests.hardmax import LAPSES, LIBERTIES, Hardmax
from tests.inline import result_of
from tests.miniatures import HABITS, Fake, answering, refusing

DTYPES = {
    OpVersion("", "Hardmax", 1): ("float16", "float32", "float64"),
    OpVersion("", "Hardmax", 11): ("float16", "float32", "float64"),
    OpVersion("", "Hardmax", 13): ("bfloat16", "float16", "float32", "float64"),
    OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1): ("float16", "float32"),
}
OWN = {"Hardmax": hardmax.MISTAKES, "DML_ACTIVATION_HARDMAX1": dml_activation_hardmax1.MISTAKES}
MADE = [(op, mistake) for op in DTYPES for mistake in OWN[op.name]]


def str_of(made: OpVersion | Mistake) -> str:
    return made.name if isinstance(made, Mistake) else str(made)


def harmless(op: OpVersion, mistake: Mistake) -> set[str]:
    """The dtypes on which the mistake is argued to do no harm."""
    return {dtype for dtype in DTYPES[op] if mistake.why_harmless(op, dtype) is not None}


ARGUED = [(op, mistake) for op, mistake in MADE if harmless(op, mistake)]

#: Mistakes about what the text leaves open, by the versions in which it does. The cases that find
#: them are of rule `open`: they admit several answers, but not these.
NAN, AXIS = tuple(DTYPES), tuple(DTYPES)[:1]
UNDECIDED = {
    "last_nan": NAN,
    "starts_anew_behind_nan": NAN,
    "nan_leaves_all_rows_empty": NAN,
    "nan_passed_on": NAN,
    "axis_of_vector_as_of_a_matrix": AXIS,
    "default_axis_kept_in_range": AXIS,
    "axis_wraps": AXIS,
    "axis_clamped": AXIS,
    "out_of_range_is_last": AXIS,
    "minus_sign_ignored": AXIS,
}

#: Mistakes that accept an invalid model with an obvious answer: what only `should` not be.
OBVIOUS = {
    "bfloat16_in_every_version",
    "integers_accepted",
    "rank_0_is_a_vector",
    "repeated_axes_counted_once",
    "no_axes_are_all",
}
UNSURE = [
    (op, mistake)
    for op, mistake in MADE
    if mistake.name in OBVIOUS or op in UNDECIDED.get(mistake.name, ())
]


@cache
def trials() -> tuple[Trial, ...]:
    """All shipped cases, those of level deep last; their data is made once for all tests."""
    return tuple(map(Trial, sorted(load(), key=lambda case: case.level == "deep")))


def of_hardmax() -> list[Trial]:
    """Those of Hardmax and of its sibling."""
    return [trial for trial in trials() if trial.case.op in DTYPES]


def results(
    backend: Backend, among: Iterable[Trial] | None = None, *, deep: bool = False
) -> Iterator[Result]:
    chosen = trials() if among is None else among
    return (result_of(t, backend) for t in chosen if deep or t.case.level != "deep")


def rejections(case: Case) -> bool:
    """Whether the case expects a refusal, or admits one."""
    if isinstance(case.expect, AnyOf):
        return any(isinstance(one.expect, Rejected) for one in case.expect.alternatives)
    return isinstance(case.expect, Rejected)


# ── mistakes are found ────────────────────────────────────────────────────────────────────────


def answered(answer: Any, node: Node) -> object:
    """All that is to be seen of an answer, None for a refusal."""
    try:
        return [(out.dtype, out.shape, (out + 0).tobytes()) for out in answer(node)]
    except InvalidNode:
        return None


@cache
def shown(op: OpVersion) -> tuple[tuple[Trial, Node, object], ...]:
    """What the mistakes are made on, cases of the main levels, with the right answers."""
    mine = [trial for trial in of_hardmax() if trial.case.op == op and trial.case.level != "deep"]
    nodes = [
        Node(op, tuple(t.question.arrays(t.question.inputs)), t.question.task.attrs) for t in mine
    ]
    rights = [answered(lambda node: node.right, node) for node in nodes]
    small_first = sorted(
        zip(mine, nodes, rights, strict=True), key=lambda one: one[1].inputs[0].size
    )
    return tuple(small_first)


def seen(op: OpVersion, mistake: Mistake) -> Iterator[tuple[Case, Verdict, set[str]]]:
    """The cases that find fault with who makes the mistake, and the dtypes they are about.

    Those of a dtype that the version lacks are about all it has.
    """
    for trial, node, right in shown(op):
        if answered(mistake.answer, node) != right:
            verdict = result_of(trial, Lying(mistake)).verdict
            if verdict is not Verdict.PASS:
                dtypes = {node.dtype} & {*DTYPES[op]} or {*DTYPES[op]}
                yield trial.case, verdict, dtypes


@pytest.mark.parametrize(("op", "mistake"), MADE, ids=str_of)
def test_the_suites_find_every_mistake_in_every_version_and_type_where_it_does_harm(
    op: OpVersion, mistake: Mistake
) -> None:
    rule = "open" if op in UNDECIDED.get(mistake.name, ()) else "must"
    rule = "should" if mistake.name in OBVIOUS else rule
    missing = {*DTYPES[op]} - harmless(op, mistake)
    for case, verdict, dtypes in seen(op, mistake) if missing else ():
        if case.rule == rule:
            assert (verdict is Verdict.WARN) is (rule == "should")
            missing -= dtypes
        if not missing:
            break
    assert not missing


@pytest.mark.parametrize(("op", "mistake"), UNSURE, ids=str_of)
def test_what_a_must_case_finds_is_not_called_undecided_or_obvious(
    op: OpVersion, mistake: Mistake
) -> None:
    assert not [case.id for case, _, _ in seen(op, mistake) if case.rule == "must"]


@pytest.mark.parametrize(("op", "mistake"), ARGUED, ids=str_of)
def test_with_what_is_argued_to_be_harmless_no_case_finds_fault(
    op: OpVersion, mistake: Mistake
) -> None:
    argued = harmless(op, mistake)
    assert not [case.id for case, _, dtypes in seen(op, mistake) if dtypes <= argued]


@pytest.mark.parametrize("name", HABITS)
def test_the_suites_find_every_habit_in_every_version(name: str) -> None:
    right = Hardmax()
    backend = Fake(lambda task: HABITS[name](right.prepared(task)))
    unstable = [r for r in results(backend, of_hardmax()) if r.verdict is Verdict.UNSTABLE]
    found = {str(result.case.op) for result in unstable}
    assert found == {str(op) for op in DTYPES}


def test_the_table_of_what_is_undecided_names_mistakes_that_exist() -> None:
    names = {mistake.name for mistakes in OWN.values() for mistake in mistakes}
    assert {*UNDECIDED, *OBVIOUS} <= names
    assert {trial.case.op for trial in of_hardmax()} == set(DTYPES)


# ── who is right is not accused ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["no_mistake", *LIBERTIES])
def test_a_backend_that_is_right_passes_every_case(name: str) -> None:
    backend = LIBERTIES.get(name, Hardmax())
    found = results(backend, of_hardmax(), deep=name == "no_mistake")
    assert not [(r.case.id, r.reason) for r in found if r.verdict is not Verdict.PASS]


@pytest.mark.parametrize("name", LAPSES)
def test_what_only_should_not_be_is_warned_of(name: str) -> None:
    found = [r for r in results(LAPSES[name], of_hardmax()) if r.case.op.name == "Hardmax"]
    assert {r.verdict for r in found} == {Verdict.PASS, Verdict.WARN}
    assert {r.case.rule for r in found if r.verdict is Verdict.WARN} == {"should"}


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

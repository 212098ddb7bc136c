from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opcheck import opset
from opcheck.backends.connect import declaration
from opcheck.dtypes import DTYPES
from opcheck.engine.node import operator_of
from opcheck.errors import NotSupported, UsageError
from opcheck.execution.support import cells_of, floors, matrix, probe, support, with_all_core
from opcheck.model import LiveResult, OpVersion, Reply, Task, TimedOut, Verdict
from opcheck.model.result import Cell, Support
from tests.asking import cases_in, shipped_cases
from tests.hardmax import Hardmax
from tests.inline import Inline
from tests.miniatures import Fake, answering, refusing

SUITE = """
    op: Hardmax
    dtype: float32
    level: smoke
    attrs: {axis: 1}
    inputs: {input: [[1, 3, 3]]}
    cases:
    - name: ties
      matrix: {opset: [1, 11, 13], dtype: [float16, float32]}
      expect: {output: [[0, 1, 0]]}
    - {name: twice, opset: 13, matrix: {attrs.axis: [-1, 1]}, expect: {output: [[0, 1, 0]]}}
    - {name: later, opset: 21, dtype: float64, expect: {output: [[0, 1, 0]]}}
    - {name: core, opset: 13, dtype: float64, level: core, expect: {output: [[0, 1, 0]]}}
    - {name: should, opset: 13, dtype: float64, rule: should, expect: {output: [[0, 1, 0]]}}
    - {name: computed, opset: 13, dtype: float64}
"""
#: What Hardmax gives of the suite's input.
ANSWER = "expect: {output: [[0, 1, 0]]}"


def cell(since: int, dtype: str) -> Cell:
    return Cell(OpVersion("", "Hardmax", since), dtype)


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    return matrix(cases_in(tmp_path, SUITE))


MORE = """
    - {name: deep, opset: 13, dtype: float64, level: deep}
    - {name: invalid, opset: 13, dtype: float64, attrs: {axis: 7},
       expect: {rejected: no such axis, legal: {attrs.axis: 1}}}
    - {name: others, opset: 13, dtype: float64, tolerance: {ulp: 0}, expect: {oracle: reference}}
"""


def test_of_a_cell_that_is_required_every_core_case_is_asked(tmp_path: Path) -> None:
    cases = cases_in(tmp_path, SUITE + MORE)
    asked, double = matrix(cases), cell(13, "float64")
    assert [case.name for case in asked[double]] == ["core"]
    found = with_all_core(asked, cases)
    names = ["core", "later", "should", "computed", "invalid"]
    assert [case.name for case in found[double]] == names
    # A cell that is only asked a few models of none has core cases all the same.
    assert found.keys() == asked.keys()


def test_warnings_and_failures_are_counted_and_lenience_forgives_warnings_alone(tmp_path):
    cases = {case.name: case for case in cases_in(tmp_path, SUITE + MORE)}
    verdicts = {"core": Verdict.PASS, "later": Verdict.WARN, "should": Verdict.WARN}
    verdicts |= {"computed": Verdict.UNSTABLE, "invalid": Verdict.UNSUPPORTED}
    double = cell(13, "float64")
    results = [LiveResult(cases[name], "mine", verdict) for name, verdict in verdicts.items()]
    (found,) = support({double: [*cases.values()]}, results, {})
    assert (found.count, found.failed, found.warned) == (5, 2, 1)
    assert (found.missed(lenient=False), found.missed(lenient=True)) == (3, 2)


def test_what_no_model_can_state_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    (case,) = cases_in(tmp_path, SUITE.partition("- name: ties")[0] + "- {name: one, opset: 13}")
    excused = LiveResult(case, "mine", Verdict.UNSUPPORTED, inexpressible=True)
    here = {cell(13, "float32"): [case]}
    assert support(here, [excused], {})[0].verdict is None
    (found,) = support(here, [replace(excused, beyond=True)], {})
    assert (found.verdict, found.failed) == (Verdict.UNSUPPORTED, 1)


def probed(asked: Any, backend: Any, declares: Any = lambda task: None) -> dict[Cell, Support]:
    declaring = Inline(Fake(lambda task: declaration(declares(task)).run))
    found = probe(asked, Inline(backend), declaring)
    assert [support.cell for support in found] == [*asked]
    return {support.cell: support for support in found}


def test_there_is_a_cell_for_each_version_and_dtype_that_the_specification_allows(asked):
    older = ("float16", "float32", "float64")
    newest = ("float16", "bfloat16", "float32", "float64")
    assert [*asked] == [
        *(cell(since, dtype) for since in (1, 11) for dtype in older),
        *(cell(13, dtype) for dtype in newest),
    ]


def test_its_models_are_the_small_literal_cases_at_its_own_opset_one_of_each_name(asked):
    assert [case.id for case in asked[cell(13, "float32")]] == [
        "Hardmax/ties@opset=13,dtype=float32",
        "Hardmax/twice@attrs.axis=-1",
    ]
    # Cases of level core where there are few others.
    assert [case.id for case in asked[cell(13, "float64")]] == ["Hardmax/core"]
    assert asked[cell(13, "bfloat16")] == []


def test_one_case_of_level_deep_is_asked_where_there_are_no_others(tmp_path):
    deep = "".join(
        f"    - {{name: {name}, opset: 13, dtype: {dtype}, level: deep, {ANSWER}}}\n"
        for name, dtype in [("rare", "bfloat16"), ("rarer", "bfloat16"), ("more", "float64")]
    )
    asked = matrix(cases_in(tmp_path, SUITE + deep))
    assert [case.id for case in asked[cell(13, "bfloat16")]] == ["Hardmax/rare"]
    assert [case.id for case in asked[cell(13, "float64")]] == ["Hardmax/core"]


def test_of_all_operators_only_what_can_be_asked_is_required(asked):
    [of_all] = floors("*@13", asked)
    assert of_all.cells == {cell(13, dtype) for dtype in ("float16", "float32", "float64")}
    [named] = floors("Hardmax@13:bfloat16", asked)
    assert named.cells == {cell(13, "bfloat16")}


def test_a_cell_that_asks_for_refusals_alone_is_not_asked(tmp_path):
    rejected = "expect: {rejected: out of range, legal: {attrs.axis: 1}}"
    refused = f"- {{name: far, opset: 13, attrs: {{axis: 7}}, {rejected}}}"
    head, _, cases = SUITE.partition("    cases:\n")
    assert {*cells_of(cases_in(tmp_path, f"{head}    cases:\n    {refused}\n{cases}"))} == {
        *cells_of(cases_in(tmp_path, SUITE))
    }
    with pytest.raises(UsageError, match="none of 1 cases"):
        cells_of(cases_in(tmp_path, f"{head}    cases:\n    {refused}\n"))


def test_the_shipped_suites_have_models_for_every_version_and_dtype() -> None:
    found = matrix(shipped_cases())
    for domain, name in {(cell.op.domain, cell.op.name) for cell in found}:
        for schema in opset.versions(domain, name).values():
            operator = operator_of(schema.op)
            for dtype in DTYPES.values():
                allowed = dtype.text in schema.typed.types
                if name.startswith("Random"):
                    continue  # whose literals are all of rule `should`
                assert bool(found.get(Cell(schema.op, dtype.name))) is (allowed and bool(operator))


def test_a_right_backend_is_right_in_every_cell_that_has_models(asked: Any) -> None:
    found = probed(asked, Hardmax())
    for where, one in found.items():
        assert one.verdict == (Verdict.PASS if asked[where] else None)
        assert one.works is bool(asked[where])
        assert one.share == one.count == len(asked[where])


@pytest.mark.parametrize(
    ("backend", "verdict"),
    [
        (answering(lambda inputs: [inputs[0] * 0]), Verdict.FAIL),
        (refusing(), Verdict.ERROR),
        (refusing(NotSupported("not here")), Verdict.UNSUPPORTED),
    ],
)
def test_wrong_refused_and_unsupported_are_told_apart(asked, backend, verdict, wording):
    found = probed(asked, backend)[cell(1, "float16")]
    assert (found.verdict, found.works) == (verdict, False)
    assert found.reason == wording
    assert found.case == "Hardmax/ties@opset=1,dtype=float16"


@dataclass(frozen=True)
class _Partly:
    """Right, but for what `happens` to models whose axis is counted from the back."""

    happens: Any

    def __call__(self, task: Task) -> Any:
        if task.attrs["axis"] == -1:
            return self.happens(task)
        return Hardmax().prepare(task).run


def _declines(task: Task) -> Any:
    raise NotSupported("axis")


@pytest.mark.parametrize(
    ("happens", "verdict"),
    [
        (_declines, Verdict.UNSUPPORTED),
        (lambda task: lambda inputs: [np.zeros_like(inputs[0])], Verdict.FAIL),
    ],
)
def test_of_several_models_the_worst_counts_and_how_many_share_its_fate(asked, happens, verdict):
    found = probed(asked, Fake(_Partly(happens)))[cell(13, "float32")]
    assert (found.verdict, found.share, found.count, found.works) == (verdict, 1, 2, True)
    assert found.case == "Hardmax/twice@attrs.axis=-1"


def test_a_model_that_is_not_supported_counts_more_than_a_warning(asked):
    where = cell(13, "float32")
    verdicts = zip(asked[where], (Verdict.WARN, Verdict.UNSUPPORTED), strict=True)
    found = support(asked, [LiveResult(case, "mine", one) for case, one in verdicts], {})
    assert next(s.verdict for s in found if s.cell == where) is Verdict.UNSUPPORTED


def test_a_declaration_stands_beside_what_was_found(asked: Any) -> None:
    def declares(task: Task) -> bool | None:
        return {"float16": True, "float32": False}.get(task.inputs[0].dtype.name)

    found = probed(asked, Fake(_only_float32), declares)
    half, single = found[cell(11, "float16")], found[cell(11, "float32")]
    assert (half.declared, half.is_declared_but_failing) == (True, True)
    assert (single.declared, single.is_undeclared_but_working) == (False, True)
    # Nothing could be asked.
    assert found[cell(13, "bfloat16")].declared is None


def _only_float32(task: Task) -> Any:
    if task.inputs[0].dtype.name != "float32":
        raise NotSupported("float32 only")
    return Hardmax().prepare(task).run


def test_a_declaration_that_fails_is_none(asked: Any) -> None:
    def declares(task: Task) -> bool:
        raise RuntimeError("no device")

    found = probed(asked, Hardmax(), declares)
    assert {support.declared for support in found.values()} == {None}
    assert found[cell(1, "float16")].verdict is Verdict.PASS


class _Hanging(Inline):
    """Never answers in time."""

    def replies(self, readable: Any) -> Any:
        yield from ((ticket, Reply(TimedOut(1.0))) for ticket, _ in super().replies(readable))


def test_a_declaration_that_hangs_is_not_waited_for_again_and_again(asked: Any) -> None:
    declaring = _Hanging(answering(lambda inputs: [np.array(1)]))
    assert {support.declared for support in probe(asked, Inline(refusing()), declaring)} == {None}
    assert declaring._asked == 1

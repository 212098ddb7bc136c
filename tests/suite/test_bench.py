"""What `opcheck bench` times stands in a list of its own."""

from pathlib import Path

import pytest

from opcheck.errors import CaseFileError
from opcheck.execution.bench import why_not
from opcheck.suite import load, load_bench
from tests.wording import Wording

HEAD = "op: Hardmax\nopset: 13\ndtype: float32\nmatrix: {attrs.axis: [0, 1]}\n"
CASE = "- name: {}\n  inputs: {{input: {{shape: [2, 3], normal: [0, 1]}}}}\n"
BOTH = f"{HEAD}cases:\n{CASE.format('judged')}bench:\n{CASE.format('timed')}"


def file(folder: Path, text: str) -> Path:
    path = folder / "f.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def names(cases: object) -> list[str]:
    return [case.id for case in cases]  # type: ignore[attr-defined]


def test_both_lists_share_what_the_file_states(tmp_path: Path) -> None:
    path = file(tmp_path, BOTH)
    ends = ["@attrs.axis=0", "@attrs.axis=1"]
    assert names(load([path])) == [f"Hardmax/judged{end}" for end in ends]
    assert names(load_bench([path])) == [f"Hardmax/timed{end}" for end in ends]


def test_a_file_may_hold_nothing_to_be_judged(tmp_path: Path) -> None:
    path = file(tmp_path, f"{HEAD}bench:\n{CASE.format('timed')}")
    assert load([path]) == ()
    assert len(load_bench([path])) == 2


def test_of_a_file_without_that_list_the_cases_are_timed(tmp_path: Path) -> None:
    path = file(tmp_path, f"{HEAD}cases:\n{CASE.format('judged')}")
    assert names(load_bench([path])) == names(load([path]))


def test_a_name_may_stand_in_both(tmp_path: Path) -> None:
    path = file(tmp_path, BOTH.replace("timed", "judged"))
    assert names(load_bench([path])) == names(load([path]))


def test_the_mistakes_of_both_are_told_whichever_is_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, BOTH.replace("normal", "normale"))
    for loaded in (load, load_bench):
        with pytest.raises(CaseFileError) as caught:
            loaded([path])
        assert [problem.line for problem in caught.value.problems] == [7, 10]


@pytest.mark.gate
def test_the_shipped_lists_can_all_be_timed_and_are_of_every_size() -> None:
    cases = load_bench()
    plain = {"AveragePool", "Conv", "GlobalAveragePool", "LayerNormalization", "MatMul", "MaxPool"}
    assert {case.op.name for case in cases} == {"Hardmax", "LpPool", "Softmax", *plain}
    assert [why_not(case) for case in cases if why_not(case)] == []
    for op in ("Hardmax", "LpPool", "Softmax"):
        sizes = [sum(s.nbytes for s in case.inputs) for case in cases if case.op.name == op]
        assert min(sizes) < 1 << 12
        assert any(1 << 17 < size < 1 << 23 for size in sizes)
        assert max(sizes) > 1 << 24


@pytest.mark.parametrize(
    "field",
    [
        "expect: {rejected: no, legal: {attrs.axis: 1}}",
        "inputs: {input: {shape: [0, 3], constant: 0}}",
    ],
)
def test_what_cannot_be_timed_says_why(tmp_path: Path, field: str, wording: Wording) -> None:
    entry = CASE.format("a") if "inputs" not in field else "- name: a\n"
    axis = "attrs: {axis: 7}" if "expect" in field else "attrs: {axis: 0}"
    text = f"{HEAD.replace('matrix: {attrs.axis: [0, 1]}', axis)}bench:\n{entry}  {field}\n"
    [case] = load_bench([file(tmp_path, text)])
    assert why_not(case) == wording

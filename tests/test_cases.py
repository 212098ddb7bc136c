"""The shipped suites: what every case in them owes the reader, and what they cover."""

import re
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from opcheck import backends, opset
from opcheck.backends import attempt
from opcheck.engine import dtypes_of
from opcheck.execution.expected import question
from opcheck.model import (
    AnyOf,
    Array,
    Case,
    Computed,
    Declined,
    Fill,
    Given,
    OpVersion,
    Produced,
    Raised,
    Rejected,
    Values,
    Verdict,
)
from opcheck.reading import shipped_folder
from opcheck.suite import load, materialize
from opcheck.suite.load import shipped_suites
from tests.asking import judged_versions, shipped_cases
from tests.inline import judged
from tests.node_tests import node_tests_of

ENGINE = backends.connect("numpy")
README = (shipped_folder("_cases", "cases") / "README.md").read_text(encoding="utf-8")

#: Every version that the engine has, with each of its types.
KERNELS = [(op, dtype) for op in judged_versions() for dtype in dtypes_of(op)]


def asked(case: Case) -> object:
    """All that a backend gets to see of a case."""
    made = question(case)
    task = made.task
    arrays = [*made.inputs, *task.initializers.values()]
    data = tuple((array.dtype.name, array.shape, array.tobytes()) for array in arrays)
    attrs = tuple(sorted((name, repr(value)) for name, value in case.attrs.items()))
    return case.opset, attrs, task.slots, data, *map(tuple, (task.initializers, task.outputs))


def told(cases: list[Case]) -> list[str]:
    return [f"{case.source}: {case.id}" for case in cases]


def test_every_file_has_cases_and_loads_alone():
    folder = shipped_suites()
    files = {f"cases/{file.relative_to(folder).as_posix()}" for file in folder.rglob("*.yaml")}
    assert {case.source.file for case in shipped_cases()} == files
    assert all(case.source.shipped for case in shipped_cases())
    name = "cases/onnx/hardmax.yaml"
    alone = [case.id for case in load([folder / "onnx" / "hardmax.yaml"])]
    assert alone == [case.id for case in shipped_cases() if case.source.file == name]


def test_ids_differ_by_more_than_capitals():
    ids = [case.id.lower() for case in shipped_cases()]
    assert len(set(ids)) == len(ids)


def test_ids_become_names_of_folders():
    folders = [case.id.replace("/", ".") for case in shipped_cases()]
    assert all(re.fullmatch(r"[A-Za-z0-9_.@=,#+-]{1,200}", folder) for folder in folders)
    assert len({folder.lower() for folder in folders}) == len(folders)


def test_every_case_quotes_a_clause():
    assert told([case for case in shipped_cases() if len(case.clause.split()) < 3]) == []


@pytest.mark.gate
def test_no_name_asks_the_same_twice():
    seen: dict[object, list[Case]] = defaultdict(list)
    for case in shipped_cases():
        seen[case.op.domain, case.op.name, case.name, asked(case)].append(case)
    assert [told(cases) for cases in seen.values() if len(cases) > 1] == []


def test_the_engine_agrees_with_every_literal():
    stated = [case for case in shipped_cases() if isinstance(case.expect, Values)]
    found = [*judged(stated, [ENGINE])]
    assert not any(result.self_check for result in found)
    assert told([result.case for result in found if result.verdict is not Verdict.PASS]) == []


def test_literals_of_hardmax_are_zeros_and_ones():
    for case in shipped_cases():
        if isinstance(case.expect, Values) and "hardmax" in case.op.name.lower():
            [output] = case.expect.outputs
            assert set(np.unique(materialize(output).astype(np.float64))) <= {0.0, 1.0}, case.id


@pytest.mark.gate
def test_the_engine_computes_what_has_no_literal():
    # Those of the core are computed in the first run of `cli/test_shipped.py`.
    unseen = [case for case in shipped_cases() if case.level == "deep"]
    computed = [case for case in unseen if isinstance(case.expect, Computed)]
    assert computed
    found = list(judged(computed, [ENGINE]))
    assert {result.verdict for result in found} == {Verdict.PASS}
    assert all(result.self_check for result in found)


def refusals() -> list[tuple[Case, Rejected]]:
    """Every rejection that is the only right answer."""
    return [(case, case.expect) for case in shipped_cases() if isinstance(case.expect, Rejected)]


def test_the_engine_refuses_what_must_be_rejected_and_takes_the_legal_twin():
    assert len(refusals()) >= 20
    for case, expect in refusals():
        outcome = attempt(ENGINE, question(case))
        assert isinstance(outcome, Raised), case.id
        assert (outcome.kind, outcome.documented) == ("InvalidNode", True), case.id
        assert isinstance(attempt(ENGINE, question(expect.legal)), Produced), case.id


def test_a_legal_twin_differs_in_something():
    alike = [case for case, expect in refusals() if asked(case) == asked(expect.legal)]
    assert told(alike) == []
    assert all(case.op.name == expect.legal.op.name for case, expect in refusals())


def test_the_engine_gives_an_admitted_answer_where_the_text_is_open():
    undecided = [case for case in shipped_cases() if isinstance(case.expect, AnyOf)]
    assert {case.rule for case in undecided} == {"open"}
    found = list(judged(undecided, [ENGINE]))
    assert told([result.case for result in found if result.verdict is not Verdict.PASS]) == []
    assert all(result.alternative for result in found)


def test_no_two_alternatives_are_the_same_answer():
    """What fits two of them would be reported under the name of the first."""
    for case in shipped_cases():
        if isinstance(case.expect, AnyOf):
            given: list[tuple[Array, ...]] = []
            for alternative in case.expect.alternatives:
                if isinstance(alternative.expect, Values):
                    given.append(tuple(materialize(o) for o in alternative.expect.outputs))
            bits = [tuple((array.shape, array.tobytes()) for array in answer) for answer in given]
            assert len(set(bits)) == len(bits), case.id


def test_every_version_and_type_has_literals():
    literals: dict[object, list[object]] = defaultdict(list)
    for case in shipped_cases():
        if isinstance(case.expect, Values) and case.dtype is not None:
            literals[case.op, case.dtype.name].append((case.name, case.row))
    poor = [k for k in KERNELS if len(literals[k]) < 3 or len({*literals[k]}) < 2]
    assert (len(KERNELS) > 300, poor) == (True, [])


def test_every_version_has_a_literal_that_is_core():
    core = {c.op for c in shipped_cases() if c.level != "deep" and isinstance(c.expect, Values)}
    assert {op for op, _ in KERNELS} - core == set()


def test_every_operator_has_a_handful_of_literals_that_are_smoke():
    count = Counter(
        c.op.name for c in shipped_cases() if c.level == "smoke" and isinstance(c.expect, Values)
    )
    assert {op.name for op, _ in KERNELS} - count.keys() == set()
    assert sum(count.values()) < 15 * len(count)


def test_every_suite_is_about_versions_the_engine_has():
    cells = {}
    for case in shipped_cases():
        schema = opset.describe(case.op.domain, case.op.name, case.opset)
        assert schema is not None
        assert schema.op == case.op
        cells.setdefault((case.op, case.opset, *(str(spec.dtype) for spec in case.inputs)), case)
    # What the engine has is a matter of version and types.
    for case in cells.values():
        assert not isinstance(attempt(ENGINE, question(case)), Declined), case.id


#: ONNX's own tests of Hardmax and Softmax, the axis of each, and one that each has for itself.
NODE_TESTS = {
    "axis_0": 0,
    "axis_1": 1,
    "axis_2": 2,
    "default_axis": None,
    "example": None,
    "negative_axis": -1,
}
ITS_OWN = {"Hardmax": "one_hot", "Softmax": "large_number"}


def of_13(op: str, axis: int | None) -> list[Case]:
    return [
        case
        for case in shipped_cases()
        if (case.op, case.opset, case.attrs.get("axis")) == (OpVersion("", op, 13), 13, axis)
    ]


@pytest.mark.parametrize("op", ITS_OWN)
def test_the_node_tests_are_the_seven(op):
    node_tests = {
        name.removeprefix(f"test_{op.lower()}_"): t for name, t in node_tests_of(op).items()
    }
    axes = {**NODE_TESTS, ITS_OWN[op]: None}
    assert node_tests.keys() == axes.keys()
    for name, axis in axes.items():
        [node] = node_tests[name].model.graph.node
        assert {a.name: a.i for a in node.attribute} == ({} if axis is None else {"axis": axis})


@pytest.mark.parametrize("op", ITS_OWN)
def test_the_small_node_tests_are_there_literally(op):
    for name in ("example", ITS_OWN[op]):
        [([given], [wanted])] = node_tests_of(op)[f"test_{op.lower()}_{name}"].data_sets
        same = [
            case
            for case in of_13(op, None)
            if isinstance(case.inputs[0].content, Given)
            and (op == "Hardmax" or str(case.dtype) == "float32")
            and np.array_equal(case.inputs[0].content.values, given)
        ]
        assert same
        for case in same:
            assert isinstance(case.expect, Values)
            answer = materialize(case.expect.outputs[0]).astype(wanted.dtype)
            np.testing.assert_allclose(answer, wanted, rtol=3e-7 if op == "Softmax" else 0)


@pytest.mark.parametrize("op", ITS_OWN)
def test_the_random_node_tests_are_there_by_shape_distribution_and_axis(op):
    for name, axis in NODE_TESTS.items():
        if "axis" in name:
            [([given], _)] = node_tests_of(op)[f"test_{op.lower()}_{name}"].data_sets
            [case] = [case for case in of_13(op, axis) if case.name == "node_tests"]
            assert case.inputs[0].shape == given.shape
            assert isinstance(case.inputs[0].content, Fill)
            assert (case.inputs[0].content.kind, case.inputs[0].content.args) == ("normal", (0, 1))


def test_every_axis_meets_every_rank():
    """Hardmax-13 along each axis, from either end, of tensors of rank 1 to 6."""
    met = {
        (len(case.inputs[0].shape), case.attrs.get("axis"))
        for case in shipped_cases()
        if case.op == OpVersion("", "Hardmax", 13) and not isinstance(case.expect, Rejected)
    }
    few = [(rank, axis) for rank, axis in product(range(1, 5), range(4)) if axis < rank]
    assert set(few) <= met
    assert {(rank, -1) for rank in range(1, 7)} <= met
    assert {rank for rank, _ in met} >= {1, 2, 3, 4, 5, 6}


def test_the_example_of_the_readme_is_a_case_file(tmp_path):
    [example] = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    file = tmp_path / "example.yaml"
    file.write_text(example, encoding="utf-8")
    cases = load([file])
    assert len(cases) == 12
    assert "2 × 2 × 2 + 2 × 2 = 12 concrete cases" in README
    assert "Hardmax/first_of_ties@opset=13,dtype=float16#axis_0" in {case.id for case in cases}
    assert {result.verdict for result in judged(cases, [ENGINE])} == {Verdict.PASS}

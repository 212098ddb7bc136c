"""The shipped suites: what every case in them owes the reader, and what they cover."""

import os
import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace

import pytest

from opcheck import backends
from opcheck.analysis import reds
from opcheck.diagnose.suspects import cell_of
from opcheck.engine import dtypes_of
from opcheck.engine.operators import every
from opcheck.errors import NotExpressible
from opcheck.execution.expected import question
from opcheck.graph import model_of
from opcheck.graph.test_data import invalid
from opcheck.known import shipped_ledgers
from opcheck.model import AnyOf, Array, Case, Computed, Rejected, Values, Verdict
from opcheck.reading import Kind, shipped_files, shipped_folder, shipped_name
from opcheck.suite import load, materialize
from opcheck.suite.load import shipped_suites
from tests.asking import IS_GATE, elements, judged_versions, kills, shipped_cases
from tests.conftest import PARTS, TURNS
from tests.inline import judged
from tests.node_tests import needs_known_releases

pytestmark = pytest.mark.reads_all_suites

ENGINE = backends.connect("numpy")
#: Asked once each, as it repeats its answers.
ONCE = replace(ENGINE, info=replace(ENGINE.info, repeatable=False))
README = (shipped_folder("cases") / "README.md").read_text(encoding="utf-8")

#: Every version that the engine has, with each of its types.
KERNELS = [(op, dtype) for op in judged_versions() for dtype in dtypes_of(op)]


def asked(case: Case) -> object:
    """All that a backend gets to see of a case."""
    made = question(case)
    task = made.task
    arrays = [*made.inputs, *task.initializers.values()]
    # The bytes of texts are addresses.
    data = tuple(
        (a.dtype.name, a.shape, repr(a.tolist()) if a.dtype == object else a.tobytes())
        for a in arrays
    )
    attrs = tuple(sorted((name, repr(value)) for name, value in case.attrs.items()))
    # That of a sequence which has no tensors, and of nothing else.
    dtype = None if arrays else task.dtype
    own = tuple(task.initializers), tuple(task.outputs)
    return (case.opset, attrs, task.slots, data, dtype, *own)


def told(cases: list[Case]) -> list[str]:
    return [f"{case.source}: {case.id}" for case in cases]


@pytest.mark.gate
@pytest.mark.usefixtures("each_gate")
def test_every_file_has_cases_and_loads_alone():
    files = {*map(shipped_name, shipped_files(Kind.CASES))}
    assert {case.source.file for case in shipped_cases()} == files
    assert all(case.source.shipped for case in shipped_cases())
    name = "cases/onnx/softmax.hardmax.yaml"
    alone = [case.id for case in load([shipped_suites() / "onnx" / "softmax.hardmax.yaml"])]
    assert alone == [case.id for case in shipped_cases() if case.source.file == name]


def test_every_case_quotes_a_clause():
    items = ("* BMP", "* PNG", "* TIFF")  # of a list of formats
    short = [case for case in shipped_cases() if len(case.clause.split()) < 3]
    assert told([case for case in short if case.clause not in items]) == []


@pytest.mark.gate
def test_no_name_asks_the_same_twice():
    alike: dict[object, list[Case]] = defaultdict(list)
    for case in shipped_cases():
        inputs = sorted(f"{spec.dtype} {spec.shape}" for spec in case.inputs)
        alike[case.op, case.name, case.opset, repr(sorted(case.attrs.items())), *inputs].append(
            case
        )
    # Data need not be made of who is alone.
    seen: dict[object, list[Case]] = defaultdict(list)
    for key, those in alike.items():
        for case in those if len(those) > 1 else ():
            seen[key, asked(case)].append(case)
    assert [told(cases) for cases in seen.values() if len(cases) > 1] == []


@pytest.mark.parametrize("deep", [False, pytest.param(True, marks=pytest.mark.gate)])
def test_the_engine_is_right_in_every_case(deep, of_part):
    """Of the core, what has an answer of its own to be held against; the first run has the rest.

    Where that run is not whole, one version and type of each case is asked; a gate asks a third.
    """
    asked = [c for c in shipped_cases() if (c.level == "deep") is deep]
    if deep:
        asked = of_part(asked)
    elif os.environ.get("OPCHECK_PART") == "whole":
        asked = [case for case in asked if not isinstance(case.expect, Computed | Values)]
    else:
        stated = (case for case in asked if not isinstance(case.expect, Computed))
        each = {(c.op.name, c.name, c.row, type(c.expect)): c for c in stated}
        asked = of_part([*each.values()], parts=TURNS)
    found = [*judged(asked, [ONCE])]
    wrong = [one for one in found if one.verdict is not Verdict.PASS or "accident" in one.reason]
    assert [(one.case.id, one.reason) for one in wrong] == []
    assert all(one.self_check is isinstance(one.case.expect, Computed) for one in found)
    assert all(bool(one.alternative) is isinstance(one.case.expect, AnyOf) for one in found)
    assert {one.case.rule for one in found} == {"must", "should", "open"}


@needs_known_releases
def test_another_engine_agrees_with_what_the_engine_computes(of_part):
    """A small case of each name, or of a part's; the gate's run asks for the others."""
    computed = (case for case in shipped_cases() if isinstance(case.expect, Computed))
    small = (case for case in computed if case.level != "deep" and elements(case) <= 500)
    asked = {(case.op.name, case.name): case for case in small if not kills("onnxruntime", case)}
    mine = of_part([*asked.values()], parts=PARTS // 2)
    found = [*judged(mine, [backends.connect("onnxruntime")], shipped_ledgers())]
    assert [(one.case.id, one.reason) for one in found if one.verdict in reds()] == []
    least = {"": 70, "whole": 200}.get(os.environ.get("OPCHECK_PART", ""), 20)
    assert sum(one.verdict is Verdict.PASS for one in found) > len(found) / 2 > least


def test_the_engine_repeats_its_answers_and_leaves_its_inputs_as_they_are():
    """Asked again, and about other data in between; a whole first run asks it of the core."""
    stated = (case for case in shipped_cases() if isinstance(case.expect, Values))
    core = {case.op.name: case for case in stated if case.level != "deep"}
    assert {result.verdict for result in judged(core.values(), [ENGINE])} == {Verdict.PASS}


@pytest.mark.gate
def test_a_legal_twin_differs_in_something():
    alike = []
    for case in shipped_cases():
        several = case.expect.alternatives if isinstance(case.expect, AnyOf) else ()
        for expect in (case.expect, *(one.expect for one in several)):
            if isinstance(expect, Rejected):
                assert case.op.name == expect.legal.op.name
                assert not isinstance(expect.legal.expect, Rejected | AnyOf)
                alike += [case] if asked(case) == asked(expect.legal) else []
    assert told(alike) == []


#: Of the zero that these give, or of their order, the text says nothing, or they compute it.
EITHER_ZERO = """
    Bernoulli Binarizer Clip GlobalMaxPool Hardmax Imputer LabelEncoder Max MaxPool MaxRoiPool Min
    DML_ACTIVATION_HARDMAX DML_ACTIVATION_HARDMAX1 RandomNormalLike RandomUniformLike ReduceMax
    DML_MAX_POOLING DML_MAX_POOLING1 DML_MAX_POOLING2 DML_ELEMENT_WISE_MAX DML_ELEMENT_WISE_MIN
    DML_ACTIVATION_RELU DML_ELEMENT_WISE_CLIP DML_ELEMENT_WISE_SIGN DML_ELEMENT_WISE_THRESHOLD
    OneHotEncoder ReduceMin Relu SequenceEmpty Sign TopK Unique
    """.split()


@pytest.mark.gate
def test_models_of_legal_nodes_are_valid_for_onnx_s_checker(of_part):
    """A backend may ask it, and is not to be accused for that."""
    one_each = {(case.op, case.name): case for case in shipped_cases()}
    refused = []
    for case in of_part([*one_each.values()]):
        rejected = case.expect.rejection
        with suppress(NotExpressible):
            found = invalid(model_of(question(rejected.legal if rejected else case).task))
            refused += [f"{case.id}: {found}"] if found else []
    # Answers of several ranks are right.
    several = ("GlobalLpPool/version_1_of_other_ranks",)
    assert [one for one in refused if not one.startswith(several)] == []


def test_whatever_moves_elements_is_asked_for_the_signs_of_zeros():
    moving = {one.name for one in every() if one.exact} - {*EITHER_ZERO}
    cases = [case for case in shipped_cases() if case.op.name in moving and case.dtype]
    cases = [case for case in cases if isinstance(case.expect, Computed | Values)]
    cases = [case for case in cases if case.dtype.kind == "float"]
    given = [case for case in cases if any(one.dtype == case.dtype for one in case.outputs)]
    asked = {case.op.name for case in given if "signed_zeros=True" in repr(case.tolerance)}
    assert asked == {case.op.name for case in given}


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
        dtype = case.dtype.name if case.dtype else cell_of(case).dtype
        if isinstance(case.expect, Values) and dtype:
            literals[case.op, dtype].append((case.name, case.row))
    # There is but one question about a type of SequenceEmpty.
    asked = [(op, dtype) for op, dtype in KERNELS if op.name != "SequenceEmpty"]
    poor = [k for k in asked if len(literals[k]) < 3 or len({*literals[k]}) < 2]
    assert all(literals[k] for k in KERNELS)
    assert (len(KERNELS) > (300 if IS_GATE else 100), poor) == (True, [])


def test_every_version_has_a_literal_that_is_core():
    core = {c.op for c in shipped_cases() if c.level != "deep" and isinstance(c.expect, Values)}
    assert {op for op, _ in KERNELS} - core == set()


def test_every_operator_has_a_handful_of_literals_that_are_smoke():
    count = Counter(
        c.op.name for c in shipped_cases() if c.level == "smoke" and isinstance(c.expect, Values)
    )
    # Of the other operators that draw, only what is hardly drawn is known beforehand.
    drawn = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
    assert {op.name for op, _ in KERNELS} - count.keys() == drawn & {op.name for op, _ in KERNELS}
    assert sum(count.values()) < 15 * len(count)


def test_the_example_of_the_readme_is_a_case_file(tmp_path):
    [example] = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    file = tmp_path / "example.yaml"
    file.write_text(example, encoding="utf-8")
    cases = load([file])
    assert len(cases) == 12
    assert "2 × 2 × 2 + 2 × 2 = 12 concrete cases" in README
    assert "Hardmax/first_of_ties@opset=13,dtype=float16#axis_0" in {case.id for case in cases}
    assert {result.verdict for result in judged(cases, [ENGINE])} == {Verdict.PASS}

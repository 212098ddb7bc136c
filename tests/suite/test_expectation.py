from pathlib import Path
from typing import Any

import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import AnyOf, Computed, Golden, Rejected, Tolerance, Values
from opcheck.opset import Parameter, missing, place, slots, spelt
from tests.expecting import of_type
from tests.suite.conftest import Cases, Mistake
from tests.wording import lines_with

HARDMAX = """
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 0}
inputs: {input: [1, 2]}
cases:
- name: a
"""
NORM = """
domain: ai.onnx.ml
op: SVMRegressor
opset: 1
dtype: float32
tolerance: {ulp: 0}
inputs: {X: [1, 2]}
cases:
- name: a
"""
LEGAL = "legal: {attrs.axis: -1}"
WORDS = "or agree, any_of, computed, golden, oracle, rejected"
NO_OUTPUT = f"is not an output of Hardmax-13 (has: output; {WORDS}) (did you mean"
PATHS = "(a path is opset, dtype, attrs.NAME[.KEY] or inputs.NAME[.KEY])"
SHAPE = "must be a mapping, got a list (by the name of the output: {output: [1, 0]})"
ANSWERS = "[{as: x, output: [0, 1]}, {as: y, output: [1, 0]}]"
ZEROS, SAME = "{shape: [2], constant: 0}", "two answers are the same"


@pytest.mark.parametrize(
    ("legal", "changed"),
    [
        ("attrs.axis: -1", {"attrs": {"axis": -1}}),
        ("dtype: float64", {"dtype": DTYPES["float64"]}),
        ("opset: 11", {"opset": 11}),
    ],
)
def test_one_value_is_changed_by_any_path(cases: Cases, legal: str, changed: Any) -> None:
    (case,) = cases(
        f"{HARDMAX}  rule: should\n  timeout: 60.5\n  expect: {{rejected: x, legal: {{{legal}}}}}"
    )
    twin = of_type(Rejected, case.expect).legal
    assert (case.expect.reason, twin.id, twin.expect) == ("x", "Hardmax/a~legal", Computed())
    assert case.timeout == 60.5
    for field in ("attrs", "dtype", "opset", "timeout"):
        assert getattr(twin, field) == changed.get(field, getattr(case, field))


def test_a_legal_twin_of_an_operator_without_kernel_needs_no_answer(cases: Cases) -> None:
    fields = "dtype: bool, inputs: {X: {shape: [2], constant: 1}}"
    expect = "expect: {rejected: x, legal: {dtype: float32}}"
    (case,) = cases(NORM.replace("- name: a", f"- {{name: a, {fields}, {expect}}}"))
    assert of_type(Rejected, case.expect).legal.dtype is DTYPES["float32"]


def test_answers_have_names_and_each_is_complete(cases: Cases) -> None:
    (case,) = cases(f"""{HARDMAX}
  rule: open
  expect:
    any_of:
    - {{as: computed}}
    - {{as: first, output: [1, 0]}}
    - {{as: refused, rejected: why, {LEGAL}}}
""")
    assert isinstance(case.expect, AnyOf)
    assert [(a.name, type(a.expect)) for a in case.expect.alternatives] == [
        ("computed", Computed),
        ("first", Values),
        ("refused", Rejected),
    ]
    assert [output.name for output in case.outputs] == ["output"]


def test_golden_files_lie_beside_the_case_file(cases: Cases, tmp_path: Path) -> None:
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "output_0.pb").touch()
    (case,) = cases(f"{HARDMAX}  expect: {{golden: gold}}")
    assert case.expect == Golden((tmp_path / "gold").resolve())


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{»outptu: [1, 0]}", f"'outptu' {NO_OUTPUT} 'output'?)"),
        ("{»rejectd: x}", f"'rejectd' {NO_OUTPUT} 'rejected'?)"),
        ("»{}", "expect: must hold at least 1"),
        ("»[1, 0]", f"expect: {SHAPE}"),
        ("{output: »null}", "output: null is not a value of float32"),
        ("{output: [1, »x]}", "output: 'x' is not a value of float32"),
        (
            "{output: {value: [1], dtype: »float16}}",
            "output: Hardmax-13 gives float32 here, not float16",
        ),
        ("»{rejected: x}", "expect: 'legal' is missing"),
        ("{rejected: »'', legal: {attrs.axis: 0}}", "expect.rejected: must not be empty, got ''"),
        ("{rejected: x, »leagl: {attrs.axis: 0}}", "unknown key 'leagl' (did you mean 'legal'?)"),
        (
            "{rejected: x, »output: [1], legal: {attrs.axis: 0}}",
            "unknown key 'output' (known: rejected, legal, asked)",
        ),
        ("{rejected: x, »legal: {attrs.axis: 0}}", "legal changes nothing"),
        ("{golden: »nowhere}", "'nowhere' does not exist"),
        ("{golden: »../..}", "'../..' lies outside the folder of the case file"),
        ("{golden: »f.yaml}", "'output_0.pb' does not exist"),
        ("{golden: »3}", "expect.golden: must be a text, got 3"),
        ("{»oracle: reference, agree: true}", "unknown key 'oracle' (known: agree)"),
        ("{agree: »false}", "expect.agree: must be true, or another answer be stated"),
        ("{oracle: »3}", "expect.oracle: must be a text, got 3"),
        ("{oracle: »''}", "expect.oracle: must not be empty, got ''"),
        *(
            (f'{{oracle: »"a{space}b"}}', "expect.oracle: must be one line, without tabs")
            for space in ("\\n", "\\t")
        ),
        ("{computed: [»outptu]}", f"'outptu' {NO_OUTPUT} 'output'?)"),
        ("{computed: »[]}", "expect.computed: must hold at least 1"),
        ("{computed: »[output, output]}", "expect.computed: names 'output' twice"),
        ("{golden: x, »gold: y}", "unknown key 'gold' (did you mean 'golden'?)"),
        # A change that makes a legal twin.
        ("{rejected: x, legal: »{}}", "expect.legal: must hold at least 1"),
        (
            "{rejected: x, legal: »{attrs.axis: 1, dtype: float64}}",
            "expect.legal: must hold at most 1",
        ),
        ("{rejected: x, legal: »3}", "expect.legal: must be a mapping, got 3"),
        ("{rejected: x, legal: {»axis: 0}}", f"legal: 'axis' is not a path {PATHS}"),
        (
            "{rejected: x, legal: {»inputs.input.shape: [3]}}",
            "legal: 'inputs.input.shape' leads into a literal",
        ),
    ],
)
def test_an_expectation_that_makes_no_sense_is_refused_at_its_place(mistake, expect, message):
    mistake(f"{HARDMAX}  expect: {expect}\n", message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "attrs.axes: »0",
            "'axes' is not an attribute of Hardmax-13 (has: axis) (did you mean 'axis'?)",
        ),
        ("attrs.axis: »x", "attribute axis must be a whole number, got 'x'"),
        (
            "dtype: »int8",
            "input: Hardmax-13 does not allow int8 (allowed: bfloat16, float16, float32, float64)",
        ),
        ("opset: »13+", "opset: must be a whole number, got '13+' (several: matrix: {opset: all})"),
    ],
)
def test_a_legal_twin_that_is_not_legal_is_refused_at_its_place(mistake, change, message):
    text = f"{HARDMAX}  expect: {{rejected: x, legal: {{{change}}}}}\n"
    mistake(text, f"the legal twin is not legal: {message}")


def test_rule_open_and_several_answers_go_together(mistake: Mistake) -> None:
    mistake(f"{HARDMAX}  »rule: open\n", "rule: open needs expect.any_of, the answers admitted")
    mistake(f"{HARDMAX}  »expect: {{any_of: {ANSWERS}}}\n", "any_of needs rule: open")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("»[]", "expect.any_of: must hold at least 2"),
        ("»[{as: x, output: [0, 1]}]", "expect.any_of: must hold at least 2"),
        ("[»{output: [1, 0]}, {as: x}]", "an item of expect.any_of: 'as' is missing"),
        ("[{as: »X y}, {as: x}]", "expect.any_of.as: must match ^[a-z][a-z0-9_]*$, got 'X y'"),
        ("[{as: x}, {as: »x}]", "two answers are named 'x'"),
        ("[{as: x, »outptu: [1]}, {as: y, output: [1, 0]}]", f"'outptu' {NO_OUTPUT} 'output'?)"),
        ("[{as: x, output: {»shap: [1]}}, {as: y}]", "unknown key 'shap' (did you mean 'shape'?)"),
        ("[{as: x}, »{as: y, rejected: z}]", "an item of expect.any_of: 'legal' is missing"),
        (
            "[{as: x}, {as: y, rejected: z, legal: {»axis: 0}}]",
            f"legal: 'axis' is not a path {PATHS}",
        ),
        ("[{as: x}, {as: y, golden: »nowhere}]", "'nowhere' does not exist"),
        (
            f"[{{as: x, rejected: y, {LEGAL}}}, »{{as: z, rejected: w, {LEGAL}}}]",
            "two answers are rejections",
        ),
        ("[{as: x}, »7]", "an item of expect.any_of: must be a mapping, got 7"),
        (
            "[{as: x}, {as: y, output: [[1], »2]}]",
            "output: ragged list: rows have shapes [1] and [] (a number)",
        ),
        ("[{as: x, output: [0, 1]}, »{as: y, output: [0.0, 1.0]}]", SAME),
        ("[{as: x, output: [.nan, 1]}, »{as: y, output: [.nan, 1]}]", SAME),
        (f"[{{as: x, output: {ZEROS}}}, »{{as: y, output: {ZEROS}}}]", SAME),
        ("[{as: x}, »{as: y}]", SAME),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused_at_its_place(mistake, answers, message):
    mistake(f"{HARDMAX}  rule: open\n  expect: {{any_of: {answers}}}\n", message)


def test_an_unknown_key_beside_the_answers_is_refused(mistake: Mistake) -> None:
    text = f"{HARDMAX}  rule: open\n  expect: {{any_of: {ANSWERS}, »rul: open}}\n"
    mistake(text, "unknown key 'rul' (known: any_of)")


TOPK = """\
op: TopK
opset: 11
dtype: float32
tolerance: {ulp: 0}
attrs: {axis: -1, largest: 1, sorted: 1}
inputs: {X: [1, 2, 3], K: {value: [2], dtype: int64}}
"""
LSTM = """\
op: LSTM
opset: 7
dtype: float32
tolerance: {ulp: 0}
attrs: {hidden_size: 1}
inputs: {X: [[[1]]], W: [[[1], [1], [1], [1]]], R: [[[1], [1], [1], [1]]]}
"""


def test_an_output_that_is_not_stated_is_missed(mistake):
    line = "{name: a, expect: »{Values: [3, 2]}}"
    mistake(f"{TOPK}cases:\n- {line}\n", "expect lacks output 'Indices'")


REFUSED = "{rejected: x, legal: {attrs.hidden_size: 2}}"


@pytest.mark.parametrize("expect", ["null", "{agree: true}", "{oracle: reference}", REFUSED])
def test_all_outputs_are_asked_for_where_all_are_optional(cases, expect):
    text = LSTM.replace("hidden_size: 1", "hidden_size: 3") if expect == REFUSED else LSTM
    (case,) = cases(f"{text}cases:\n- {{name: a, expect: {expect}}}\n")
    assert [one.name for one in case.outputs] == ["Y", "Y_h", "Y_c"]


NO_KERNEL = "the engine has no kernel for SVMRegressor-1: expect must state the outputs"
NO_BOUND = (
    "opcheck knows no error bound for SVMRegressor-1: tolerance must be stated "
    "(tolerance: {ulp: 0} compares exactly)"
)


LEFT_OUT = ["{Y_h: [[[0]]]}", "{computed: [Y_h]}", f"{REFUSED[:-1]}, asked: [Y_h]}}"]


@pytest.mark.parametrize("expect", LEFT_OUT)
def test_an_optional_output_may_be_left_out_before_others(cases, expect):
    (case,) = cases(f"{LSTM}cases:\n- {{name: a, expect: {expect}}}\n")
    for one in (case, getattr(case.expect, "legal", case)):
        assert [(output.name, output.place) for output in one.outputs] == [("Y_h", 1)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", NO_KERNEL),
        ("rule: open, expect: {any_of: [{as: x}, {as: y, Y: [1, 2]}]}", NO_KERNEL),
        ("tolerance: null, expect: {Y: [1, 2]}", NO_BOUND),
    ],
)
def test_without_a_kernel_answer_and_tolerance_are_stated(problems, fields, message):
    (problem,) = problems(NORM.replace("- name: a", f"- {{name: a, {fields}}}"))
    assert problem.partition(": ")[2] == message


@pytest.mark.parametrize("expect", ["{Y: [1]}", "{agree: true}", "{oracle: reference}"])
@pytest.mark.parametrize(("op", "exact"), [("Relu", True), ("Selu", False)])
def test_what_rounds_nothing_is_compared_exactly(
    cases, problems, expect, op, exact, monkeypatch, wording
):
    # As it is of versions that have no formula.
    monkeypatch.setattr("opcheck.suite.resolve.operator_of", lambda op: None)
    text = f"""
        op: {op}
        opset: 14
        dtype: float32
        cases:
        - name: a
          inputs: {{X: [1]}}
          expect: {expect}
        """
    if exact:
        assert cases(text)[0].tolerance == Tolerance(ulp=0)
        stated = text.replace("inputs:", "tolerance: {ulp: 3}\n          inputs:")
        assert cases(stated)[0].tolerance == Tolerance(ulp=3)
    else:
        assert lines_with(problems(text)[0], "tolerance must be") == wording


def test_golden_floats_without_a_bound_need_a_tolerance(problems, tmp_path, wording):
    (tmp_path / "output_0.pb").touch()
    (problem,) = problems(f"{NORM}  tolerance: null\n  expect: {{golden: .}}\n")
    assert problem == wording


def test_golden_integers_need_none(cases, tmp_path, monkeypatch):
    monkeypatch.setattr("opcheck.suite.resolve.operator_of", lambda op: None)
    (tmp_path / "output_0.pb").touch()
    (case,) = cases(
        "{op: Abs, opset: 13, dtype: int8, cases: [{name: a, inputs: {X: [1]}, "
        "expect: {golden: .}}]}"
    )
    assert case.tolerance is None


@pytest.mark.parametrize(
    "answers",
    [
        "[{as: x, output: [0.0, 1]}, {as: y, output: [-0.0, 1]}]",
        "[{as: x, output: [[0, 1]]}, {as: y, output: [0, 1]}]",
        "[{as: x}, {as: y, output: [0, 1]}]",
        "[{as: x, output: {shape: [2], constant: 0}}, "
        "{as: y, output: {shape: [2], constant: 0, put: [{at: [0], value: 1}]}}]",
    ],
)
def test_answers_that_differ_in_sign_shape_or_element_are_two(cases: Cases, answers: str) -> None:
    (case,) = cases(f"{HARDMAX}  rule: open\n  expect: {{any_of: {answers}}}\n")
    assert len(of_type(AnyOf, case.expect).alternatives) == 2


FLOATS = frozenset({"tensor(float)", "tensor(double)"})
CLIP = (
    Parameter("input", "T", FLOATS, "single"),
    Parameter("min", "T", FLOATS, "optional"),
    Parameter("max", "T", FLOATS, "optional"),
)
CONCAT = (Parameter("inputs", "T", FLOATS, "variadic"),)
MIXED = (Parameter("K", "I", FLOATS, "single"), *CONCAT)


@pytest.mark.parametrize(
    ("parameters", "name", "want"),
    [
        *((CLIP, name, want) for name, want in (("max", (2, 0)), ("Max", None), ("max_0", None))),
        # A variadic parameter is counted from 0.
        *((MIXED, f"inputs_{number}", (1, number)) for number in (0, 12, 9999)),
        *((MIXED, f"inputs{end}", None) for end in ("", "_", "_00", "_01", "_-1", "_x", "_1 ")),
        *((MIXED, name, None) for name in ("inputs_10000", "inputs_\u0663", "_0", "")),
    ],
)
def test_a_name_means_a_parameter(parameters: Any, name: str, want: Any) -> None:
    assert place(parameters, name) == want
    assert spelt(MIXED) == ["K", "inputs_0"]


@pytest.mark.parametrize(
    ("op", "names", "lacking"),
    [
        (CLIP, ["input"], []),
        (CLIP, ["input", "max"], []),
        (CLIP, ["max"], ["input"]),
        (CLIP, [], ["input"]),
        # A variadic parameter has no gaps.
        (CONCAT, ["inputs_0"], []),
        (CONCAT, ["inputs_1", "inputs_0"], []),
        (CONCAT, [], ["inputs_0"]),
        (CONCAT, ["inputs_1"], ["inputs_0"]),
        (CONCAT, ["inputs_0", "inputs_2"], ["inputs_1"]),
    ],
)
def test_what_is_mandatory_is_missed(op, names, lacking):
    assert [*missing(op, names)] == lacking


def test_slots_are_in_the_operator_s_order_with_gaps_before_the_last() -> None:
    assert slots(CLIP, ["max", "input"]) == ("input", "", "max")
    assert slots(CLIP, ["min", "input"]) == ("input", "min")
    assert slots(CLIP, ["input"]) == ("input",)
    assert slots(CLIP, []) == ()
    assert slots(MIXED, ["inputs_1", "inputs_0", "K"]) == ("K", "inputs_0", "inputs_1")
    assert slots(CLIP, ["nonsense", "input"]) == ("input",)
    twelve = [f"inputs_{number}" for number in range(12)]
    assert slots(CONCAT, sorted(twelve)) == (*twelve,)


@pytest.mark.parametrize(
    ("op", "inputs", "name", "dtype"),
    [
        ("TopK", "{X: [1, 2], K: [1]}", "K", "int64"),
        ("Where", "{condition: [true, false], X: [1, 2], Y: [3, 4]}", "condition", "bool"),
        ("Gather", "{data: [1, 2], indices: {value: [1], dtype: int32}}", "indices", "int32"),
    ],
)
def test_an_input_that_may_have_one_dtype_only_has_it(cases, op, inputs, name, dtype) -> None:
    case = f"{{name: a, inputs: {inputs}}}"
    (case,) = cases(f"{{op: {op}, opset: 16, dtype: float32, cases: [{case}]}}")
    assert {one.name: one.dtype.name for one in case.inputs}[name] == dtype

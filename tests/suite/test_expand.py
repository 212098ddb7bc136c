import math
import time
from typing import Any

import pytest

from opcheck.dtypes import DTYPES, NARROW
from opcheck.model import Case, Given, Rejected, Values
from opcheck.reading import FileNode, Mark
from opcheck.suite.expand import spell
from tests.expecting import of_type
from tests.suite.conftest import Cases, ProblemsOf
from tests.wording import Wording, lines_with


def ids(cases: tuple[Case, ...]) -> list[str]:
    return [case.id for case in cases]


def literal(case: Case) -> Any:
    (output,) = of_type(Values, case.expect).outputs
    return of_type(Given, output.content).values.tolist()


EXAMPLE = """
op: Hardmax
matrix: {dtype: [float16, float32, float64]}
cases:
- name: first_of_ties
  clause: "1 if the element is the first maximum value along the specified axis"
  level: smoke
  opset: 13
  inputs:
    input: [[3, 3, 1],
            [3, 0, 3]]
  rows:
  - label: axis_0
    attrs: {axis: 0}
    expect: {output: [[1, 1, 0], [0, 0, 1]]}
  - label: default_axis
    attrs: {axis: null}
    expect: {output: [[1, 0, 0], [1, 0, 0]]}
- name: axis_out_of_range
  clause: "Accepted range is [-r, r-1] where r = rank(input)"
  matrix: {opset: [11, 13], attrs.axis: [2, -3]}
  inputs: {input: {shape: [2, 3], constant: 0}}
  expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
"""


def test_the_rows_of_the_example_have_these_ids_and_expectations(cases: Cases) -> None:
    found = [case for case in cases(EXAMPLE) if case.name == "first_of_ties"]
    assert ids(tuple(found)) == [
        "Hardmax/first_of_ties@dtype=float16#axis_0",
        "Hardmax/first_of_ties@dtype=float32#axis_0",
        "Hardmax/first_of_ties@dtype=float64#axis_0",
        "Hardmax/first_of_ties@dtype=float16#default_axis",
        "Hardmax/first_of_ties@dtype=float32#default_axis",
        "Hardmax/first_of_ties@dtype=float64#default_axis",
    ]
    assert [case.attrs for case in found] == [{"axis": 0}] * 3 + [{}] * 3
    assert [literal(case) for case in found[:3]] == [[[1, 1, 0], [0, 0, 1]]] * 3
    assert [literal(case) for case in found[3:]] == [[[1, 0, 0], [1, 0, 0]]] * 3
    for case in found:
        assert (case.opset, case.op.since, case.rule) == (13, 13, "must")
        assert case.level == ("smoke" if case.dtype is DTYPES["float32"] else "core")
        assert case.clause.startswith("1 if the element")
        assert case.inputs[0].dtype is case.dtype is case.outputs[0].dtype


def test_the_matrices_of_the_example_multiply_in_the_order_of_the_file(cases: Cases) -> None:
    found = tuple(case for case in cases(EXAMPLE) if case.name == "axis_out_of_range")
    assert ids(found) == [
        f"Hardmax/axis_out_of_range@dtype={dtype},opset={opset},attrs.axis={axis}"
        for dtype in ("float16", "float32", "float64")
        for opset in (11, 13)
        for axis in (2, -3)
    ]
    for case in found:
        assert isinstance(case.expect, Rejected)
        assert case.expect.reason == "axis is outside [-2, 1]"
        assert case.attrs["axis"] in (2, -3)
        legal = case.expect.legal
        assert legal.attrs == {"axis": 1}
        assert (legal.op, legal.dtype, legal.inputs[0].shape) == (case.op, case.dtype, (2, 3))


def test_smoke_is_a_handful_of_a_matrix(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        level: smoke
        core: [float64]
        attrs: {axis: 0}
        matrix: {opset: all, dtype: [float16, float64]}
        inputs: {input: {shape: [2], constant: 0}}
        cases: [{name: a}, {name: b, rows: [{opset: 1, dtype: float32}, {level: core}]}]
        """)
    levels = {case.id: case.level for case in found}
    smoke = [id.removeprefix("Hardmax/") for id, level in levels.items() if level == "smoke"]
    assert smoke == ["a@opset=11,dtype=float16", "a@opset=13,dtype=float16", "b#1"]
    deep = {f"Hardmax/b@opset={n},dtype=float16#2" for n in (1, 11, 13)}
    assert {id for id, level in levels.items() if level == "deep"} == deep


def test_points_of_a_smoke_case_are_deep_in_dtypes_that_it_does_not_list_itself(
    cases: Cases,
) -> None:
    text = """
        op: Hardmax
        level: smoke
        core: [float32]
        attrs: {axis: 0}
        matrix: {opset: all, dtype: [float16, float32, float64]}
        inputs: {input: {shape: [2], constant: 0}}
        cases: [{name: a%s}, {name: b, rows: [{label: c%s}]}]
        """
    for entry, row, count in ("", "", 0), (", core: [float32]", "", 6), ("", ", core: []", 7):
        levels = {case.id: case.level for case in cases(text % (entry, row))}
        deep = [id for id, level in levels.items() if level == "deep"]
        assert len(deep) == count
        assert all("dtype=float32" not in id or row for id in deep)
        # Smoke is as it was.
        assert sum(level == "smoke" for level in levels.values()) == 4


@pytest.mark.parametrize(
    ("core", "found"),
    [
        ("[newest]", {(13, "float32"), (13, "float64")}),
        ("[float32@newest]", {(13, "float32")}),
        ("[float64, newest]", {(11, "float64"), (13, "float32"), (13, "float64")}),
        ("[float64, float32@newest]", {(11, "float64"), (13, "float32"), (13, "float64")}),
        ("[float16@newest]", set()),
    ],
)
def test_core_may_be_of_the_newest_opset_of_a_matrix(cases: Cases, core: str, found: set) -> None:
    text = f"""
        op: Hardmax
        attrs: {{axis: 0}}
        matrix: {{opset: [11, 13], dtype: [float32, float64]}}
        inputs: {{input: {{shape: [2], constant: 0}}}}
        cases: [{{name: a, core: {core}}}]
        """
    in_core = [case for case in cases(text) if case.level == "core"]
    assert {(case.opset, str(case.dtype)) for case in in_core} == found


def test_cases_without_a_dtype_of_their_own_are_core_at_the_newest_opset(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        attrs: {axis: 0}
        matrix: {opset: [11, 13]}
        inputs: {input: {dtype: float32, constant: 0, shape: [2]}}
        cases: [{name: a, core: [newest]}]
        """)
    assert [(case.opset, case.level) for case in found] == [(11, "deep"), (13, "core")]


@pytest.mark.parametrize(
    "matrix", ["dtype: integers, opset: [11, 12]", "opset: [11, 12], dtype: integers"]
)
def test_smoke_is_of_the_first_dtype_that_each_opset_has(cases: Cases, matrix: str) -> None:
    text = f"op: ReduceMax\nlevel: smoke\nmatrix: {{{matrix}}}\ncases:\n- name: a\n"
    found = cases(f"{text}  inputs: {{data: [1, 2]}}\n")
    smoke = {(case.opset, str(case.dtype)) for case in found if case.level == "smoke"}
    assert smoke == {(11, "int32"), (12, "uint8")}


def test_the_row_wins_over_the_case_and_the_case_over_the_file(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        opset: 1
        dtype: float16
        level: deep
        rule: should
        attrs: {axis: 0}
        inputs: {input: {shape: [2], constant: 0, seed: 5}}
        cases:
        - name: a
        - name: b
          opset: 11
          level: core
          inputs: {input: {arange: [0, 1]}}
          rows:
          - {}
          - {opset: 13, level: smoke, attrs: {axis: -1}, inputs: {input: {shape: [3]}}}
          - {rule: must, inputs: {input: [1, 2, 3, 4]}}
        """)
    assert [(c.id, c.opset, c.level, c.rule, c.attrs["axis"]) for c in found] == [
        ("Hardmax/a", 1, "deep", "should", 0),
        ("Hardmax/b#1", 11, "core", "should", 0),
        ("Hardmax/b#2", 13, "smoke", "should", -1),
        ("Hardmax/b#3", 11, "core", "must", 0),
    ]
    contents: list[Any] = [case.inputs[0].content for case in found]
    kinds = [getattr(c, "kind", "literal") for c in contents]
    assert kinds == ["constant", "arange", "arange", "literal"]
    assert [contents[0].seed, contents[1].seed] == [5, 5]
    assert [case.inputs[0].shape for case in found] == [(2,), (2,), (3,), (4,)]


def test_the_matrix_of_a_case_replaces_the_file_s_key_where_it_stands(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        matrix: {dtype: [float16, float32], opset: [1, 11]}
        inputs: {input: [1, 2]}
        cases:
        - {name: a, matrix: {attrs.axis: [0], dtype: [float64]}}
        """)
    own = "Hardmax/a@dtype=float64,opset"
    assert ids(found) == [f"{own}=1,attrs.axis=0", f"{own}=11,attrs.axis=0"]


def test_a_plain_field_drops_the_matrix_key_of_a_farther_level(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        matrix: {opset: [11, 13], dtype: [float16, float32], attrs.axis: [0, -1]}
        inputs: {input: {shape: [2], constant: 0}}
        cases:
        - {name: case_says_dtype, dtype: float64, attrs: {axis: 0}}
        - name: rows_say_axis
          opset: 1
          dtype: float32
          rows:
          - {label: varied}
          - {label: fixed, attrs: {axis: 0}}
          - {label: left_out, inputs: {input: [[1, 2]]}, attrs: {axis: null}}
        """)
    assert ids(found) == [
        "Hardmax/case_says_dtype@opset=11",
        "Hardmax/case_says_dtype@opset=13",
        "Hardmax/rows_say_axis@attrs.axis=0#varied",
        "Hardmax/rows_say_axis@attrs.axis=-1#varied",
        "Hardmax/rows_say_axis#fixed",
        "Hardmax/rows_say_axis#left_out",
    ]
    assert found[-1].attrs == {}


def test_a_nearer_matrix_wins_over_a_farther_plain_field(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        opset: 13
        dtype: float32
        attrs: {axis: 0}
        inputs: {input: {shape: [2], constant: 0}}
        cases:
        - {name: a, matrix: {opset: [1, 11], inputs.input.arange: [[0, 1]]}}
        """)
    assert [case.opset for case in found] == [1, 11]
    content: Any = found[0].inputs[0].content
    assert (content.kind, content.args) == ("arange", (0, 1))


def test_expect_and_tolerance_are_replaced_as_a_whole(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        opset: 13
        dtype: float32
        attrs: {axis: 0}
        inputs: {input: [1, 2]}
        tolerance: {rtol: 0.5, atol: 2}
        expect: {output: [0, 1]}
        cases:
        - name: a
          rows:
          - {}
          - {tolerance: {atol: 3}, expect: {rejected: x, legal: {attrs.axis: -1}}}
          - {expect: null, tolerance: null}
        """)
    assert [type(case.expect).__name__ for case in found] == ["Values", "Rejected", "Computed"]
    assert [str(case.tolerance) for case in found] == ["rtol 0.5, atol 2", "rtol 0, atol 3", "None"]


def opsets_of(cases: Cases, opsets: str, op: str = "Hardmax") -> list[int]:
    text = f"""
        op: {op}
        dtype: float32
        tolerance: {{ulp: 0}}
        matrix: {{opset: {opsets}}}
        cases:
        - {{name: a, attrs: {{axis: 0}}, inputs: {{input: [1, 2]}}, expect: {{output: [0, 1]}}}}
        """
    return [case.opset for case in cases(text)]


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("all", [1, 11, 13]),
        ('["1+"]', [1, 11, 13]),
        ('["13+"]', [13]),
        ('["5+"]', [5, 11, 13]),
        ("[11+]", [11, 13]),
        ('[1, "12+"]', [1, 12, 13]),
        ("[22]", [22]),
    ],
)
def test_a_plus_adds_every_later_version(cases: Cases, said: str, want: list[int]) -> None:
    assert opsets_of(cases, said) == want


WORDS = """
op: Where
matrix: {opset: all, dtype: WORD}
cases:
- name: a
  inputs:
    condition: {shape: [1], dtype: bool, constant: 1}
    X: {shape: [1], constant: 1}
    Y: {shape: [1], constant: 0}
"""


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("all", {"float", "int", "bool", "string", "complex"}),
        ("floats", {"float"}),
        ("integers", {"int"}),
        ("numbers", {"float", "int", "complex"}),
    ],
)
def test_a_word_stands_for_dtypes_that_the_version_allows(cases, word, kinds):
    allowed = {name for name, dtype in DTYPES.items() if dtype.kind in kinds and name not in NARROW}
    found = {(case.op.since, str(case.dtype)) for case in cases(WORDS.replace("WORD", word))}
    assert found == {(n, one) for n in (9, 16) for one in allowed if (n, one) != (9, "bfloat16")}


def test_a_word_that_leaves_no_case_is_a_mistake(problems: ProblemsOf, wording: Wording) -> None:
    text = EXAMPLE.replace("[float16, float32, float64]", "integers")
    assert lines_with(problems(text)[0], "no version of") == wording


def test_all_leaves_out_where_the_operator_is_deprecated(cases: Cases) -> None:
    # Scatter is deprecated since 11.
    text = """
        op: Scatter
        dtype: float32
        tolerance: {ulp: 0}
        matrix: {opset: all}
        cases:
        - name: a
          attrs: {axis: 0}
          inputs:
            data: [1, 2]
            indices: {value: [0], dtype: int64}
            updates: [5]
          expect: {output: [5, 2]}
        """
    assert [case.opset for case in cases(text)] == [9]
    assert [case.opset for case in cases(text.replace("all", '["9+"]'))] == [9]


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ((2, 3), "2x3"),
        ((2,), "2"),
        ((), "empty"),
        (((1, 2), (3, 4)), "1x2x3x4"),
        (None, "none"),
        (-1, "-1"),
        (1.5, "1.5"),
        (True, "True"),
        (math.inf, "inf"),
        ("SAME_UPPER", "SAME_UPPER"),
        ("a b/c@d#e,f=g", "a_b_c_d_e_f_g"),
        ("", "empty"),
        ("é", "_"),
        ({}, "empty"),
        ({"shape": (2, 3), "constant": 0}, "shape-2x3+constant-0"),
    ],
)
def test_a_coordinate_is_spelt(value: Any, want: str) -> None:
    def node(value: Any) -> FileNode:
        if isinstance(value, tuple):
            return FileNode(tuple(map(node, value)), Mark(1, 1))
        if isinstance(value, dict):
            return FileNode({key: node(item) for key, item in value.items()}, Mark(1, 1))
        return FileNode(value, Mark(1, 1))

    assert spell(node(value)) == want


def test_a_row_is_labelled_by_its_number_from_1(cases: Cases) -> None:
    found = cases("""
        op: Hardmax
        opset: 13
        dtype: float32
        inputs: {input: [1, 2]}
        cases:
        - name: a
          rows:
          - {attrs: {axis: 0}}
          - {attrs: {axis: -1}, label: v1.2+x-y_z}
          - {attrs: {axis: null}}
          - {attrs: {axis: null}, label: 7}
        """)
    assert ids(found) == ["Hardmax/a#1", "Hardmax/a#v1.2+x-y_z", "Hardmax/a#3", "Hardmax/a#7"]
    assert [case.row for case in found] == ["1", "v1.2+x-y_z", "3", "7"]


def test_a_case_points_to_where_it_or_its_row_is_written(cases: Cases) -> None:
    found = cases(EXAMPLE)
    assert (found[0].source.line, found[0].source.column) == (13, 5)
    assert (found[-1].source.line, found[-1].source.column) == (19, 3)
    assert found[0].source.file.endswith("f.yaml")
    assert not found[0].source.shipped


HEAD = """op: Hardmax
opset: 13
inputs: {input: [1, 2]}
attrs: {axis: 0}
cases:
"""


OPSETS = '(a list of numbers or "13+", or the word all)'
LISTED = "must be a list of values, got"
PATHS = "(a path is opset, dtype, attrs.NAME[.KEY] or inputs.NAME[.KEY])"
LETTERS = "a label is made of letters, digits and _ . + -; got"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("matrix: {dtype: »float32}", f"matrix 'dtype': {LISTED} 'float32'"),
        (
            "matrix: {inputs.input.dtype: »floats}",
            f"matrix 'inputs.input.dtype': {LISTED} 'floats'",
        ),
        ("matrix: {attrs.axis: »all}", f"matrix 'attrs.axis': {LISTED} 'all'"),
        ("matrix: {dtype: »null}", f"matrix 'dtype': {LISTED} null"),
        ("matrix: {dtype: »{a: 1}}", f"matrix 'dtype': {LISTED} a mapping"),
        ("matrix: {dtype: »[]}", "matrix 'dtype': holds no value"),
        ("matrix: {opset: »[]}", f"matrix 'opset': holds no value {OPSETS}"),
        ("matrix: {opset: »13}", f"matrix 'opset': {LISTED} 13 {OPSETS}"),
        ("matrix: {opset: [13, »x+]}", f"'x+' is not an opset {OPSETS}"),
        ("matrix: {opset: [»true]}", f"true is not an opset {OPSETS}"),
        ('matrix: {opset: [11, »"11+"]}', "matrix 'opset': two values are spelt '11' in ids"),
        (
            "matrix: {dtype: [float16, »float16]}",
            "matrix 'dtype': two values are spelt 'float16' in ids",
        ),
        ("matrix: {»axis: [0]}", f"'axis' is not a path a matrix can vary {PATHS}"),
        (
            "dtype: float32, matrix: {»dtype: [float16]}",
            "'dtype' is stated both plainly and in the matrix beside it",
        ),
        (
            "matrix: {inputs.input.shape: [»[3]]}",
            "matrix path 'inputs.input.shape' leads into a literal",
        ),
        (
            "matrix: {inputs.input.constant: [»1], inputs.input: [[2]]}",
            "another key of the matrix replaces 'inputs.input.constant'",
        ),
        ("matrix: »[1]", "matrix: must be a mapping, got a list"),
        ("rows: [{label: »a b}]", f"{LETTERS} 'a b'"),
        ("rows: [{label: »null}]", f"{LETTERS} null"),
        ("rows: [{label: »true}]", f"{LETTERS} true"),
        ("rows: [{label: »[x]}]", f"{LETTERS} a list"),
        ("rows: [{label: »1.5}]", f"{LETTERS} 1.5"),
    ],
)
def test_one_mistake_is_one_problem_at_its_place(mistake, fields, message):
    head = HEAD.replace("inputs: {input: [1, 2]}", "inputs: {input: {shape: [2]}}")
    text = head if "inputs.input:" in fields else HEAD
    if "opset:" in fields:
        text = text.replace("opset: 13\n", "rule: must\n")
    dtype = "" if "dtype:" in fields else "dtype: float32, "
    mistake(f"{text}- {{name: a, {dtype}{fields}}}\n", message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("opset: 13\nmatrix: {dtype: »float32}", f"matrix 'dtype': {LISTED} 'float32'"),
        (
            "opset: »x\nmatrix: {dtype: floats}",
            "opset: must be a whole number, got 'x' (several: matrix: {opset: all})",
        ),
    ],
)
def test_a_mistake_beside_the_matrix_of_the_file_is_one_problem(mistake, fields, message):
    mistake(HEAD.replace("opset: 13", fields) + "- {name: a}\n", message)


def test_each_key_of_a_matrix_that_is_wrong_is_told(problems: ProblemsOf, wording: Wording) -> None:
    told = problems(HEAD + "- {name: a, dtype: float32, matrix: {axis: [0], attrs.axis: 7}}\n")
    assert [one.partition(": ")[0] for one in told] == ["6:38", "6:61"]
    assert told == wording


def test_words_for_dtypes_wait_for_an_opset(problems: ProblemsOf, wording: Wording) -> None:
    text = HEAD.replace("opset: 13", "matrix: {dtype: floats}") + "- {name: a}\n"
    assert [one.partition(" (")[0] for one in problems(text)] == [wording]


def test_no_matrix_no_rows_is_one_case_whatever_is_null(cases: Cases) -> None:
    assert len(cases(HEAD + "- {name: a, dtype: float32, matrix: null, rows: null}\n")) == 1


def test_a_product_that_is_too_large_is_refused_in_no_time(
    problems: ProblemsOf, wording: Wording
) -> None:
    axes = ", ".join(map(str, range(1000)))
    matrix = f"{{attrs.axis: [{axes}], inputs.input.seed: [{axes}], opset: all}}"
    text = f"op: Hardmax\ncases:\n- name: a\n  matrix: {matrix}\n- {{name: b, matrix: {matrix}}}\n"
    start = time.perf_counter()
    assert problems(text) == [wording]
    assert time.perf_counter() - start < 5


def test_a_large_literal_many_times_over_is_refused_in_no_time(
    problems: ProblemsOf, wording: Wording
) -> None:
    values = ", ".join(["1"] * 50_000)
    seeds = ", ".join(map(str, range(1000)))
    text = (
        f"op: Hardmax\nopset: 13\ndtype: float32\nattrs: {{axis: 0}}\ncases:\n- name: a\n"
        f"  matrix: {{inputs.input.put: [{seeds}]}}\n"
        f"  inputs: {{input: {{value: [{values}]}}}}\n"
    )
    start = time.perf_counter()
    (problem,) = problems(text)
    assert problem == wording
    assert time.perf_counter() - start < 5


def test_a_file_may_use_all_that_it_may(cases, problems, monkeypatch, wording):
    fields = "rule: must, dtype: float32, matrix: {opset: [13]}"
    one, more = (f"- {{name: {name}, {fields}}}\n" for name in "ab")
    text = HEAD.replace("opset: 13\n", "")
    # The case, its rule, dtype, inputs, input, 1, 2, attrs and axis; and the value of the matrix.
    for limit, most in (("MAX_CASES", 1), ("MAX_VALUES", 10), ("MAX_VALUES", 19)):
        with monkeypatch.context() as patch:
            patch.setattr(f"opcheck.suite.expand.{limit}", most)
            assert len(cases(text + one)) == 1
            (told,) = problems(text + one + more + more.replace(" b,", " c,"))
            assert told == wording


@pytest.mark.gate
def test_10_000_cases_take_seconds(cases: Cases) -> None:
    rows = "".join(
        f"  - {{label: r{k}, expect: {{output: [[1, 0], [0, 1], [1, 0]]}}}}\n" for k in range(10)
    )
    text = "op: Hardmax\ncases:\n" + "".join(
        f"- name: c{k}\n  matrix: {{opset: [1, 11, 13, 20], dtype: [float16, float32, float64],"
        f" attrs.axis: [0, 1, -1, null, 7]}}\n  inputs: {{input: [[5, 3], [1, 2], [4, 0]]}}\n"
        f"  rows:\n{rows}"
        for k in range(17)
    )
    start = time.process_time()
    assert len(cases(text)) == 10_200
    # About one second.
    assert time.process_time() - start < 15

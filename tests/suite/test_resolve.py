import math
import re
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from opcheck.dtypes import DTYPES, identical
from opcheck.graph.folders import array_of, tensor_bytes
from opcheck.known import Place
from opcheck.known.writing import places
from opcheck.model import ATTRIBUTE_TYPES, OpVersion, Rejected, Tolerance, Typed, Values
from opcheck.opset import Attribute
from opcheck.report import formatting
from opcheck.suite import case_digest
from opcheck.suite.attributes import attribute_value, typed_value
from opcheck.suite.fields import GRAPHS_ARE, CaseFields
from opcheck.suite.tolerances import tolerance_of
from tests.expecting import error_of, of_type
from tests.suite.conftest import Cases, ProblemsOf
from tests.wording import Wording

A_NUMBER = "opset: must be a whole number"


def hardmax(**fields: str) -> str:
    """A file of one case of Hardmax, with these fields in its case and "" for none of them."""
    said = {"opset": "13", "dtype": "float32", "attrs": "{axis: 0}", "inputs": "{input: [1, 2]}"}
    said |= fields
    lines = [f"  {key}: {value}\n" for key, value in said.items() if value]
    return f"op: Hardmax\ncases:\n- name: a\n{''.join(lines)}"


def test_an_operator_with_variadic_inputs(cases: Cases) -> None:
    (case,) = cases("""
        op: Concat
        opset: 13
        dtype: int64
        cases:
        - name: a
          attrs: {axis: 0}
          inputs: {inputs_1: [3], inputs_0: [1, 2], inputs_2: {shape: [0], constant: 0}}
          expect: {concat_result: [1, 2, 3]}
        """)
    assert case.op == OpVersion("", "Concat", 13)
    assert case.slots == ("inputs_0", "inputs_1", "inputs_2")
    assert [spec.name for spec in case.inputs] == list(case.slots)
    assert [(o.name, o.dtype) for o in case.outputs] == [("concat_result", DTYPES["int64"])]


def test_an_operator_with_two_outputs_of_different_types(cases: Cases) -> None:
    (case,) = cases("""
        op: TopK
        opset: 11
        dtype: float16
        tolerance: {ulp: 0}
        cases:
        - name: a
          attrs: {axis: -1, largest: 1, sorted: 1}
          inputs: {X: [1, 3, 2], K: {value: [2], dtype: int64, initializer: true}}
          expect: {Indices: [1, 2], Values: [3, 2]}
        """)
    outputs = [(one.name, one.dtype) for one in case.outputs]
    assert outputs == [("Values", DTYPES["float16"]), ("Indices", DTYPES["int64"])]
    assert [spec.name for spec in of_type(Values, case.expect).outputs] == ["Values", "Indices"]
    assert [spec.initializer for spec in case.inputs] == [False, True]
    assert case.tolerance == Tolerance(ulp=0)


@pytest.mark.parametrize("left_out", ["", "min: null, "])
def test_an_optional_input_is_left_out_by_null_or_silence(cases: Cases, left_out: str) -> None:
    (case,) = cases(f"""
        op: Clip
        opset: 13
        dtype: int32
        cases:
        - name: a
          inputs: {{input: [1, 9], {left_out}max: 5}}
          expect: {{output: [1, 5]}}
        """)
    assert case.slots == ("input", "", "max")
    assert [(spec.name, spec.shape) for spec in case.inputs] == [("input", (2,)), ("max", ())]


def test_a_value_from_a_null_content_is_as_if_unsaid(cases: Cases) -> None:
    (case,) = cases(hardmax(inputs="{input: {value: [1, 2], file: null, shape: null}}"))
    assert case.inputs[0].shape == (2,)


def test_a_file_s_null_is_the_default(cases: Cases) -> None:
    unsaid = dict.fromkeys(("rule", "level", "clause", "tolerance", "timeout", "empty"), "null")
    (case,) = cases(hardmax(**unsaid))
    assert (case.rule, case.level, case.clause, case.empty) == ("must", "core", "", "")
    assert (case.tolerance, case.timeout) == (None, None)


def test_the_version_in_force_is_the_newest_up_to_the_opset(cases: Cases) -> None:
    for opset, since in ((1, 1), (10, 1), (11, 11), (12, 11), (13, 13), (22, 13)):
        (case,) = cases(hardmax(opset=str(opset)))
        assert (case.opset, case.op.since) == (opset, since)


def test_an_attribute_is_converted_to_its_type_in_that_version(cases: Cases) -> None:
    text = """
        op: LpPool
        dtype: float32
        tolerance: {ulp: 0}
        cases:
        - name: a
          matrix: {opset: [1, 22]}
          attrs: {p: 2, kernel_shape: [2], auto_pad: NOTSET}
          inputs: {X: {shape: [1, 1, 4], arange: [1, 1]}}
          expect: {Y: {shape: [1, 1, 3], constant: 0}}
        """
    first, last = cases(text)
    assert (repr(first.attrs["p"]), repr(last.attrs["p"])) == ("2.0", "2")
    assert first.attrs["kernel_shape"] == (2,)
    assert first.attrs["auto_pad"] == "NOTSET"


def test_a_case_that_expects_a_rejection_may_break_the_schema(cases: Cases) -> None:
    lacking, foreign, integer = cases("""
        op: LpPool
        opset: 11
        dtype: float32
        attrs: {p: 2, kernel_shape: [2]}
        inputs: {X: {shape: [1, 1, 4], constant: 1}}
        tolerance: {ulp: 0}
        cases:
        - name: lacks_an_attribute
          attrs: {kernel_shape: null}
          expect: {rejected: it is mandatory, legal: {attrs.kernel_shape: [2]}}
        - name: has_a_later_attribute
          attrs: {dilations: [2]}
          expect: {rejected: it came with 18, legal: {attrs.dilations: null}}
        - name: has_another_dtype
          dtype: int8
          expect: {rejected: no integers, legal: {dtype: float32}}
        """)
    assert lacking.attrs == {"p": 2}
    assert foreign.attrs == {"p": 2, "kernel_shape": (2,), "dilations": (2,)}
    assert integer.inputs[0].dtype is DTYPES["int8"]


def test_a_case_that_expects_a_rejection_may_lack_an_input(cases: Cases) -> None:
    fields = {"inputs": "", "expect": "{rejected: no input, legal: {inputs.input: [1, 2]}}"}
    (case,) = cases(hardmax(**fields))
    assert (case.inputs, case.slots) == ((), ())
    assert of_type(Rejected, case.expect).legal.slots == ("input",)


def test_so_may_a_case_of_which_a_rejection_is_one_answer(cases: Cases) -> None:
    answers = "[{as: computed, output: [0, 1]}, {as: no, rejected: x, legal: {dtype: float32}}]"
    (case,) = cases(hardmax(dtype="int32", rule="open", expect=f"{{any_of: {answers}}}"))
    assert case.inputs[0].dtype is DTYPES["int32"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        # attributes
        (
            {"attrs": "{»axes: 0}"},
            "'axes' is not an attribute of Hardmax-13 (has: axis) (did you mean 'axis'?)",
        ),
        (
            {"attrs": "{axis: 0, »alpha: 1.0}"},
            "'alpha' is not an attribute of Hardmax-13 (has: axis)",
        ),
        (
            {"attrs": "{axis: 0, »other: null}"},
            "'other' is not an attribute of Hardmax-13 (has: axis)",
        ),
        (
            {"attrs": '{axis: 0, »"\\e[31m": 1}'},
            r"'\x1b[31m' is not an attribute of Hardmax-13 (has: axis)",
        ),
        ({"attrs": "{axis: »1.0}"}, "attribute axis must be a whole number, got 1.0"),
        ({"attrs": "{axis: »true}"}, "attribute axis must be a whole number, got true"),
        ({"attrs": "{axis: »[0]}"}, "attribute axis must be a whole number, got a list"),
        ({"attrs": "{axis: »{float: 1}}"}, "attribute axis must be a whole number, got a mapping"),
        (
            {"attrs": "{axis: 0, »scale: {float: 1}}"},
            "'scale' is not an attribute of Hardmax-13 (has: axis)",
        ),
        (
            {"attrs": "{axis: »{flaot: 1}}", "expect": "{rejected: x, legal: {attrs.axis: 0}}"},
            "attribute axis must be a value, or {type: value} with one of int, float, string, "
            "ints, floats, strings, tensor",
        ),
        (
            {"attrs": f"{{axis: »{'[' * 40}{']' * 40}}}"},
            "attribute axis must be a whole number, got a list",
        ),
        (
            {"attrs": f"{{axis: »1{'0' * 400}}}"},
            f"attribute axis must fit in 64 bits, got 1{'0' * 29}… (401 characters)",
        ),
        ({"attrs": "»[0]"}, "attrs: must be a mapping, got a list (by name: {axis: 1})"),
        # opset
        ({"opset": "»1300"}, "opset 1300 is too new: the installed packages know NEWEST"),
        (
            {"opset": f"»1{'0' * 400}"},
            f"opset 1{'0' * 29}… (401 characters) is too new: the installed packages know NEWEST",
        ),
        ({"opset": "»0"}, "opset: must be at least 1, got 0"),
        ({"opset": "»13.0"}, f"{A_NUMBER}, got 13.0 (several: matrix: {{opset: all}})"),
        ({"opset": "»true"}, f"{A_NUMBER}, got true (several: matrix: {{opset: all}})"),
        ({"opset": "»all"}, f"{A_NUMBER}, got 'all' (several: matrix: {{opset: all}})"),
        # dtype
        ({"dtype": "»flot32"}, "dtype: unknown dtype 'flot32' (did you mean 'float32'?)"),
        ({"dtype": "»float8_e4m3fn"}, "dtype: unknown dtype 'float8_e4m3fn' (write float8e4m3fn)"),
        (
            {"dtype": "»qqq"},
            "dtype: unknown dtype 'qqq' (known: float16, bfloat16, float32, "
            "float64, uint8, int8, uint16, int16, int32, int64, uint32, uint64, bool and 15 more)",
        ),
        ({"dtype": "»3"}, "dtype: must be a text, got 3"),
        (
            {"dtype": "»int32"},
            "input: Hardmax-13 does not allow int32 (allowed: bfloat16, float16, float32, float64)",
        ),
        (
            {"opset": "11", "dtype": "»bfloat16"},
            "input: Hardmax-11 does not allow bfloat16 (allowed: float16, float32, float64)",
        ),
        (
            {"inputs": "{input: {value: [1], dtype: »int8}}"},
            "input: Hardmax-13 does not allow int8 (allowed: bfloat16, float16, float32, float64)",
        ),
        (
            {"dtype": "", "inputs": "{input: »[1]}"},
            "input: its dtype is not stated (state dtype for the case)",
        ),
        (
            {"dtype": "null", "inputs": "{input: »{shape: [1], constant: 0}}"},
            "input: its dtype is not stated (state dtype for the case)",
        ),
        # inputs
        (
            {"inputs": "{»inptu: [1]}"},
            "'inptu' is not an input of Hardmax-13 (has: input) (did you mean 'input'?)",
        ),
        (
            {"inputs": "{input: [1], »other: [1]}"},
            "'other' is not an input of Hardmax-13 (has: input)",
        ),
        (
            {"inputs": "{input: [1], »other: null}"},
            "'other' is not an input of Hardmax-13 (has: input)",
        ),
        ({"inputs": "»[1, 2]"}, "inputs: must be a mapping, got a list (by name: {input: [1, 2]})"),
        # tolerance
        ({"tolerance": "{rtol: ».nan}"}, "tolerance.rtol: must be finite, got .nan"),
        ({"tolerance": "{atol: ».inf}"}, "tolerance.atol: must be finite, got .inf"),
        ({"tolerance": "{rtol: »-1}"}, "tolerance.rtol: must be at least 0.0, got -1"),
        ({"tolerance": "{ulp: »-1}"}, "tolerance.ulp: must be at least 0, got -1"),
        ({"tolerance": "{ulp: »1.5}"}, "tolerance.ulp: must be a whole number, got 1.5"),
        ({"tolerance": "»3"}, "tolerance: must be a mapping, got 3 (such as {rtol: 1e-5})"),
        ({"tolerance": "{»ulps: 3}"}, "unknown key 'ulps' (did you mean 'ulp'?)"),
        ({"tolerance": "{float32: {»ulps: 3}}"}, "unknown key 'ulps' (did you mean 'ulp'?)"),
        (
            {"tolerance": "{float32: {ulp: 1}, »flot16: {ulp: 1}}"},
            "tolerance.flot16: unknown dtype 'flot16' (did you mean 'float16' or 'bfloat16'?)",
        ),
        (
            {"tolerance": "{»flot16: {ulp: 1}}"},
            "unknown key 'flot16' (did you mean 'float16' or 'bfloat16'?)",
        ),
        ({"»tolerance": "{ulp: 1, rtol: 0.1}"}, "tolerance: ulp excludes rtol and atol"),
        ({"»tolerance": "{}"}, "tolerance: states nothing: give ulp, or rtol and atol"),
        ({"»tolerance": "{float16: {ulp: 1}}"}, "tolerance: says nothing about float32"),
        # words
        (
            {"rule": "»mst"},
            "rule: must be 'must', 'should' or 'open', got 'mst' (did you mean 'must'?)",
        ),
        (
            {"level": "»cor"},
            "level: must be 'smoke', 'core', 'deep' or 'huge', got 'cor' (did you mean 'core'?)",
        ),
        ({"level": "»3"}, "level: must be 'smoke', 'core', 'deep' or 'huge', got 3"),
        ({"timeout": "»0"}, "timeout: must be greater than 0, got 0"),
        ({"timeout": "»-1.5"}, "timeout: must be greater than 0, got -1.5"),
        ({"timeout": "»100000"}, "timeout: must be at most 86400, got 100000"),
        ({"timeout": "».nan"}, "timeout: must be finite, got .nan"),
        ({"timeout": "»90 s"}, "timeout: must be a number, got '90 s'"),
        ({"timeout": "»true"}, "timeout: must be a number, got true"),
        ({"clause": "»[x]"}, "clause: must be a text, got a list"),
        (
            {"clause": '»"a\\e[31mb"'},
            "clause: holds a control character, which would upset terminals",
        ),
        ({"»levle": "core"}, "unknown key 'levle' (did you mean 'level'?)"),
    ],
)
def test_one_mistake_is_one_problem_at_its_place(mistake, fields, message):
    from onnx import defs

    mistake(hardmax(**fields), message.replace("NEWEST", str(defs.onnx_opset_version())))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"opset": ""}, "opset is not stated (opset: 13, or matrix: {opset: …})"),
        (
            {"opset": "", "dtype": "", "matrix": "{dtype: floats}"},
            "opset is not stated (opset: 13, or matrix: {opset: …})",
        ),
        ({"opset": "null"}, "opset is not stated (opset: 13, or matrix: {opset: …})"),
        (
            {"attrs": "", "opset": "", "matrix": "{opset: [1, 13]}"},
            "attrs.axis must be stated: its default differs between the case's opsets "
            "(attrs: {axis: null} leaves it out)",
        ),
        (
            {"attrs": "null", "opset": "", "matrix": "{opset: all}"},
            "attrs.axis must be stated: its default differs between the case's opsets "
            "(attrs: {axis: null} leaves it out)",
        ),
        ({"inputs": ""}, "Hardmax-13 needs input 'input'"),
        ({"inputs": "null"}, "Hardmax-13 needs input 'input'"),
        ({"inputs": "{input: null}"}, "Hardmax-13 needs input 'input'"),
    ],
)
def test_what_a_case_lacks_is_missed_at_the_case(problems, fields, message):
    assert problems(hardmax(**fields)) == [f"3:3: {message}"]


@pytest.mark.parametrize("opsets", ["[13]", "[13, 21]", "[1, 11]", "['13+']"])
def test_a_default_that_all_opsets_of_a_case_share_need_not_be_stated(cases, opsets):
    # What other cases of the file ask is no matter.
    other = "- {name: b, opset: 1, dtype: float32, inputs: {input: [1]}}\n"
    found = cases(hardmax(attrs="", opset="", matrix=f"{{opset: {opsets}}}") + other)
    assert len(found) > 1
    assert all(case.attrs == {} for case in found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{op: Mish, cases: [{name: a, opset: »7, dtype: float32, inputs: {X: [1]}}]}",
            "Mish exists since opset 18, not at 7",
        ),
        (
            "{op: Scatter, cases: [{name: a, opset: »13, dtype: float32, tolerance: {ulp: 0}, "
            "attrs: {axis: 0}, inputs: {data: [1], indices: {value: [0], dtype: int64}, "
            "updates: [1]}, expect: {output: [1]}}]}",
            "Scatter is deprecated at opset 13",
        ),
        (
            "{op: LpPool, cases: [»{name: a, opset: 11, dtype: float32, tolerance: {ulp: 0}, "
            "attrs: {p: 2}, inputs: {X: {shape: [1, 1, 4], constant: 0}}, "
            "expect: {Y: {shape: [1, 1, 4], constant: 0}}}]}",
            "LpPool-11 needs attribute 'kernel_shape'",
        ),
        (
            "{op: LpPool, cases: [{name: a, opset: 11, dtype: float32, tolerance: {ulp: 0}, "
            "attrs: {p: 2, kernel_shape: [2], »dilations: [1]}, "
            "inputs: {X: {shape: [1, 1, 4], constant: 0}}, "
            "expect: {Y: {shape: [1, 1, 3], constant: 0}}}]}",
            "'dilations' is not an attribute of LpPool-11 "
            "(has: auto_pad, kernel_shape, p, pads, strides)",
        ),
        (
            "{op: Add, cases: [{name: a, opset: 13, dtype: float32, tolerance: {ulp: 0}, "
            "inputs: {A: [1], B: {value: [1], dtype: »float16}}, expect: {C: [2]}}]}",
            "B is float16, but Add-13 wants float32 as before it",
        ),
        (
            "{op: Concat, cases: [»{name: a, opset: 13, dtype: int8, attrs: {axis: 0}, "
            "inputs: {inputs_0: [1], inputs_2: [2]}, expect: {concat_result: [1, 2]}}]}",
            "Concat-13 needs input 'inputs_1'",
        ),
        (
            "{op: Concat, cases: [{name: a, opset: 13, dtype: int8, attrs: {axis: 0}, "
            "»inputs: {inputs_0: {shape: [30000000], constant: 0}, "
            "inputs_1: {shape: [30000000], constant: 0}}, "
            "expect: {concat_result: {shape: [60000000], constant: 0}}}]}",
            "the tensors of a case need more than 67,108,864 elements together",
        ),
        (
            "{op: Add, cases: [{name: a, opset: 13, dtype: float64, tolerance: {ulp: 0}, "
            "»inputs: {A: {shape: [20000000], constant: 0}, B: {shape: [20000000], constant: 0}}, "
            "expect: {C: [2]}}]}",
            "the tensors of a case need more than 256 MiB together",
        ),
        (
            "{op: Add, cases: [{name: a, opset: 13, »tolerance: {ulp: 18446744073709551614}, "
            "inputs: {A: {value: [1], dtype: float32}, B: {value: [1], dtype: float32}}, "
            "expect: {C: [2]}}]}",
            "tolerance: ulp 18446744073709551614 is too many: 8388608 steps double a float32",
        ),
        (
            "{op: Cast, cases: [{name: a, opset: 13, dtype: float32, attrs: {to: 10}, "
            "»tolerance: {ulp: 1024}, inputs: {input: [1]}, "
            "expect: {output: {value: [1], dtype: float16}}}]}",
            "tolerance: ulp 1024 is too many: 1024 steps double a float16",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, attrs: {value: »3}}]}",
            "value: its dtype is not stated (state dtype for the case)",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, dtype: int8, attrs: {value: [1, »300]}}]}",
            "300 is outside int8, which holds whole numbers from -128 to 127",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13,"
            " attrs: {value: {»valu: 3, dtype: int8}}}]}",
            "unknown key 'valu' (did you mean 'value'?)",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13,"
            " attrs: {value: {value: 3, »shape: [1]}}}]}",
            "value: shape goes with a fill only",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, attrs: {value: »{dtype: int8}}}]}",
            "value: its values are given nowhere (exactly one of value, file, constant, arange, "
            "uniform, normal, integers, cycle, choice, permutation, specials)",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, dtype: int8, "
            "attrs: {value: »{value: [3], initializer: true}}}]}",
            "attribute value is not an initializer",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, "
            "attrs: {value_floats: »{shape: [2, 1], constant: 3}}}]}",
            "attribute value_floats is a list, of rank 1 and float32, not of rank 2 and float32",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, "
            "attrs: {value_ints: »{shape: [2], constant: 3, dtype: int8}}}]}",
            "attribute value_ints is a list, of rank 1 and int64, not of rank 1 and int8",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, "
            "attrs: {value_ints: »{shape: [1048577], constant: 3}}}]}",
            "attribute value_ints is a list, of at most 1,048,576 entries",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, attrs: {value: »{foo: 3}}}]}",
            "attribute value must be a literal, or {value: …, dtype: …}; got a mapping",
        ),
        (
            "{op: Constant, cases: [{name: a, opset: 13, attrs: {value_int: »{value: 3}}}]}",
            "attribute value_int is not a tensor",
        ),
        (
            "{op: DML_ACTIVATION_HARDMAX1, domain: com.microsoft.dml, cases: [{name: a, opset: 1, "
            "dtype: float32, attrs: {Axes: [0]}, "
            "»inputs: {InputTensor: {value: [1], initializer: true}}}]}",
            "DirectML's operators have no initializers",
        ),
        (
            f"{{op: Hardmax, cases: [»{{name: {'a' * 193}, opset: 13, dtype: float32, "
            "attrs: {axis: 0}, inputs: {input: [1]}}]}",
            "id longer than 200 characters: shorten name, label or matrix values",
        ),
    ],
)
def test_what_an_operator_does_not_have_is_refused_at_its_place(mistake, text, message):
    mistake(text, message)


IF = """\
op: If
opset: 21
cases:
- name: one
  inputs: {cond: {value: true, dtype: bool}, outer_0: {value: [1, 2], dtype: float32}}
  attrs: {then_branch: "GRAPH", else_branch: "() => (z) { z = Identity(outer_0) }"}
"""
GRAPH = "then_branch: '{}' is not a tensor of the graph, nor around it ({})"


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (
            "() => (y) { y = Ad(outer_0) }",
            "attribute then_branch is not a graph: No schema for 'Ad'",
        ),
        (
            "() = (y) { y = Neg(outer_0) }",
            "attribute then_branch is not a graph: line 1, column 5: ",
        ),
        ("() => (y) { y = Neg(outer_1) }", GRAPH.format("outer_1", "did you mean 'outer_0'?")),
        ("() => (y) { y = Neg(qqq) }", GRAPH.format("qqq", GRAPHS_ARE)),
        *(
            (
                f"() => ({name}) {{ {name} = Neg(outer_0) }}",
                f"then_branch: '{name}' is the name of a tensor around the graph",
            )
            for name in ("cond", "outputs_0")
        ),
        ("[1]", "attribute then_branch is not a graph: line 1, column 1"),
    ],
)
def test_what_is_no_graph_is_refused_in_its_words(problems, graph, told):
    (said,) = problems(IF.replace("GRAPH", graph))
    assert said.startswith(f"6:24: {told}")


def test_what_comes_of_a_graph_has_the_stated_rank_and_the_case_s_dtype(cases, problems, wording):
    text = IF.replace("GRAPH", "() => (y) { y = Neg(outer_0) }")
    for head, stated in (
        ("dtype: float32\n", "[-1, -2]"),
        ("", "{value: [-1, -2], dtype: float32}"),
    ):
        (case,) = cases(f"{head}{text}  expect: {{outputs_0: {stated}}}\n")
        assert [(one.name, one.rank, str(one.dtype)) for one in case.outputs] == [
            ("outputs_0", 1, "float32")
        ]
    assert problems(f"{text}  expect: {{outputs_0: [1]}}\n") == [wording]
    (plain,) = cases(hardmax(expect="{output: [0, 1]}"))
    assert plain.outputs[0].rank is None


def test_a_list_may_be_filled_like_a_tensor(cases: Cases) -> None:
    """For coefficients that are too many to be written."""
    [case] = cases("""
        op: Constant
        cases: [{name: a, opset: 13, attrs: {value_floats: {shape: [3], arange: [1, 0.1]}}}]
        """)
    assert case.attrs["value_floats"] == tuple(map(float, np.float32([1, 1.1, 1.2])))
    [case] = cases(
        "{op: Constant, cases: [{name: a, opset: 13, "
        "attrs: {value_ints: {shape: [1048576], constant: 0}}}]}"
    )
    assert len(case.attrs["value_ints"]) == 1 << 20
    long = formatting.attributes({"value_ints": (*range(5000),)})
    assert long == f"value_ints=[{', '.join(map(str, range(16)))}, … 5,000 in all]"


def test_a_tensor_is_an_attribute_of_its_own_type(cases: Cases) -> None:
    values = "[[5], [6], {value: 5, dtype: bfloat16}, {value: [nan], dtype: string}]"
    shared = f"op: ConstantOfShape, opset: 25, dtype: int8, matrix: {{attrs.value: {values}}}"
    of_two = "name: a, inputs: {input: [2]}, tolerance: {ulp: 0}"
    first = cases(f"{{{shared}, cases: [{{{of_two}}}]}}")
    assert [formatting.attributes(case.attrs) for case in first] == [
        *("value=int8[1] [5]", "value=int8[1] [6]", "value=bfloat16[] 5", "value=string[1] ['nan']")
    ]
    assert [str(case.outputs[0].dtype) for case in first] == ["int8", "int8", "bfloat16", "string"]
    assert {case.inputs[0].dtype.name for case in first} == {"int64"}
    assert first[2].id == "ConstantOfShape/a@attrs.value=value-5+dtype-bfloat16"
    assert len({case_digest(case) for case in first}) == 4
    assert places(first[:1], first) == [{"case": "ConstantOfShape/a@attrs.value=5"}]
    known = Place.model_validate(
        {"op": "ConstantOfShape", "attrs": {"value": {"value": [5], "dtype": "int8"}}}
    )
    assert [known.fits(case) for case in first] == [True, False, False, False]
    for value in (case.attrs["value"] for case in first):
        assert isinstance(value, np.ndarray)
        assert identical(array_of(TensorProto.FromString(tensor_bytes(value, ""))), value)


def test_a_mistake_in_many_versions_is_told_once(problems: ProblemsOf) -> None:
    text = hardmax(opset="", attrs="{axes: 0}", matrix="{opset: all}")
    said = "'axes' is not an attribute of Hardmax-1 (has: axis) (did you mean 'axis'?)"
    assert problems(text) == [f"5:11: {said}"]


def test_a_field_at_fault_is_not_missed_elsewhere(problems: ProblemsOf, wording: Wording) -> None:
    text = hardmax(dtype="flot32", opset="x", attrs="[1]", inputs="3", expect="{rejected: x}")
    assert problems(text) == wording


def test_an_id_of_200_characters_and_its_legal_twin_are_allowed(cases: Cases) -> None:
    name = "a" * (200 - len("Hardmax/"))
    text = hardmax(expect="{rejected: x, legal: {attrs.axis: -1}}").replace(
        "name: a", f"name: {name}"
    )
    (case,) = cases(text)
    assert len(case.id) == 200


def test_the_legal_twin_of_a_large_case_is_not_counted(cases: Cases) -> None:
    text = hardmax(
        attrs="{axis: 7}",
        inputs="{input: {shape: [67108864], constant: 0}}",
        expect="{rejected: x, legal: {attrs.axis: -1}}",
    )
    assert cases(text)[0].inputs[0].nbytes == 1 << 28


def meant(stated: Any, dtype: str | None = "float32", outputs=None) -> Tolerance:
    """What `stated` means; the outputs have the case's dtype unless said otherwise."""
    fields = CaseFields.model_validate({"tolerance": stated}).tolerance
    assert fields is not None
    names = outputs if outputs is not None else [dtype] if dtype else []
    return tolerance_of(fields, DTYPES[dtype] if dtype else None, [DTYPES[n] for n in names])


@pytest.mark.parametrize(
    ("stated", "want"),
    [
        ({"ulp": 0}, Tolerance(ulp=0)),
        ({"ulp": 3, "signed_zeros": True}, Tolerance(ulp=3, signed_zeros=True)),
        ({"rtol": 0.5}, Tolerance(rtol=0.5)),
        ({"atol": 1}, Tolerance(atol=1.0)),
        ({"rtol": 0, "atol": 0.0}, Tolerance()),
        ({"rtol": 1e-3, "atol": 2.0, "signed_zeros": False}, Tolerance(rtol=1e-3, atol=2.0)),
        ({"signed_zeros": True}, Tolerance(ulp=0, signed_zeros=True)),
        ({"strict": True}, Tolerance(ulp=0, strict=True)),
        ({"rtol": 0.5, "strict": True}, Tolerance(rtol=0.5, strict=True)),
        ({"ulp": 1, "strict": False}, Tolerance(ulp=1)),
        ({"float16": {"ulp": 1}, "float32": {"atol": 2}}, Tolerance(atol=2.0)),
    ],
)
def test_a_tolerance_is_in_ulps_or_relative_and_absolute(stated: Any, want: Tolerance) -> None:
    assert meant(stated) == want


@pytest.mark.parametrize(
    ("stated", "dtype"),
    [
        ({"signed_zeros": False}, "float32"),
        ({"ulp": 1, "rtol": 0.0}, "float32"),
        ({"ulp": 1, "atol": 0.5}, "float32"),
        ({"rtol": 1.0}, "float32"),
        ({"ulp": 128}, "bfloat16"),
        ({"ulp": 2**23}, "float32"),
        ({"float16": {"ulp": 1024}, "float32": {"ulp": 1}}, "float32"),
        ({"float16": {"ulp": 1}}, None),
        ({"float16": {}, "float32": {"ulp": 1}}, "float32"),
        ({"atol": 32752}, "float16"),
        ({"atol": 64}, "int8"),
        ({"atol": 1.8e38}, "float32"),
        ({"float16": {"atol": 5e4}, "float32": {"ulp": 1}}, "float32"),
    ],
)
def test_what_makes_no_sense_is_refused(stated: Any, dtype: str | None, wording: Wording) -> None:
    assert error_of(ValueError, meant, stated, dtype) == wording


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", None])
def test_it_is_held_against_the_dtype_of_every_output(dtype: str | None) -> None:
    assert meant({"ulp": 1024}, dtype, ["int8", "bool", "float32"]) == Tolerance(ulp=1024)
    assert meant({"atol": 32751}, dtype, ["float16"]) == Tolerance(atol=32751)
    assert meant({"atol": 2}, dtype, ["bool", "int8"]) == Tolerance(atol=2)
    for stated in ({"ulp": 1024}, {"atol": 32752}):
        with pytest.raises(ValueError, match="float16"):
            meant(stated, dtype, ["float32", "float16"])


def converted(kind: Any, value: Any) -> Any:
    return attribute_value(Attribute("a", kind, False, None), value)


@pytest.mark.parametrize(
    ("kind", "value", "want"),
    [
        ("int", -1, -1),
        ("int", 2**63 - 1, 2**63 - 1),
        ("float", 2, 2.0),
        ("float", 0.1, 0.1),
        ("float", math.inf, math.inf),
        ("string", "SAME_UPPER", "SAME_UPPER"),
        ("string", "", ""),
        ("ints", [1, -2], (1, -2)),
        ("ints", [], ()),
        ("floats", [1, 0.5], (1.0, 0.5)),
        ("strings", ["a", "b"], ("a", "b")),
    ],
)
def test_a_value_gets_the_declared_type(kind: str, value: Any, want: Any) -> None:
    got = converted(kind, value)
    assert got == want
    assert type(got) is type(want)
    assert isinstance(got, tuple) is isinstance(value, list)
    if isinstance(got, tuple):
        assert list(map(type, got)) == list(map(type, want))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "1", "must be a whole number, got '1'"),
        ("int", 2**63, "must fit in 64 bits, got 9223372036854775808"),
        ("int", "\x1b[31m", r"must be a whole number, got '\x1b[31m'"),
        ("float", "x", "must be a number, got 'x'"),
        ("float", False, "must be a number, got false"),
        ("float", 1e39, "must fit in float32, got 1e+39"),
        ("float", 10**400, "must fit in float32, got 1000"),
        ("string", 3, "must be a text, got 3"),
        ("ints", 3, "must be a list, each item a whole number; got 3"),
        ("ints", [1, 2.0], "must be a whole number, got 2.0"),
        ("ints", [[1]], "must be a whole number, got a list"),
        ("floats", {}, "must be a list, each item a number; got a mapping"),
        ("strings", "ab", "must be a list, each item a text; got 'ab'"),
        ("graph", 1, "must be a graph as text; got 1"),
        ("other", 1, "holds a type or sparse tensor"),
    ],
)
def test_another_type_is_refused(kind: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        converted(kind, value)


@pytest.mark.parametrize(
    ("stated", "want"),
    [
        ({"float": 1}, Typed("float", 1.0)),
        ({"string": "1"}, Typed("string", "1")),
        ({"ints": [1]}, Typed("ints", (1,))),
        ({"tensor": [1, 2]}, Typed("tensor", (1, 2))),
        ({"tensor": 1.5}, Typed("tensor", 1.5)),
        ({"int": 1}, 1),
    ],
)
def test_a_value_may_state_its_type(stated: Any, want: Any) -> None:
    got = typed_value(Attribute("a", "int", False, None), stated)
    assert got == want
    assert repr(got) == repr(want)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"flaot": 1}, "one of int, float, string, ints, floats, strings, tensor"),
        ({"int": 1, "float": 1}, "{type: value}"),
        ({}, "{type: value}"),
        (dict.fromkeys(ATTRIBUTE_TYPES, 1), "{type: value}"),
        ({"float": "x"}, "must be a number, got 'x'"),
        ({"tensor": "x"}, "must be a number, got 'x'"),
        ({"tensor": [[1]]}, "must be a number, got a list"),
    ],
)
def test_a_value_of_a_stated_type_is_checked(stated: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        typed_value(Attribute("a", "int", False, None), stated)

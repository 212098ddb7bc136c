"""Cases as case files: which values are written out, kept in a file, or made up by a rule."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from opcheck import dtypes
from opcheck.model import Given, OpVersion, OutputSpec, TensorSpec
from opcheck.suite.tensors import case_file, made_up, name_of
from tests.report.made import CASE

F32, MOST = np.float32, float(np.finfo(np.float32).max)
FILE = {"file": "x.pb"}


def spec(values, *, initializer=False):
    dtype = dtypes.of(values)
    return TensorSpec("x", dtype, values.shape, Given(values), initializer=initializer)


def rule(size, **by):
    return {"shape": [size], **by}


@pytest.mark.parametrize(
    ("values", "want"),
    [
        # Up to 64 elements, but for floats of several dimensions.
        (np.array([1.5, 2.5], F32), {"value": [1.5, 2.5]}),
        (np.array([1.5], ml_dtypes.bfloat16), {"value": [1.5]}),
        (np.arange(64) / F32(2), {"value": [n / 2 for n in range(64)]}),
        (np.arange(65) / F32(2), rule(65, uniform=[0.0, 32.0])),
        (np.array([[7, 8]], np.int8), {"value": [[7, 8]]}),
        (np.array([[1.5, 2.5]], F32), {"shape": [1, 2], "uniform": [1.5, 2.5]}),
        (np.array([], F32), rule(0, integers=[0, 0])),
        # Numbers that may be indices, up to 2^20.
        *((np.zeros(size, np.int32), FILE) for size in (65, 1 << 20)),
        (np.zeros((1 << 20) + 1, np.int32), rule((1 << 20) + 1, integers=[0, 0])),
        (np.zeros(65, np.int64), FILE),
        (np.ones(65, np.int8), rule(65, integers=[1, 1])),
        (np.array(["a"] * 65, object), FILE),
        (np.array([1j], np.complex64), FILE),
        (
            np.array([[0, np.nan, np.inf, 1, -np.inf, np.inf]], F32),
            {"shape": [1, 6], "choice": [0.0, 1.0, -np.inf, np.inf]},
        ),
        (np.array([[-1.5e308, 1.5e308]]), {"shape": [1, 2], "choice": [-1.5e308, 1.5e308]}),
        # Whole numbers, which float64 has up to 2^53.
        (np.array([[3, 5]], F32), {"shape": [1, 2], "integers": [3, 5]}),
        *(
            (
                np.array([[sign * (2.0**53 - 1), sign]]),
                {"shape": [1, 2], "integers": sorted([sign * (2**53 - 1), sign])},
            )
            for sign in (1, -1)
        ),
        (np.array([[0, 2.0**53]]), {"shape": [1, 2], "uniform": [0.0, 9.007e15]}),
        (np.array([[-(2.0**53), 0]]), {"shape": [1, 2], "uniform": [-9.007e15, 0.0]}),
        (np.full(65, 2**64 - 1, np.uint64), rule(65, integers=[2**53, 2**53])),
        (np.full((1 << 20) + 1, -(2**63)), rule((1 << 20) + 1, integers=[-(2**53)] * 2)),
        # Four digits, which may be too large for the type.
        (np.array([[1.23456, 7.65432]]), {"shape": [1, 2], "uniform": [1.235, 7.654]}),
        (np.array([[-MOST, MOST]], F32), {"shape": [1, 2], "uniform": [-MOST, MOST]}),
    ],
)
def test_a_tensor_is_written_out_kept_or_made_up(values, want):
    found = made_up(spec(values))
    if "file" in found:
        assert len(found["file"].removeprefix("x_").removesuffix(".pb")) == 16
        found = FILE
    assert list(found.items()) == list(want.items())
    assert repr(found) == repr(want)


def test_a_constant_is_written_out_though_it_is_a_matrix_of_floats():
    assert made_up(spec(np.array([[1.5]], F32), initializer=True)) == {"value": [[1.5]]}


def test_a_case_file_has_the_fields_of_its_cases_and_notes_on_them(snapshot):
    of_sums = OpVersion("ai.onnx.ml", "Sum", 1)
    inputs = (spec(np.array([1.5], F32)), spec(np.array([[True]]), initializer=True))
    inputs = (inputs[0], replace(inputs[1], name="y"))
    attrs = {"axes": (0, 1), "table": np.array([2.5], ml_dtypes.bfloat16), "mode": "1"}
    one = replace(CASE, name="Sum 1", op=of_sums, inputs=inputs, attrs=attrs, empty="why: not")
    other = replace(
        CASE, name="2", op=of_sums, inputs=(), attrs={}, outputs=(OutputSpec("z", None),)
    )
    snapshot("case_file", case_file([one, other], made_up, ["first"]))
    # The usual domain is not written.
    head = case_file([CASE], made_up).splitlines()[:4]
    assert head == ["op: Hardmax", "opset: 13", "cases:", f"- name: {CASE.name}"]


@pytest.mark.parametrize(
    ("text", "name"), [("/a--B.c/", "a_b_c"), ("_1x", "node_1x"), ("…", "node"), ("x", "x")]
)
def test_any_name_becomes_one_of_a_case(text, name):
    assert name_of(text) == name

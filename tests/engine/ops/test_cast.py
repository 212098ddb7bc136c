"""Cast against Python's exact numbers, and literals from its text."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from opcheck import opset
from opcheck.dtypes import DTYPES, ELEMENT_TYPES
from opcheck.engine import evaluate
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion

RNG = np.random.default_rng(5)
NARROW = ("float16", "bfloat16", "float32")


def cast(x, to, since=28):
    dtype = ELEMENT_TYPES[to]
    (y,) = evaluate(
        OpVersion("", "Cast", since), [x], {"to": dtype.word if since == 1 else dtype.onnx}
    )
    assert (y.dtype, y.shape) == (dtype.numpy, x.shape)
    return y


def nearest(value, dtype):
    """The number of a floating dtype next to an exact one, ties to even, in exact arithmetic."""
    if not value:
        return 0.0
    size, exponent = abs(value), dtype.min_exponent
    while size >= Fraction(2) ** (exponent + dtype.precision):
        exponent += 1
    digits = round(size / Fraction(2) ** exponent)  # Python rounds ties to even
    made = Fraction(digits) * Fraction(2) ** exponent
    largest = (2**dtype.precision - 1) * Fraction(2) ** (
        1 - dtype.min_exponent - 2 * (dtype.precision - 1)
    )
    return float("inf" if made > largest else made) * (1 if value > 0 else -1)


def around_middles(dtype, integers):
    """Numbers at and next to the middle of two of `dtype`."""
    exponents = range(dtype.precision + 1, 63) if integers else (-20, -3, 0, 5, 12)
    for exponent in exponents:
        middle = Fraction(2) ** exponent * (
            1 + Fraction(1, 2**dtype.precision) * RNG.integers(1, 9)
        )
        for off in (-1, 0, 1):
            yield middle + (off if integers else off * Fraction(2) ** (exponent - 45))


@pytest.mark.parametrize("to", [*NARROW, "float64"])
@pytest.mark.parametrize("own", [np.int64, np.uint64])
def test_integers_are_rounded_once(own, to):
    ends = [np.iinfo(own).min, np.iinfo(own).max, 2**53 + 1, 2**53 + 2**29 + 1]
    values = [int(v) for v in around_middles(DTYPES[to], integers=True)] + [int(e) for e in ends]
    made = cast(np.array(values, own), to).astype(np.float64)
    assert made.tolist() == [nearest(Fraction(value), DTYPES[to]) for value in values]


@pytest.mark.parametrize("to", NARROW)
def test_float64_is_rounded_once(to):
    values = [float(v) * s for v in around_middles(DTYPES[to], integers=False) for s in (1, -1)]
    values += [1e-7, 3e-8, 1e-40, 65519.99, 65520.0, 3.4028235677973366e38]
    made = cast(np.array(values), to).astype(np.float64)
    assert made.tolist() == [nearest(Fraction(value), DTYPES[to]) for value in values]


def test_integers_wrap_as_the_text_says():
    assert cast(np.array([200, -129], np.int16), "int8").tolist() == [-56, 127]
    assert cast(np.array([-1], np.int64), "uint64").tolist() == [2**64 - 1]


def test_fractions_are_cut_off_and_all_but_zeros_are_true():
    x = np.array([0.5, -0.5, 2.5, -2.5, 0.0, -0.0])
    assert cast(x, "int32").tolist() == [0, 0, 2, -2, 0, 0]
    assert (
        cast(np.array([*x, np.nan, np.inf]), "bool").tolist()
        == [True] * 4 + [False] * 2 + [True] * 2
    )
    assert cast(np.array([2.0**63]), "uint64").tolist() == [2**63]


def test_version_1_takes_words():
    assert cast(np.array([3], np.int8), "float64", since=1).tolist() == [3.0]
    for word in ("float", "FLOAT32", "STRING", "BFLOAT16"):
        with pytest.raises(InvalidNode, match="names no type"):
            evaluate(OpVersion("", "Cast", 1), [np.array([3], np.int8)], {"to": word})


@pytest.mark.parametrize("to", ["string", "float8e4m3fn", "int4"])
def test_what_case_files_cannot_state_is_unsupported(to):
    with pytest.raises(NotSupported, match=f"unsupported by opcheck: casts of {to}"):
        cast(np.array([1.0], ml_dtypes.bfloat16), to)


@pytest.mark.parametrize(
    ("name", "attrs", "wanted"),
    [
        ("Cast", {"to": 10}, "float16"),
        ("EyeLike", {"dtype": 7}, "int64"),
        ("EyeLike", {}, None),
        ("RandomNormal", {}, "float32"),
        ("TopK", {}, "float64"),
        ("Shape", {}, "int64"),
        ("Cast", {"to": 99}, None),
    ],
)
def test_an_output_has_the_dtype_that_an_input_or_an_attribute_or_the_schema_names(
    name, attrs, wanted
):
    schema = opset.describe("", name, 28)
    found = opset.output_dtype(
        schema, schema.outputs[0], {"T": DTYPES["float64"]} if name == "TopK" else {}, attrs
    )
    assert (found and found.name) == wanted

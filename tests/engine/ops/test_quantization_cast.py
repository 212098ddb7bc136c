"""Cast against Python's exact numbers, and literals from its text."""

from fractions import Fraction

import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.engine.ops import quantization
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate
from tests.precise.by_the_text import MP, nearest

TO = ("float16", "bfloat16", "float32", "float64")
WHOLE = [0, 2**63 - 1, 2**53 + 1, 2**53 + 2**29 + 1]
ENDS = {
    "int64": [-(2**63), *WHOLE],
    "uint64": [2**64 - 1, *WHOLE],
    "float64": [1e-7, 3e-8, 1e-40, 65519.99, 65520.0, 3.4028235677973366e38],
}

#: Of 0.1 as float32 more digits are possible than are needed; so of 1e-7, and of seven digits.
TEXTS = [False, True, False, True, False, True, True]


def cast(values, own, to):
    x = np.array(values, DTYPES[own].numpy)
    (y,) = evaluate(OpVersion("", "Cast", 28), [x], {"to": DTYPES[to].onnx})
    assert (y.dtype, y.shape) == (DTYPES[to].numpy, x.shape)
    return y.tolist()


@pytest.mark.parametrize(("own", "to"), [(own, to) for own in ENDS for to in TO if own != to])
def test_every_number_is_rounded_once(own, to):
    whole, digits, values = own != "float64", DTYPES[to].precision, [*ENDS[own]]
    for exponent in range(digits + 1, 63) if whole else (-20, -3, 0, 5, 12):
        middle = Fraction(2) ** exponent * (1 + Fraction(1 + exponent % 8, 2**digits))
        step = 1 if whole else Fraction(2) ** (exponent - 45)
        near = (middle - step, middle, middle + step)
        values += map(int, near) if whole else (sign * float(n) for n in near for sign in (1, -1))
    assert cast(values, own, to) == [nearest(MP.mpf(value), to) for value in values]


@pytest.mark.parametrize(
    ("values", "own", "to", "wanted"),
    [
        ([200, -129], "int16", "int8", [-56, 127]),
        ([-1], "int64", "uint64", [2**64 - 1]),
        ([0.5, -0.5, 2.5, -2.5, 0.0, -0.0], "float64", "int32", [0, 0, 2, -2, 0, 0]),
        ([0.5, -2.5, np.nan, np.inf, 0.0, -0.0], "float64", "bool", [True] * 4 + [False] * 2),
        ([2.0**63], "float64", "uint64", [2**63]),
    ],
)
def test_integers_wrap_fractions_are_cut_off_and_all_but_zeros_are_true(values, own, to, wanted):
    assert cast(values, own, to) == wanted


@pytest.mark.parametrize("to", TO)
def test_every_text_is_rounded_once_to_what_it_names(to):
    values = []
    for exponent in (-20, -3, 0, 5, 12):
        middle = Fraction(2) ** exponent * (
            1 + Fraction(1 + exponent % 8, 2 ** DTYPES[to].precision)
        )
        values += [middle + Fraction(n, 10**120) for n in (-1, 0, 1)]
    texts = [f"{value * 10**130 // 1}e-130" for value in values]
    assert [Fraction(text[:-5]) / 10**130 for text in texts] == values
    with MP.workprec(600):
        wanted = [nearest(MP.mpf(v.numerator) / v.denominator, to) for v in values]
    assert cast(texts + [f"-{text}" for text in texts], "string", to) == wanted + [
        -n for n in wanted
    ]


@pytest.mark.parametrize(
    ("values", "own", "to"),
    [
        (["Hello World!"], "string", "float32"),
        (["100.5"], "string", "int32"),
        (["256"], "string", "uint8"),
        (["1"], "string", "bool"),
        (["-inf"], "string", "float32"),
        ([True], "bool", "string"),
    ],
)
def test_what_nothing_is_said_of_is_unsupported(values, own, to, wording):
    with pytest.raises(NotSupported) as raised:
        cast(values, own, to)
    assert raised.value == wording


@pytest.mark.parametrize(
    ("values", "own", "to"),
    [
        ([-129, 128.0], "float32", "int8"),
        ([np.nan], "float64", "int64"),
        ([0.1, np.inf, -0.0], "float32", "string"),
        ([2.0**64], "float64", "uint64"),
        ([7], "int8", "float4e2m1"),
        ([-2], "int8", "float8e8m0"),
        ([0.0], "float32", "float8e8m0"),
    ],
)
def test_what_is_left_open_judges_nobody(values, own, to):
    cast(values, own, to)
    with judging(), pytest.raises(NotSupported):
        cast(values, own, to)


@pytest.mark.parametrize(
    ("values", "own", "to", "undefined"),
    [
        ([1, 128.0, -128.9], "float32", "int8", [False, True, False]),
        ([np.nan, 3], "float64", "int64", [True, False]),
        ([7, 6, -8], "int8", "float4e2m1", [True, False, True]),
        ([0.5, 0.1, 1e10, 1e-7, 123456, 1234567, np.nan], "float32", "string", TEXTS),
    ],
)
def test_beside_what_is_left_open_others_are_judged(values, own, to, undefined):
    x = np.array(values, DTYPES[own].numpy)
    node = Node(OpVersion("", "Cast", 28), (x,), {"to": DTYPES[to].onnx})
    with judging():
        for reading in each_answer(node):
            assert reading.undefined[0].tolist() == undefined


def test_a_float_is_written_in_three_ways():
    x = np.float32([0.5, -2.25, 1000, 1e10])
    with judging():
        found = by_reading(OpVersion("", "Cast", 28), [x], {"to": DTYPES["string"].onnx})
    assert {reading: y.tolist() for reading, (y,) in found.items()} == {
        "fewest_digits": ["0.5", "-2.25", "1000", "10000000000"],
        "with_a_point": ["0.5", "-2.25", "1000.0", "10000000000.0"],
        "with_six_places": ["0.500000", "-2.250000", "1000.000000", "10000000000.000000"],
    }


def test_version_1_takes_words():
    first, x = OpVersion("", "Cast", 1), [np.array([3], np.int8)]
    assert evaluate(first, x, {"to": "DOUBLE"})[0].dtype == np.float64
    for word in ("float", "FLOAT32", "STRING", "BFLOAT16"):
        with pytest.raises(InvalidNode, match="names no type"):
            evaluate(first, x, {"to": word})


@pytest.mark.parametrize("to", ["float32", "float8e4m3fn", "int64", "int4", "bool", "string"])
def test_complex_numbers_are_declined_without_a_warning(to):
    for own in (np.complex64, np.complex128):
        with pytest.raises(NotSupported, match="casts of complex"):
            quantization.cast(np.array([1 + 2j], own), quantization.Target(DTYPES[to]))

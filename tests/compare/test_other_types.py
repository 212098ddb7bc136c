"""Strings, minifloats, complex numbers, sequences, optionals: what case files know nothing of."""

import math

import numpy as np
import pytest

from opcheck.compare import Want, compare, compare_outputs
from opcheck.dtypes import DTYPES
from opcheck.model import EXACT, NOTHING, Foreign, Items, Tolerance

LOOSE = Tolerance(rtol=0.1, atol=0.0)
X = np.array([1.0, 2.0], np.float32)


def want(array, name="y", **rest):
    dtype = next(d for d in DTYPES.values() if d.numpy == array.dtype)
    return Want(name, dtype, array, **rest)


def minifloat(name, *values):
    return np.array(values).astype(DTYPES[name].numpy)


def items(*arrays):
    return Items(f"list of {len(arrays)} arrays", arrays)


def sequence(*arrays):
    wants = tuple(want(array, f"y[{place}]") for place, array in enumerate(arrays))
    return Want("y", None, np.empty(0), form="sequence", items=wants)


def test_strings_are_equal_or_wrong_and_shown():
    wanted = want(np.array(["a", "ü", ""], object))
    assert compare(wanted, np.array(["a", "ü", ""], object), LOOSE).problem is None
    found = compare(wanted, np.array(["a", "u", ""], object), LOOSE)
    assert (found.problem, found.wrong, found.used) == ("values", 1, math.inf)
    assert [(w.index, w.want, w.got, w.allowed) for w in found.worst] == [((1,), "ü", "u", "exact")]
    assert found.picture
    assert found.picture().cells == (".Z.",)


@pytest.mark.parametrize(
    "name", [name for name, dtype in DTYPES.items() if dtype.kind == "minifloat"]
)
def test_minifloats_are_judged_by_rtol_and_atol(name):
    wanted = want(minifloat(name, 1, 2))
    assert compare(wanted, minifloat(name, 1, 2), EXACT).problem is None
    assert compare(wanted, minifloat(name, 1, 4), EXACT).wrong == 1
    assert compare(wanted, minifloat(name, 1, 4), LOOSE).wrong == 1
    assert compare(wanted, minifloat(name, 1, 4), Tolerance(rtol=1.0)).problem is None
    # A third is rounded, as in each of these types.
    third = Want("y", DTYPES[name], np.array([1 / 3]))
    assert compare(third, minifloat(name, 1 / 3), EXACT).problem is None


@pytest.mark.parametrize("name", ["float8e4m3fn", "float32"])
def test_numbers_outside_the_operator_s_range_are_wrong_in_minifloats_too(name):
    wanted = want(minifloat(name, 0.125, 2, math.nan), low=0.0, high=2.0)
    near = minifloat(name, 0, 1.5, math.nan)
    assert compare(wanted, near, Tolerance(atol=1.0)).problem is None
    found = compare(wanted, minifloat(name, -0.125, 2.25, 1), Tolerance(atol=1.0))
    assert [worst.allowed for worst in found.worst] == ["within [0, 2]"] * 2 + ["NaN"]


def test_nan_is_nan_and_infinity_is_infinity_in_minifloats_too():
    name = "float8e5m2"
    special = minifloat(name, math.nan, math.inf, -math.inf, 1)
    assert compare(want(special), special, EXACT).problem is None
    vast = Tolerance(rtol=1e9, atol=1e9)
    assert compare(want(special), minifloat(name, 1, 1, 1, 1), vast).wrong == 3
    assert compare(want(minifloat(name, 1, 1, 1, 1)), special, vast).wrong == 3


def test_complex_numbers_are_judged_by_their_distance():
    wanted = want(np.array([3 + 4j], np.complex64))
    assert compare(wanted, np.array([3 + 4.4j], np.complex64), LOOSE).problem is None
    found = compare(wanted, np.array([3 + 4.6j], np.complex64), LOOSE)
    assert (found.wrong, found.worst[0].allowed) == (1, "±0.5")


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2"])
def test_narrow_integers_are_exact(name):
    wanted = want(minifloat(name, 0, 1))
    assert compare(wanted, minifloat(name, 0, 1), EXACT).problem is None
    assert compare(wanted, minifloat(name, 1, 1), EXACT).wrong == 1


def test_another_type_of_so_many_bits_is_wrong():
    found = compare(want(minifloat("float8e4m3fn", 1)), minifloat("float8e5m2", 1), LOOSE)
    assert (found.problem, found.detail) == ("dtype", "float8e5m2, want float8e4m3fn")


def test_of_a_sequence_each_item_is_judged():
    found = compare_outputs([sequence(X, X)], [items(X, X + 1)], EXACT)
    assert [(c.output, c.problem) for c in found] == [("y[0]", None), ("y[1]", "values")]
    assert [c.problem for c in compare_outputs([sequence()], [items()], EXACT)] == [None]


@pytest.mark.parametrize(
    ("got", "problem"),
    [
        (items(X), "count"),
        (X, "type"),
        (Foreign("builtins.dict"), "type"),
        (NOTHING, "type"),
    ],
)
def test_what_is_no_such_sequence_is_wrong(got, problem, wording):
    (found,) = compare_outputs([sequence(X, X)], [got], EXACT)
    assert (found.problem, found.detail, found.used) == (problem, wording, math.inf)


def test_a_sequence_in_a_tensor_s_place_is_wrong(wording):
    (found,) = compare_outputs([want(X)], [items(X)], EXACT)
    assert (found.problem, found.detail) == ("type", wording)


def test_no_value_is_matched_by_no_value_alone():
    nothing = Want("y", None, np.empty(0), form="nothing")
    assert compare_outputs([nothing], [NOTHING], EXACT)[0].problem is None
    for got in (X, items(), Foreign("builtins.dict")):
        assert compare_outputs([nothing], [got], EXACT)[0].problem == "type"


def test_of_random_values_type_and_shape_are_judged_and_the_rest_is_counted():
    wanted = want(X, random=True)
    found = compare(wanted, X + 5, EXACT)
    assert (found.problem, found.unjudged, found.total) == (None, 2, 2)
    assert compare(wanted, X[:1], EXACT).problem == "shape"
    assert compare(wanted, X.astype(np.float64), EXACT).problem == "dtype"


def test_parts_of_complex_numbers_are_compared_by_themselves():
    """A NaN in one part says nothing of the other, unless errors are allowed."""
    wanted = want(np.array([complex(math.nan, 2), complex(-0.0, 1)], np.complex64))
    for other, wrong, wrong_by_sign in (
        ([complex(math.nan, 2), complex(0.0, 1)], 0, 1),
        ([complex(math.nan, -2), complex(0.0, 1)], 1, 2),
        ([complex(2, math.nan), complex(0.0, -1)], 2, 2),
    ):
        got = np.array(other, np.complex64)
        assert compare(wanted, got, EXACT).wrong == wrong
        assert compare(wanted, got, Tolerance(ulp=0, signed_zeros=True)).wrong == wrong_by_sign
    assert compare(wanted, np.array([complex(math.nan, -2), 1j], np.complex64), LOOSE).wrong == 0
    rounded = Want("y", DTYPES["complex64"], np.array([0.1 + 1e-9j]))
    assert compare(rounded, np.array([0.1 + 1e-9j], np.complex64), EXACT).problem is None
    found = compare(rounded, np.array([complex(math.inf, 1)], np.complex64), EXACT)
    assert [one.allowed for one in found.worst] == ["exact"]

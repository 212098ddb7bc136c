import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from opcheck.compare.elements import CHUNK, WORST, Want
from opcheck.compare.outputs import compare, compare_outputs
from opcheck.dtypes import BASIC, DTYPES, round_to
from opcheck.model import EXACT, Foreign, Tolerance
from tests.wording import Wording

FLOAT32 = DTYPES["float32"]
FLOATS = [dtype for dtype in DTYPES.values() if dtype.kind == "float"]


def want(values: Any, dtype: str | None = "float32", **rest: Any) -> Want:
    values = np.asarray(values)
    if values.dtype.kind == "i" and (dtype is None or DTYPES[dtype].kind == "float"):
        values = values.astype(np.float64)
    return Want("y", DTYPES[dtype] if dtype else None, values, **rest)


def float32(values: Any) -> Any:
    return np.array(values, np.float32)


def test_the_first_of_type_dtype_and_shape_that_is_wrong_is_reported(wording: Wording) -> None:
    wanted = want(np.zeros((2, 3)))
    foreign = compare(wanted, Foreign("a list of 6 numbers"), EXACT)
    assert (foreign.problem, foreign.detail) == ("type", wording)
    dtype = compare(wanted, np.zeros(6), EXACT)
    assert (dtype.problem, dtype.detail) == ("dtype", "float64, want float32")
    shape = compare(wanted, np.ones(6, np.float32), EXACT)
    assert (shape.problem, shape.detail) == ("shape", "(6,), want (2, 3)")
    for found in [foreign, dtype, shape]:
        assert (found.output, found.used, found.worst, found.max_ulp) == ("y", math.inf, (), None)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (3, 1), (2, 3, 1), (6,), (0,), (3, 2)])
def test_nothing_is_broadcast(shape: tuple[int, ...]) -> None:
    for tolerance in [EXACT, Tolerance(atol=1.0)]:
        found = compare(want(np.zeros((2, 3))), np.zeros(shape, np.float32), tolerance)
        assert found.problem == "shape"
        found = compare(want(np.zeros(shape)), np.zeros((2, 3), np.float32), tolerance)
        assert found.problem == "shape"


@pytest.mark.parametrize(
    ("got", "name"),
    [
        (np.zeros(2, object), "object"),
        (np.zeros(2, "U3"), "string"),
        (np.zeros(2, np.complex64), "complex64"),
        (np.zeros(2, ml_dtypes.float8_e5m2), "float8e5m2"),
        (np.zeros(2, np.bool_), "bool"),
        (np.zeros(2, ml_dtypes.bfloat16), "bfloat16"),
    ],
)
def test_any_other_dtype_is_named(got: Any, name: str) -> None:
    found = compare(want([0, 0]), got, Tolerance(atol=9.0))
    assert (found.problem, found.detail) == ("dtype", f"{name}, want float32")


def test_where_any_dtype_will_do_it_must_hold_the_values(wording: Wording) -> None:
    free = want([0.5, 2.0], None)
    for dtype in FLOATS:
        assert compare(free, np.array([0.5, 2.0], dtype.numpy), EXACT).problem is None
        assert compare(free, np.array([0.5, 1.0], dtype.numpy), EXACT).problem == "values"
    found = compare(free, np.array([0, 2]), EXACT)
    assert found.problem == "dtype"
    assert "0.5" in found.detail
    assert "int64" in found.detail
    assert compare(want([3.0, 2.0], None), np.array([3, 2], np.uint8), EXACT).problem is None
    strings = compare(free, np.array(["0.5", "2"]), EXACT)
    assert (strings.problem, strings.detail) == ("dtype", wording)
    truths = want(np.array([True, False]), None)
    assert compare(truths, np.array([True, False]), EXACT).problem is None
    assert compare(truths, np.array([1, 0], np.uint8), EXACT).problem == "dtype"
    assert compare(truths, float32([1, 0]), EXACT).problem == "dtype"


def test_integers_may_be_wanted_in_another_integer_dtype_that_holds_them(wording: Wording) -> None:
    values = np.array([-128, 127])
    assert compare(want(values, "int8"), values.astype(np.int8), EXACT).problem is None
    assert compare(want(values, "int8"), np.array([-128, 126], np.int8), EXACT).wrong == 1
    for dtype in ["uint8", "uint64"]:
        with pytest.raises(ValueError, match=r"-128 is no value") as raised:
            compare(want(values, dtype), values.astype(dtype), EXACT)
        assert raised.value == wording
    for dtype in ["int64", "int8"]:
        huge = np.array([2**63 + 1], np.uint64)
        with pytest.raises(ValueError, match="9223372036854775809 is no value") as raised:
            compare(want(huge, dtype), huge.astype(dtype), EXACT)
        assert raised.value == wording


def test_a_wrong_number_of_outputs_is_one_finding() -> None:
    wants = [Want(name, FLOAT32, np.zeros(2)) for name in ["y", "mask", "rest"]]
    array = np.zeros(2, np.float32)
    (missing,) = compare_outputs(wants, [array], EXACT)
    told = missing.output, missing.problem, missing.detail
    assert told == ("mask", "count", "1 output, want 3")
    (extra,) = compare_outputs(wants[:1], [array, array, array], EXACT)
    assert (extra.output, extra.problem, extra.detail) == ("output 1", "count", "3 outputs, want 1")
    (null,) = compare_outputs(wants, [Foreign("builtins.NoneType")], EXACT)
    assert (null.output, null.detail) == ("y", "1 output (builtins.NoneType), want 3")
    (none,) = compare_outputs(wants, [], EXACT)
    assert (none.output, none.detail) == ("y", "0 outputs, want 3")
    assert compare_outputs([], [], EXACT) == ()


def test_each_output_is_judged_by_itself() -> None:
    wants = [Want("y", FLOAT32, np.zeros(2)), Want("z", DTYPES["int64"], np.array([1, 2]))]
    y, z = compare_outputs(wants, [np.ones(2, np.float32), np.array([1, 2])], EXACT)
    assert (y.output, y.wrong, z.output, z.problem) == ("y", 2, "z", None)
    y, z = compare_outputs(wants, [np.array([1, 2]), np.zeros(2, np.float32)], EXACT)
    assert (y.problem, z.problem) == ("dtype", "dtype")


@pytest.mark.parametrize("tolerance", [Tolerance(atol=math.nan), Tolerance(ulp=-1)])
def test_a_bad_tolerance_is_refused_even_where_nothing_is_compared(tolerance: Tolerance) -> None:
    with pytest.raises(ValueError, match=r"rtol|ULP"):
        compare(want([1.0]), float32([1.0]), tolerance)
    with pytest.raises(ValueError, match=r"rtol|ULP"):
        compare_outputs([], [], tolerance)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 0, 4), (2, 3)])
def test_what_is_right_passes_at_every_rank_and_size(dtype: Any, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    for tolerance in [EXACT, Tolerance(ulp=2), Tolerance(rtol=1e-9)]:
        found = compare(Want("y", dtype, values), round_to(values, dtype), tolerance)
        assert (found.problem, found.wrong, found.used, found.max_ulp) == (None, 0, 0.0, 0)
        assert (found.total, found.where, found.worst) == (values.size, "", ())


def test_a_reference_in_the_dtype_of_the_output_is_taken_as_it_is() -> None:
    for dtype in FLOATS:
        values = np.array([0.1, -0.0, np.nan, np.inf], dtype.numpy)
        assert compare(Want("y", dtype, values), values.copy(), EXACT).problem is None
        assert compare(Want("y", dtype, values), -values, EXACT).wrong == 2


@pytest.mark.parametrize("dtype", list(BASIC.values()), ids=str)
def test_memory_layout_and_byte_order_of_the_output_do_not_matter(dtype: Any) -> None:
    values = np.random.default_rng(0).integers(0, 2, (4, 6)).astype(dtype.numpy)
    wrong = values.copy()
    wrong[1, 3] = dtype.numpy.type(1) - wrong[1, 3] if dtype.kind != "bool" else ~wrong[1, 3]
    for array, count in [(values, 0), (wrong, 1)]:
        swapped = array.byteswap().view(array.dtype.newbyteorder("S"))
        wide = np.zeros((8, 12), dtype.numpy)
        wide[::2, ::2] = array
        frozen = array.copy()
        frozen.flags.writeable = False
        for got in [array, swapped, np.asfortranarray(array), wide[::2, ::2], frozen]:
            before = got.copy()
            found = compare(Want("y", dtype, values), got, EXACT)
            assert found.wrong == count
            assert [element.index for element in found.worst] == [(1, 3)] * count
            np.testing.assert_array_equal(got, before)


def test_a_subclass_of_array_is_judged_by_its_plain_values() -> None:
    masked = np.ma.masked_array(float32([1, 2]), mask=[False, True])
    assert compare(want([1, 3]), masked, EXACT).wrong == 1
    matrix = float32([[1, 2], [3, 4]]).view(np.matrix)
    assert compare(want([[1, 2], [3, 5]]), matrix, EXACT).worst[0].index == (1, 1)


def test_a_failing_comparison_tells_everything_about_the_wrong_elements(wording: Wording) -> None:
    wanted = want([[1, 0, 0], [0, 0, 1]], low=0, high=1)
    got = float32([[1, 0, 0], [1, 0, 0]])
    found = compare(wanted, got, EXACT, like=float32([[3, 1, 1], [3, 0, 3]]))
    assert (found.problem, found.detail) == ("values", "2 of 6 elements wrong")
    assert (found.wrong, found.total, found.max_ulp, found.used) == (2, 6, 0x3F800000, math.inf)
    assert found.where == wording
    first, second = found.worst
    assert (first.index, first.want, first.got, first.input) == ((1, 0), 0.0, 1.0, 3.0)
    assert (second.index, second.want, second.got, second.input) == ((1, 2), 1.0, 0.0, 3.0)
    assert all(type(i) is int for i in first.index)


def test_the_input_is_shown_only_where_it_has_the_shape_of_the_output() -> None:
    got = float32([0, 9])
    for like in [None, float32([1]), float32([[5, 6]])]:
        assert compare(want([0, 1]), got, EXACT, like).worst[0].input is None
    for dtype in [np.float16, ml_dtypes.bfloat16, ">f4", np.int64]:
        (element,) = compare(want([0, 1]), got, EXACT, np.array([5, 6]).astype(dtype)).worst
        assert element.input == 6
        assert type(element.input) in (int, float)


def test_exact_comparisons_show_the_first_wrong_elements() -> None:
    found = compare(want(np.zeros(100)), np.arange(100, dtype=np.float32), EXACT)
    assert [element.index for element in found.worst] == [(i,) for i in range(1, WORST + 1)]


def test_tolerances_show_the_worst_elements_in_index_order() -> None:
    errors = float32(np.zeros(3 * CHUNK))
    places = [5, 70, CHUNK - 1, CHUNK, 2 * CHUNK + 1, 2 * CHUNK + 2, 3 * CHUNK - 2, 3 * CHUNK - 1]
    errors[10:60] = 2
    errors[places] = np.linspace(9, 3, WORST)
    found = compare(want(np.zeros(errors.size)), errors, Tolerance(atol=1.0))
    assert [element.index for element in found.worst] == [(place,) for place in places]
    assert (found.wrong, found.used) == (50 + WORST, 9.0)
    errors[20] = np.nan
    found = compare(want(np.zeros(errors.size)), errors, Tolerance(atol=1.0))
    assert [element.index[0] for element in found.worst] == sorted([20, *places[:-1]])
    assert (found.max_ulp, found.used) == (None, math.inf)


def test_of_equally_wrong_elements_the_first_are_shown() -> None:
    errors = np.full(2 * CHUNK, 2, np.float32)
    errors[::3] = 3
    errors[[9000, CHUNK + 7]] = 4
    found = compare(want(np.zeros(errors.size)), errors, Tolerance(atol=1.0))
    assert [element.index[0] for element in found.worst] == [0, 3, 6, 9, 12, 15, 9000, CHUNK + 7]


def test_used_is_the_largest_part_of_the_tolerance_that_was_needed() -> None:
    wanted = want([1.0, 1.0, 1.0])
    step = np.float32(2**-23)
    got = float32([1, 1 + 2 * step, 1 + step])
    at_the_limit = compare(wanted, got, Tolerance(ulp=2))
    assert (at_the_limit.problem, at_the_limit.used, at_the_limit.max_ulp) == (None, 1.0, 2)
    assert compare(wanted, got, Tolerance(ulp=8)).used == 0.25
    beyond = compare(wanted, got, Tolerance(ulp=1))
    assert (beyond.problem, beyond.wrong, beyond.used) == ("values", 1, 2.0)
    assert compare(wanted, got, Tolerance(atol=4 * float(step))).used == 0.5


def test_one_nan_in_the_last_of_many_elements_is_seen() -> None:
    got = np.ones(2 * CHUNK + 1, np.float32)
    got[-1] = np.nan
    for tolerance in [EXACT, Tolerance(ulp=10**9), Tolerance(rtol=1e9, atol=1e9)]:
        found = compare(want(np.ones(got.size)), got, tolerance)
        assert (found.wrong, found.max_ulp, found.used) == (1, None, math.inf)
        assert found.where == f"only at [{2 * CHUNK}]"


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_upper_end_of_the_range_may_be_passed_by_four_ulp(dtype: Any) -> None:
    step = 2.0 ** (1 - dtype.precision)
    got = np.array([1 + 4 * step, 1 + 5 * step]).astype(dtype.numpy)
    want = Want("y", dtype, np.ones(2), low=0, high=1)
    found = compare(want, got, Tolerance(atol=float(6 * step)))
    assert [element.index for element in found.worst] == [(1,)]


@given(st.data())
def test_every_changed_element_is_counted_and_no_other(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(FLOATS))
    shape = data.draw(array_shapes(max_dims=4, max_side=6))
    values = np.random.default_rng(0).uniform(1, 2, shape)
    changed = data.draw(arrays(bool, shape))
    got = round_to(values, dtype)
    got[changed] = -got[changed]
    found = compare(
        Want("y", dtype, values), got, data.draw(st.sampled_from([EXACT, Tolerance(rtol=0.5)]))
    )
    places = [tuple(place) for place in np.argwhere(changed).tolist()]
    assert found.wrong == len(places)
    assert (found.problem is None) == (not places) == (found.used <= 1)
    assert {element.index for element in found.worst} <= set(places)
    assert len(found.worst) == min(WORST, len(places))
    assert [element.index for element in found.worst] == sorted(e.index for e in found.worst)
    for element in found.worst:
        assert element.got == float(got[element.index]) == -element.want

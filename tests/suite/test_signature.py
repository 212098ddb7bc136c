import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.opset import Parameter
from opcheck.suite.expectation import missing, place, slots, spelt

FLOATS = frozenset({"tensor(float)", "tensor(double)"})
CLIP = (
    Parameter("input", "T", FLOATS, "single"),
    Parameter("min", "T", FLOATS, "optional"),
    Parameter("max", "T", FLOATS, "optional"),
)
CONCAT = (Parameter("inputs", "T", FLOATS, "variadic"),)
MIXED = (Parameter("K", "I", FLOATS, "single"), *CONCAT)


def test_a_name_means_a_parameter() -> None:
    assert place(CLIP, "max") == (2, 0)
    assert place(CLIP, "Max") is None
    assert place(CLIP, "max_0") is None


@pytest.mark.parametrize("name", ["inputs_0", "inputs_12", "inputs_9999"])
def test_a_variadic_parameter_is_counted_from_0(name: str) -> None:
    assert place(MIXED, name) == (1, int(name.removeprefix("inputs_")))


@pytest.mark.parametrize(
    "name",
    [
        *("inputs", "inputs_", "inputs_00", "inputs_01", "inputs_-1", "inputs_x"),
        *("inputs_10000", "inputs_\u0663", "inputs_1 ", "_0", ""),
    ],
)
def test_what_is_no_count_means_nothing(name: str) -> None:
    assert place(MIXED, name) is None


def test_names_are_spelt_as_files_write_them() -> None:
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
    assert missing(op, names) == lacking


def test_slots_are_in_the_operator_s_order_with_gaps_before_the_last() -> None:
    assert slots(CLIP, ["max", "input"]) == ("input", "", "max")
    assert slots(CLIP, ["min", "input"]) == ("input", "min")
    assert slots(CLIP, ["input"]) == ("input",)
    assert slots(CLIP, []) == ()
    assert slots(MIXED, ["inputs_1", "inputs_0", "K"]) == ("K", "inputs_0", "inputs_1")
    assert slots(CLIP, ["nonsense", "input"]) == ("input",)


@given(st.permutations([f"inputs_{k}" for k in range(12)]))
def test_variadic_tensors_are_ordered_by_number_and_not_by_name(names: list[str]) -> None:
    assert slots(CONCAT, names) == tuple(f"inputs_{k}" for k in range(12))


@pytest.mark.parametrize(
    ("op", "inputs", "name", "dtype"),
    [
        ("TopK", "{X: [1, 2], K: [1]}", "K", "int64"),
        ("Where", "{condition: [true, false], X: [1, 2], Y: [3, 4]}", "condition", "bool"),
        ("Gather", "{data: [1, 2], indices: {value: [1], dtype: int32}}", "indices", "int32"),
    ],
)
def test_an_input_that_may_have_one_dtype_only_has_it(cases, op, inputs, name, dtype) -> None:
    (case,) = cases(
        f"op: {op}\nopset: 16\ndtype: float32\ncases:\n- {{name: a, inputs: {inputs}}}\n"
    )
    assert {one.name: one.dtype.name for one in case.inputs}[name] == dtype

import math
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Case, Fill, FromFile, Given, TensorSpec
from opcheck.suite import materialize

Cases = Callable[[str], tuple[Case, ...]]
Mistake = Callable[[str, str], None]

FILE = """
op: Identity
opset: 13
dtype: {dtype}
tolerance: {{ulp: 0}}
expect: {{rejected: nobody asks, legal: {{opset: 14}}}}
cases:
- name: a
  inputs:
    input: {tensor}
"""


@pytest.fixture
def tensor(cases: Cases) -> Callable[..., TensorSpec]:
    def read(text: str, dtype: str = "float32") -> TensorSpec:
        (case,) = cases(FILE.format(tensor=text, dtype=dtype))
        return case.inputs[0]

    return read


@pytest.fixture
def wrong(mistake: Mistake) -> Callable[..., None]:
    def check(text: str, message: str, dtype: str = "float32") -> None:
        mistake(FILE.format(tensor=text, dtype=dtype), message)

    return check


# literals
@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("7", ()),
        ("[]", (0,)),
        ("[[], []]", (2, 0)),
        ("[1, 2.5]", (2,)),
        ("[[1, 2, 3], [4, 5, 6]]", (2, 3)),
        ("[[[[[1]]]]]", (1, 1, 1, 1, 1)),
        ("{value: [[1], [2]]}", (2, 1)),
    ],
)
def test_a_literal_has_the_shape_it_is_written_in(tensor, text, shape):
    spec = tensor(text)
    assert spec.shape == shape
    assert materialize(spec).shape == shape


def test_a_literal_is_kept_in_float64_and_rounded_once(tensor: Callable[..., TensorSpec]) -> None:
    exact = 1 + 2**-8 + 2**-40
    spec = tensor(f"[{exact!r}, .inf, -.inf, .nan, -0.0, 1e-46]", "bfloat16")
    assert isinstance(spec.content, Given)
    assert spec.content.values.dtype == np.float64
    got = materialize(spec).astype(np.float64)
    np.testing.assert_array_equal(got, [1 + 2**-7, np.inf, -np.inf, np.nan, 0, 0])
    assert np.signbit(got[4])
    assert not np.signbit(got[5])


def test_integers_and_truth_values_are_kept_exactly(tensor: Callable[..., TensorSpec]) -> None:
    ends = [-(2**63), 2**63 - 1]
    assert materialize(tensor(f"{ends}", "int64")).tolist() == ends
    assert materialize(tensor(f"[{2**64 - 1}]", "uint64")).tolist() == [2**64 - 1]
    got = materialize(tensor("[true, false]", "bool"))
    assert got.dtype == np.bool_
    assert got.tolist() == [True, False]


RAGGED = "ragged: a list of shape"
WHOLE = "which holds whole numbers from"
OUTSIDE = {
    "float16": "is outside float16, which holds -65504 to 65504",
    "float32": "is outside float32, which holds -3.4028235e+38 to 3.4028235e+38",
    "int8": f"is outside int8, {WHOLE} -128 to 127",
    "uint8": f"is outside uint8, {WHOLE} 0 to 255",
}
LARGE, CUT = f"1{'0' * 400}", f"1{'0' * 29}… (401 characters)"
POINTS = "(write .inf, -.inf or .nan)"


@pytest.mark.parametrize(
    ("text", "message", "dtype"),
    [
        ("[[1], »[2, 3]]", f"{RAGGED} [2] beside a list of shape [1]", "float32"),
        ("[[1], »2]", "ragged: a number beside a list of shape [1]", "float32"),
        ("[1, »[2]]", f"{RAGGED} [1] beside a number", "float32"),
        ("[[[1], [2]], »[[3]]]", f"{RAGGED} [1, 1] beside a list of shape [2, 1]", "float32"),
        ("[1, »x]", "'x' is no value of float32", "float32"),
        ("[1, »inf]", f"'inf' is no value of float32 {POINTS}", "float32"),
        ("[1, »-NaN]", f"'-NaN' is no value of float32 {POINTS}", "float32"),
        ("[1, »true]", "true is no value of float32", "float32"),
        ("[1, »null]", "null is no value of float32", "float32"),
        ("[1, »{a: 1}]", "a mapping is no value of float32", "float32"),
        ("[»1, 0]", "1 is no value of bool", "bool"),
        ("[1, »2.0]", "2.0 is no value of int8", "int8"),
        ("{value: [1, »x]}", "'x' is no value of float32", "float32"),
        ("[a, »1]", "1 is no value of string (quote what is meant as text)", "string"),
        (
            "[1+2j, »1+2i]",
            "'1+2i' is no value of complex64"
            " (write a number, or a text such as 1+2j, nan+0j or -infj)",
            "complex64",
        ),
    ],
)
def test_a_literal_that_is_no_tensor_is_refused_at_its_place(wrong, text, message, dtype):
    wrong(text, f"input: {message}", dtype)


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("[1, »128]", "128", "int8"),
        ("[1, »-1]", "-1", "uint8"),
        ("[1, »70000]", "70000", "float16"),
        (f"[1, »{LARGE}]", CUT, "float32"),
        (f"[1, »{LARGE}]", CUT, "int8"),
        ("{shape: [1], constant: »1e39}", "1e+39", "float32"),
        ("{shape: [1], choice: [1, »1e39]}", "1e+39", "float32"),
        ("{shape: [1], constant: ».inf}", ".inf", "int8"),
        ("{shape: [1], constant: ».nan}", ".nan", "int8"),
        ("{shape: [1], constant: »0.5}", "0.5", "int8"),
        ("{shape: [2], constant: 0, put: [{at: [0], value: »1e39}]}", "1e+39", "float32"),
    ],
)
def test_a_number_that_its_dtype_does_not_hold_is_refused(wrong, text, value, dtype):
    wrong(text, f"{value} {OUTSIDE[dtype]}", dtype)


def test_half_of_a_complex_number_is_held_and_an_integer_has_no_signed_zero(wrong):
    wrong("[1, »1e39j]", f"1e+39 {OUTSIDE['float32']}", "complex64")
    wrong("[1, »-0]", "-0 is the integer 0, without a sign (write 0, or -0.0)")


def test_texts_and_complex_numbers(tensor: Callable[..., TensorSpec]) -> None:
    texts = materialize(tensor('[a, "1", "", "\\0ü"]', "string"))
    assert texts.tolist() == ["a", "1", "", "\0ü"]
    numbers = materialize(tensor("[[1, .5], [1+2j, -0-.infj]]".replace(".inf", "inf"), "complex64"))
    assert numbers.dtype == "complex64"
    assert [*map(str, numbers.reshape(-1))] == ["(1+0j)", "(0.5+0j)", "(1+2j)", "(-0-infj)"]
    drawn = materialize(tensor("{shape: [9], choice: [a, 1.5, 2]}", "string"))
    assert {*drawn.tolist()} == {"a", "1.5", "2"}
    stepped = materialize(tensor('{shape: [3], arange: ["1j", "1-1j"]}', "complex128"))
    assert stepped.tolist() == [1j, 1, 2 - 1j]
    changed = materialize(tensor("{shape: [2], constant: x, put: [{at: [1], value: y}]}", "string"))
    assert changed.tolist() == ["x", "y"]


# fills
def test_a_fill_is_kept_as_a_rule(tensor: Callable[..., TensorSpec]) -> None:
    spec = tensor("{shape: [2, 3], uniform: [0, 1.5], seed: 7}")
    assert spec.content == Fill("uniform", (0.0, 1.5), 7)
    assert spec.shape == (2, 3)
    assert tensor("{shape: [2], specials: true}").content == Fill("specials", ())
    assert tensor("{shape: [2], constant: .nan}").dtype is DTYPES["float32"]
    assert tensor("{shape: [2], choice: [1, -.inf]}").content == Fill("choice", (1, -math.inf))


def test_a_tensor_may_state_its_own_dtype(tensor: Callable[..., TensorSpec]) -> None:
    assert tensor("{value: [1], dtype: int64}").dtype is DTYPES["int64"]
    assert tensor("{shape: [1], constant: 1, dtype: float16}").dtype is DTYPES["float16"]


def test_an_empty_or_rank_0_tensor_can_be_filled(tensor: Callable[..., TensorSpec]) -> None:
    assert materialize(tensor("{shape: [], constant: 3}")) == 3
    assert materialize(tensor("{shape: [0, 3], permutation: [0, 1]}")).shape == (0, 3)


ALL = "value, file, constant, arange, uniform, normal, integers, choice, permutation, specials"


NOWHERE, BY = "its values are given nowhere", "its values are given by constant and arange"


@pytest.mark.parametrize(
    ("text", "message", "dtype"),
    [
        ("»{}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{shape: [2]}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{value: null}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{shape: [2], constant: 0, arange: [0, 1]}", f"{BY} (exactly one of {ALL})", "float32"),
        ("»{constant: 0}", "constant needs a shape", "float32"),
        ("{value: [1], »shape: [1]}", "shape goes with a fill only", "float32"),
        ("{value: [1], »seed: 1}", "seed goes with a fill only", "float32"),
        ("{shape: [1], arange: [0, »x]}", "'x' is no value of float32", "float32"),
        (
            "{shape: »[33554433], constant: 0}",
            "shape [33554433] needs more than 256 MiB",
            "float64",
        ),
        *(
            (
                f"{{shape: »[{shape}], constant: 0}}",
                f"shape [{said}] needs more than 67,108,864 elements",
                dtype,
            )
            for shape, said, dtype in (
                ("1000000, 1000000", "1000000, 1000000", "float32"),
                (f"{LARGE}, 0", f"{CUT}, 0", "float32"),
                ("67108865", "67108865", "int8"),
            )
        ),
    ],
)
def test_a_tensor_that_makes_no_sense_is_refused_at_its_place(wrong, text, message, dtype):
    wrong(text, f"input: {message}", dtype)


@pytest.mark.parametrize(
    ("fill", "message", "dtype"),
    [
        ("specials: »false", "must be true, or another fill be written", "float32"),
        ("arange: »[0, .inf]", "takes finite numbers, got 0.0 and .inf", "float32"),
        ("uniform: »[1, 0]", "must be [low, high], got 1.0 and 0.0", "float32"),
        ("uniform: »[0, 1]", "makes real numbers, and int8 holds none", "int8"),
        ("uniform: »[-1.7e308, 1.7e308]", "spans more than float64 holds", "float64"),
        ("integers: »[1, 0]", "must be [low, high], got 1.0 and 0.0", "float32"),
        ("integers: »[0, 1.5]", "takes whole numbers up to 2^53, got 0.0 and 1.5", "float32"),
        (
            "integers: »[0, 18014398509481984]",
            "takes whole numbers up to 2^53, got 0.0 and 1.8014398509481984e+16",
            "float32",
        ),
        ("integers: »[0, 300]", "reaches 300, which uint8 does not hold", "uint8"),
        ("normal: »[0, -1]", "takes a standard deviation of 0 or more, got -1.0", "float32"),
        ("normal: »[0, 1e38]", "reaches -6e+38, which float32 does not hold", "float32"),
        ("normal: »[0, 1]", "makes real numbers, and bool holds none", "bool"),
        ("arange: »[0, 2e38]", "reaches 4e+38, which float32 does not hold", "float32"),
        ("arange: »[0, 0.5]", "takes whole numbers up to 2^53, got 0.0 and 0.5", "int8"),
        ("arange: »[0, 100]", "reaches 200, which int8 does not hold", "int8"),
        ("permutation: »[0, -2e38]", "reaches -4e+38, which float32 does not hold", "float32"),
    ],
)
def test_a_fill_must_fit_its_dtype(wrong, fill, message, dtype):
    wrong(f"{{shape: [3], {fill}}}", f"input: {fill.partition(':')[0]} {message}", dtype)


NO_FLOAT64 = "(write it with a point to have it rounded, or in a literal)"


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ("{shape: [1], constant: »true}", "constant: must be a number, got true"),
        (
            "{shape: [1], constant: »9007199254740993}",
            f"constant: 9007199254740993 has no exact float64 {NO_FLOAT64}",
        ),
        (f"{{shape: [1], constant: »{LARGE}}}", f"constant: {CUT} is outside float64"),
        ("{shape: [1], arange: »[0]}", "arange: must hold at least 2"),
        ("{shape: [1], choice: »[]}", "choice: must hold at least 1"),
        ("{shape: [1], constant: 0, seed: »-1}", "seed: must be at least 0, got -1"),
        ("{shape: [1], constant: 0, seed: »1.0}", "seed: must be a whole number, got 1.0"),
        ("{shape: »2, constant: 0}", "shape: must be a list, got 2"),
        (f"{{shape: »[{', '.join('1' * 33)}], constant: 0}}", "shape: must hold at most 32"),
        (
            "{shape: [1], constant: 0, dtype: »flot16}",
            "dtype: unknown dtype 'flot16' (did you mean 'float16' or 'bfloat16'?)",
        ),
    ],
)
def test_a_key_of_a_tensor_has_a_form(wrong, tensor, message):
    wrong(tensor, f"inputs.input.{message}")


def test_an_item_of_a_shape_and_an_unknown_key_are_refused(wrong):
    item = "an item of inputs.input.shape: must be at least 0, got -1"
    wrong("{shape: [2, »-1], constant: 0}", item)
    wrong("{»shap: [1], constant: 0}", "unknown key 'shap' (did you mean 'shape'?)")


@pytest.mark.parametrize(("dtype", "size"), [("float64", 1 << 25), ("float32", 1 << 26)])
def test_256_mebibytes_are_allowed(tensor, dtype, size):
    assert tensor(f"{{shape: [{size}], constant: 0}}", dtype).nbytes == 1 << 28


# elements put
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{at: »[2], value: 0}", "put: [2] is no index of shape [2]"),
        ("{at: »[-1], value: 0}", "put: [-1] is no index of shape [2]"),
        ("{at: »[0, 0], value: 0}", "put: [0, 0] is no index of shape [2]"),
        ("{at: »[], value: 0}", "put: [] is no index of shape [2]"),
        ("{at: [0], value: »x}", "input: 'x' is no value of float32"),
        ("{»att: [0], value: 0}", "unknown key 'att' (did you mean 'at'?)"),
        ("»{at: [0]}", "an item of inputs.input.put: 'value' is missing"),
    ],
)
def test_an_element_that_cannot_be_put_is_refused(wrong, text, message):
    wrong(f"{{shape: [2], constant: 0, put: [{{at: [1], value: 1}}, {text}]}}", message)


def test_elements_can_be_put_into_a_literal(tensor: Callable[..., TensorSpec]) -> None:
    spec = tensor("{value: [1, 2], put: [{at: [1], value: .inf}]}")
    assert materialize(spec).tolist() == [1, math.inf]


# files
def test_a_file_beside_the_case_file_is_found(tensor, tmp_path):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "x.npy", np.ones((2, 3), ">f4"))
    spec = tensor("{file: data/x.npy}")
    assert spec.content == FromFile((tmp_path / "data" / "x.npy").resolve())
    assert (spec.dtype, spec.shape) == (DTYPES["float32"], (2, 3))
    assert materialize(spec).tolist() == [[1] * 3] * 2


def test_a_file_of_bfloat16_is_known_by_the_case_s_dtype(tensor, wrong, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, 2], ml_dtypes.bfloat16).view("V2"))
    assert materialize(tensor("{file: x.npy}", "bfloat16")).astype(float).tolist() == [1, 2]
    wrong("{file: »x.npy}", "'x.npy' holds '|V2', which no case can use", "float16")


def test_a_file_of_another_dtype_must_be_meant(tensor, wrong, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, 2]))
    hint = "state dtype: int64 beside it if that is meant"
    wrong("{file: »x.npy}", f"'x.npy' holds int64, not float32 ({hint})")
    wrong("{file: »x.npy, dtype: int32}", f"'x.npy' holds int64, not int32 ({hint})")
    assert tensor("{file: x.npy, dtype: int64}").dtype is DTYPES["int64"]


@pytest.mark.parametrize(
    ("array", "holds"),
    [
        (np.zeros(2, "M8[s]"), "'datetime64[s]'"),
        (np.array([b"a"]), "'|S1'"),
        (np.zeros(2, [("a", "<f4")]), "\"[('a', '<f4')]\""),
        (np.zeros(2, "V4"), "'|V4'"),
    ],
)
def test_a_file_of_what_no_tensor_holds_is_refused(wrong, tmp_path, array, holds):
    np.save(tmp_path / "x.npy", array)
    wrong("{file: »x.npy}", f"'x.npy' holds {holds}, which no case can use")


def test_nothing_outside_the_folder_is_read(wrong: Callable[..., None], tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.npy"
    np.save(outside, np.zeros(2, np.float32))
    (tmp_path / "link.npy").symlink_to(outside)
    (tmp_path / "folder").symlink_to(tmp_path.parent)
    for path in ("../outside.npy", str(outside), "link.npy", "folder/outside.npy"):
        shown = path if len(path) <= 60 else f"{path[:59]}…"
        wrong(f"{{file: »{path}}}", f"{shown!r} lies outside the folder of the case file")


def test_a_path_that_names_no_file_is_refused(wrong: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "text.npy").write_text("hello")
    wrong("{file: »x.npy}", "'x.npy' does not exist")
    wrong("{file: ».}", "'.' is no file")
    wrong("{file: »''}", "'' is no file")
    wrong("{file: »loop}", "'loop' is no path of a file")
    wrong(f"{{file: »{'a' * 5000}}}", f"'{'a' * 59}…' is no path of a file")
    wrong('{file: »"a\\0b"}', r"'a\x00b' is no path of a file")
    wrong('{file: »"\\e[31m"}', r"'\x1b[31m' does not exist")
    wrong("{file: »text.npy}", "'text.npy' is no .npy file")


def test_a_file_that_says_it_is_huge_is_refused(wrong: Callable[..., None], tmp_path: Path) -> None:
    with (tmp_path / "x.npy").open("wb") as file:
        np.save(file, np.zeros(0, np.float32))
        file.seek(0)
        header = file.write(b"\x93NUMPY\x01\x00\x76\x00")
        text = "{'descr': '<f4', 'fortran_order': False, 'shape': (300000000,), }"
        file.write(f"{text:<117}\n".encode())
        # The file is as long as it says, without taking room.
        file.truncate(header + 118 + 4 * 300_000_000)
    wrong("{file: »x.npy}", "'x.npy' holds more than 67,108,864 elements")

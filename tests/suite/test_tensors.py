import io
import math
import os
import pickle
import random
import re
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.dtypes import BASIC, DTYPES
from opcheck.model import Fill, FromFile, Given, Put, TensorSpec
from opcheck.suite import materialize, unrounded
from opcheck.suite.tensors import load_npy
from tests.expecting import error_of
from tests.suite.conftest import Cases, Mistake
from tests.wording import Wording

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
HEADER = "{'descr':'<f4','fortran_order':False,'shape':%s}"
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = [dtype.name for dtype in BASIC.values() if dtype.kind == "int"]
SEEDS = [0, 1, 7, 2**33, 10**40]


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


RAGGED = "ragged list: rows have shapes"
WHOLE = "which holds whole numbers from"
OUTSIDE = {
    "float16": "is outside float16, which holds -65504 to 65504",
    "float32": "is outside float32, which holds -3.4028235e+38 to 3.4028235e+38",
    "int8": f"is outside int8, {WHOLE} -128 to 127",
    "uint8": f"is outside uint8, {WHOLE} 0 to 255",
}
LARGE, CUT = f"1{'0' * 400}", f"1{'0' * 29}… (401 characters)"
POINTS = "(write .inf, -.inf or .nan)"
PAIRS = "(write a number, or a text such as 1+2j, nan+0j or -infj)"
ALL = "value, file, constant, arange, uniform, normal, integers, cycle, choice, permutation"
ALL += ", specials"
NOWHERE, BY = "its values are given nowhere", "its values are given by constant and arange"
BYTES, ELEMENTS = "needs more than 256 MiB", "needs more than 67,108,864 elements"
WHOLES = "takes whole numbers up to 2^53, got 0.0 and"


@pytest.mark.parametrize(
    ("text", "message", "dtype"),
    [
        ("[[1], »[2, 3]]", f"{RAGGED} [1] and [2]", "float32"),
        ("[[1], »2]", f"{RAGGED} [1] and [] (a number)", "float32"),
        ("[1, »[2]]", f"{RAGGED} [] (a number) and [1]", "float32"),
        ("[[[1], [2]], »[[3]]]", f"{RAGGED} [2, 1] and [1, 1]", "float32"),
        ("[1, »x]", "'x' is not a value of float32", "float32"),
        ("[1, »inf]", f"'inf' is not a value of float32 {POINTS}", "float32"),
        ("[1, »-NaN]", f"'-NaN' is not a value of float32 {POINTS}", "float32"),
        ("[1, »true]", "true is not a value of float32", "float32"),
        ("[1, »null]", "null is not a value of float32", "float32"),
        ("[1, »{a: 1}]", "a mapping is not a value of float32", "float32"),
        ("[»1, 0]", "1 is not a value of bool", "bool"),
        ("[1, »2.0]", "2.0 is not a value of int8", "int8"),
        ("{value: [1, »x]}", "'x' is not a value of float32", "float32"),
        ("[a, »1]", "1 is not a value of string (quote what is meant as text)", "string"),
        ("[1+2j, »1+2i]", f"'1+2i' is not a value of complex64 {PAIRS}", "complex64"),
        # No literal.
        ("»{}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{shape: [2]}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{value: null}", f"{NOWHERE} (exactly one of {ALL})", "float32"),
        ("»{shape: [2], constant: 0, arange: [0, 1]}", f"{BY} (exactly one of {ALL})", "float32"),
        ("»{constant: 0}", "constant needs a shape", "float32"),
        ("{value: [1], »shape: [1]}", "shape goes with a fill only", "float32"),
        ("{value: [1], »seed: 1}", "seed goes with a fill only", "float32"),
        ("{shape: [1], arange: [0, »x]}", "'x' is not a value of float32", "float32"),
        ("{shape: »[33554433], constant: 0}", f"shape [33554433] {BYTES}", "float64"),
        (f"{{shape: »[1048576], constant: {'x' * 257}}}", f"shape [1048576] {BYTES}", "string"),
        ("{shape: »[67108865], constant: 0}", f"shape [67108865] {ELEMENTS}", "int8"),
        (
            "{shape: »[1000000, 1000000], constant: 0}",
            f"shape [1000000, 1000000] {ELEMENTS}",
            "float32",
        ),
        (f"{{shape: »[{LARGE}, 0], constant: 0}}", f"shape [{CUT}, 0] {ELEMENTS}", "float32"),
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


def test_a_fill_is_kept_as_a_rule(tensor: Callable[..., TensorSpec]) -> None:
    spec = tensor("{shape: [2, 3], uniform: [0, 1.5], seed: 7}")
    assert spec.content == Fill("uniform", (0.0, 1.5), 7)
    assert spec.shape == (2, 3)
    assert tensor("{shape: [2], specials: true}").content == Fill("specials", ())
    assert tensor("{shape: [2], constant: .nan}").dtype is DTYPES["float32"]
    assert tensor("{shape: [2], choice: [1, -.inf]}").content == Fill("choice", (1, -math.inf))


@pytest.mark.parametrize(
    ("fill", "message", "dtype"),
    [
        ("specials: »false", "must be true, or another fill be written", "float32"),
        ("arange: »[0, .inf]", "takes finite numbers, got 0.0 and .inf", "float32"),
        ("uniform: »[1, 0]", "must be [low, high], got 1.0 and 0.0", "float32"),
        ("uniform: »[0, 1]", "makes real numbers, and int8 holds none", "int8"),
        ("uniform: »[-1.7e308, 1.7e308]", "spans more than float64 holds", "float64"),
        ("integers: »[1, 0]", "must be [low, high], got 1.0 and 0.0", "float32"),
        (f"integers: »[0, {2.0**53 + 2}]", f"{WHOLES} 9007199254740994.0", "float64"),
        ("integers: »[0, 1.5]", f"{WHOLES} 1.5", "float32"),
        ("integers: »[0, 18014398509481984]", f"{WHOLES} 1.8014398509481984e+16", "float32"),
        ("integers: »[0, 300]", "reaches 300, which uint8 does not hold", "uint8"),
        ("normal: »[0, -1]", "takes a standard deviation of 0 or more, got -1.0", "float32"),
        ("normal: »[0, 1e38]", "reaches -6e+38, which float32 does not hold", "float32"),
        ("normal: »[6e4, 1e3]", "reaches 66000, which float16 does not hold", "float16"),
        ("normal: »[0, 1]", "makes real numbers, and bool holds none", "bool"),
        ("arange: »[0, 2e38]", "reaches 4e+38, which float32 does not hold", "float32"),
        ("arange: »[0, 0.5]", f"{WHOLES} 0.5", "int8"),
        ("arange: »[0, 100]", "reaches 200, which int8 does not hold", "int8"),
        ("permutation: »[0, -2e38]", "reaches -4e+38, which float32 does not hold", "float32"),
    ],
)
def test_a_fill_must_fit_its_dtype(wrong, fill, message, dtype):
    wrong(f"{{shape: [3], {fill}}}", f"input: {fill.partition(':')[0]} {message}", dtype)


def test_a_fill_may_reach_the_ends_of_its_dtype(tensor):
    for fill in ("integers: [-128, 127]", "arange: [-128, 127]", "permutation: [127, -127]"):
        assert tensor(f"{{shape: [3], {fill}}}", "int8").shape == (3,)
    assert tensor("{shape: [3], normal: [5504, 10000]}", "float16").shape == (3,)
    assert tensor(f"{{shape: [1], integers: [0, {2.0**53}]}}", "float64").shape == (1,)
    assert tensor("{shape: [0], arange: [127, -1]}", "int8").shape == (0,)
    assert tensor(f"{{shape: {[1] * 32}, choice: [1], seed: 0}}").shape == (1,) * 32


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
        ("{shape: [1], arange: »[0, 1, 2]}", "arange: must hold at most 2"),
        ("{shape: [1], uniform: »[0]}", "uniform: must hold at least 2"),
        ("{shape: [1], uniform: »[0, 1, 2]}", "uniform: must hold at most 2"),
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


@pytest.mark.parametrize(
    ("dtype", "shape"), [("float64", [1 << 25]), ("float32", [1 << 26]), ("float32", [1 << 26, 0])]
)
def test_256_mebibytes_are_allowed(tensor, dtype, shape):
    assert tensor(f"{{shape: {shape}, constant: 0}}", dtype).nbytes == (1 << 28) * (0 not in shape)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{at: »[2], value: 0}", "put: [2] is not an index of shape [2]"),
        ("{at: »[-1], value: 0}", "put: [-1] is not an index of shape [2]"),
        ("{at: »[0, 0], value: 0}", "put: [0, 0] is not an index of shape [2]"),
        ("{at: »[], value: 0}", "put: [] is not an index of shape [2]"),
        ("{at: [0], value: »x}", "input: 'x' is not a value of float32"),
        ("{»att: [0], value: 0}", "unknown key 'att' (did you mean 'at'?)"),
        ("»{at: [0]}", "an item of inputs.input.put: 'value' is missing"),
        (
            "{at: [0], value: »9007199254740993}",
            f"put: 9007199254740993 has no exact float64 {NO_FLOAT64}",
        ),
    ],
)
def test_an_element_that_cannot_be_put_is_refused(wrong, text, message):
    wrong(f"{{shape: [2], constant: 0, put: [{{at: [1], value: 1}}, {text}]}}", message)


def test_a_file_beside_the_case_file_is_found(tensor, tmp_path):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "x.npy", np.ones((2, 3), ">f4"))
    spec = tensor("{file: data/x.npy}")
    assert spec.content == FromFile((tmp_path / "data" / "x.npy").resolve())
    assert (spec.dtype, spec.shape) == (DTYPES["float32"], (2, 3))
    got = materialize(spec)
    assert (got.dtype, got.tolist()) == (np.dtype("=f4"), [[1] * 3] * 2)


def test_a_file_of_bfloat16_is_known_by_the_case_s_dtype(tensor, wrong, tmp_path):
    values = [1, -2.5, 2.0**-133]
    np.save(tmp_path / "x.npy", np.array(values, ml_dtypes.bfloat16).view("V2"))
    spec = tensor("{file: x.npy}", "bfloat16")
    assert materialize(spec).dtype == ml_dtypes.bfloat16
    assert numbers(spec) == unrounded(spec).tolist() == values
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
    (tmp_path / "empty.pb").write_text("")
    why = "holds no readable value: no element type has the number 0"
    wrong("{file: »empty.pb}", f"'empty.pb' {why}")
    wrong("{file: »x.npy}", "'x.npy' does not exist")
    wrong("{file: ».}", "'.' is not a file")
    wrong("{file: »''}", "'' is not a file")
    wrong("{file: »loop}", "'loop' is not the path of a file")
    wrong(f"{{file: »{'a' * 5000}}}", f"'{'a' * 59}…' is not the path of a file")
    wrong('{file: »"a\\0b"}', r"'a\x00b' is not the path of a file")
    wrong('{file: »"\\e[31m"}', r"'\x1b[31m' does not exist")
    wrong("{file: »text.npy}", "'text.npy' is not a .npy file")


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


def npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def headed(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_an_array_is_read_as_it_was_saved(tmp_path: Path, shape: Any) -> None:
    want = np.arange(6, dtype=np.float32)[: int(np.prod(shape))].reshape(shape)
    (tmp_path / "x.npy").write_bytes(npy(want))
    got = load_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(got, want)
    assert got.shape == shape
    assert not got.flags.writeable


class Trap:
    """Pickled, it would leave a file behind when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_pickled_is_ever_loaded(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    for data in (npy(np.array([trap], object), allow_pickle=True), pickle.dumps(trap)):
        (tmp_path / "x.npy").write_bytes(data)
        with pytest.raises(ValueError, match=r"Python objects|not a \.npy file"):
            load_npy(tmp_path / "x.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"PK\x03\x04 broken",
        archive(a=[1]),
        npy(np.ones(3, np.float32))[:-1],
        npy(np.ones(3, np.float32)) + b"x",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x09\x10\x00",
        headed("{'descr':"),
        headed("  x\n y"),
        headed("(" * 5000),
        headed("(" * 90 + ")" * 90),
        headed("{" * 50_000),
        headed("[1]"),
        headed("{1: 2}"),
        headed(HEADER % "(-1,)"),
        headed(HEADER % f"(1{'0' * 30},)"),
        headed(HEADER % f"(0, 1{'0' * 30})"),
        headed(HEADER % f"{(1,) * 70}", b"\0\0\0\0"),
        headed(HEADER % "(10**30,)"),
        headed(HEADER.replace("<f4", "q9") % "(1,)"),
        headed(HEADER.replace("'<f4'", "3") % "(1,)"),
    ],
)
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, data: bytes, wording: Wording) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    assert error_of(ValueError, load_npy, tmp_path / "x.npy") == wording


def test_a_file_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(headed(HEADER % "(1L,)", b"\0\0\x80\x3f"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_npy(tmp_path / "x.npy").tolist() == [1]


def test_folders_pipes_and_missing_files_are_refused(tmp_path: Path, wording: Wording) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing"):
        with pytest.raises(ValueError, match="is not a") as raised:
            load_npy(path)
        assert raised.value == wording


def test_any_damage_is_refused_or_read_but_never_a_crash(tmp_path: Path) -> None:
    chance = random.Random(0)
    good = npy(np.arange(6, dtype=np.float32).reshape(2, 3))
    for _ in range(500):
        data = bytearray(good)
        for _ in range(chance.choice([1, 2, 8])):
            data[chance.randrange(6, len(data))] = chance.randrange(256)
        (tmp_path / "x.npy").write_bytes(data[: chance.choice([len(data), 40, 100])])
        # Whatever else is raised ends the test.
        with suppress(ValueError):
            assert isinstance(load_npy(tmp_path / "x.npy"), np.ndarray)


def filled(
    kind: str, *args: float, dtype: str = "float64", shape: Any = (8,), seed: int = 0, put: Any = ()
) -> TensorSpec:
    return TensorSpec("x", DTYPES[dtype], tuple(shape), Fill(kind, args, seed), put)


def stream(seed: int, size: int) -> list[int]:
    """The words of PCG64, which NumPy promises never to change."""
    return [int(word) for word in np.random.PCG64(seed).random_raw(size)]


def uniforms(seed: int, size: int) -> list[float]:
    return [(word >> 11) / 2**53 for word in stream(seed, size)]


def numbers(spec: TensorSpec) -> list[float]:
    return [float(value) for value in materialize(spec).ravel()]


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_scales_the_upper_53_bits(seed: int) -> None:
    got = materialize(filled("uniform", 0, 1, shape=(5, 7), seed=seed))
    assert got.ravel().tolist() == uniforms(seed, 35)
    got = materialize(filled("uniform", -3, 2.5, shape=(5, 7), seed=seed))
    assert got.ravel().tolist() == [-3 + 5.5 * u for u in uniforms(seed, 35)]


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_is_the_sum_of_12_uniforms_less_6(seed: int) -> None:
    words = stream(seed, 12 * 20)
    sums = [sum(word >> 11 for word in words[12 * k : 12 * k + 12]) / 2**53 for k in range(20)]
    assert numbers(filled("normal", 0, 1, shape=(4, 5), seed=seed)) == [s - 6 for s in sums]
    assert numbers(filled("normal", 3, 0.1, shape=(20,), seed=seed)) == [
        3 + 0.1 * (s - 6) for s in sums
    ]


def test_normal_goes_on_where_one_chunk_ends() -> None:
    size = (1 << 16) + 3
    words = np.random.PCG64(0).random_raw(12 * size)[-36:]
    want = [sum(int(w) >> 11 for w in words[12 * k : 12 * k + 12]) / 2**53 - 6 for k in range(3)]
    assert numbers(filled("normal", 0, 1, shape=(size,)))[-3:] == want


@pytest.mark.parametrize("seed", SEEDS)
def test_integers_holds_both_ends_and_nothing_beyond(seed: int) -> None:
    got = numbers(filled("integers", -2, 3, shape=(500,), seed=seed))
    assert got == [-2 + math.floor(u * 6) for u in uniforms(seed, 500)]
    assert set(got) == {-2, -1, 0, 1, 2, 3}
    assert set(numbers(filled("integers", 4, 4))) == {4}


@pytest.mark.parametrize("seed", SEEDS)
def test_choice_draws_from_the_list(seed: int) -> None:
    values = [5.0, -math.inf, 0.25]
    got = numbers(filled("choice", *values, shape=(60,), seed=seed))
    assert got == [values[math.floor(u * 3)] for u in uniforms(seed, 60)]
    assert set(got) == set(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_permutation_orders_an_arange_by_the_stream(seed: int) -> None:
    words = stream(seed, 50)
    order = sorted(range(50), key=words.__getitem__)
    got = numbers(filled("permutation", -3, 0.5, shape=(5, 10), seed=seed))
    assert got == [-3 + 0.5 * place for place in order]
    assert sorted(got) == [-3 + 0.5 * place for place in range(50)]


@pytest.mark.parametrize(
    ("dtype", "tiny", "least", "most"),
    [
        ("float16", 2.0**-24, 2.0**-14, 65504.0),
        ("bfloat16", 2.0**-133, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
        ("float32", 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
        ("float64", 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    ],
)
def test_specials_come_in_this_order_and_again(dtype, tiny, least, most):
    pairs = [sign * value for value in (0.0, 1, tiny, least, most, math.inf) for sign in (1, -1)]
    got = numbers(filled("specials", dtype=dtype, shape=(3, 13)))
    assert list(map(repr, got)) == list(map(repr, map(float, [*pairs, math.nan] * 3)))


@pytest.mark.parametrize(
    ("dtype", "want"),
    [
        ("bool", [0, 1]),
        ("uint8", [0, 1, 255]),
        ("int8", [0, 1, -1, -128, 127]),
        ("uint32", [0, 1, 2**32 - 1]),
        ("int64", [0, 1, -1, -(2**53), 2**53]),
        ("uint64", [0, 1, 2**53]),
    ],
)
def test_specials_of_integers_are_their_ends(dtype: str, want: list[int]) -> None:
    assert numbers(filled("specials", dtype=dtype, shape=(len(want) * 2,))) == want * 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_fill_is_rounded_once_from_the_same_numbers(dtype: str) -> None:
    for kind, args in [("uniform", (-1, 1)), ("normal", (0, 1)), ("arange", (1 + 2**-8, 0.1))]:
        spec = filled(kind, *args, dtype=dtype, shape=(50,))
        exact = unrounded(spec)
        assert exact.dtype == np.float64
        np.testing.assert_array_equal(exact, unrounded(filled(kind, *args, shape=(50,))))
        steps = np.abs(materialize(spec).astype(np.float64) - exact)
        # Within half a step of the dtype, and float64 keeps them as they are.
        half = 2.0 ** -DTYPES[dtype].precision if dtype != "float64" else 0.0
        assert (steps <= half * np.maximum(np.abs(exact), 2.0**-14)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_make_whole_numbers_in_integer_types(dtype: str) -> None:
    got = materialize(filled("integers", 0, 100, dtype=dtype, shape=(40,)))
    assert got.dtype == DTYPES[dtype].numpy
    assert got.tolist() == [math.floor(u * 101) for u in uniforms(0, 40)]


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (1, 1, 1), (3, 2)])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_a_tensor_is_contiguous_writable_and_of_its_shape(dtype: str, shape: Any) -> None:
    fills: list[tuple[str, *tuple[float, ...]]] = [
        *(("constant", 1), ("arange", 0, 1), ("integers", 0, 3), ("choice", 1, 2)),
        *(("permutation", 0, 1), ("specials",)),
    ]
    for kind, *args in fills:
        got = materialize(filled(kind, *args, dtype=dtype, shape=shape))
        assert (got.shape, got.dtype) == (shape, DTYPES[dtype].numpy)
        assert got.flags.c_contiguous
        assert got.flags.writeable


def test_two_tensors_share_no_memory() -> None:
    spec = TensorSpec("x", DTYPES["float64"], (2,), Given(np.array([1.0, 2.0])))
    materialize(spec)[:] = 9
    unrounded(spec)[:] = 9
    assert materialize(spec).tolist() == [1, 2]


def test_a_permutation_with_ties_in_its_dtype_says_so(wording: Wording) -> None:
    # bfloat16 has 8 bits: above 256 it skips every other whole number.
    with pytest.raises(ValueError, match="permutation of 300 has") as raised:
        materialize(filled("permutation", 0, 1, dtype="bfloat16", shape=(300,)))
    assert raised.value == wording
    assert materialize(filled("permutation", 0, 1, dtype="bfloat16", shape=(256,))).size == 256


@pytest.mark.parametrize(
    ("dtype", "step", "message"),
    [("float16", 10_000, "70000 overflows float16"), ("int8", 0.5, "0.5 is no value of int8")],
)
def test_a_fill_that_its_dtype_cannot_hold_says_so(dtype: str, step: float, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        materialize(filled("arange", 0, step, dtype=dtype))


def test_elements_are_put_before_rounding_and_the_last_wins() -> None:
    put = (Put((0, 1), 1 + 2**-8 + 2**-40), Put((1, 2), -math.inf), Put((1, 2), math.nan))
    spec = filled("constant", 0, dtype="bfloat16", shape=(2, 3), put=put)
    got = materialize(spec).astype(np.float64)
    np.testing.assert_array_equal(got, [[0, 1 + 2**-7, 0], [0, 0, math.nan]])
    assert unrounded(spec)[0, 1] == 1 + 2**-8 + 2**-40


def test_elements_can_be_put_into_a_scalar_and_into_integers() -> None:
    assert materialize(filled("constant", 0, shape=(), put=(Put((), 4.0),))) == 4
    got = materialize(filled("constant", 0, dtype="int64", shape=(2,), put=(Put((1,), 7.0),)))
    assert got.tolist() == [0, 7]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 2**63 - 1),
        ("int64", -(2**63)),
        ("int64", 2**53 + 1),
        ("uint64", 2**64 - 1),
        ("int8", -128),
    ],
)
@pytest.mark.parametrize("fill", ["constant: 1", "integers: [0, 9]", "value: [1, 1, 1]"])
def test_every_whole_number_of_a_type_can_be_put(
    tensor: Callable[..., TensorSpec], fill: str, dtype: str, value: int
) -> None:
    shape = "" if fill.startswith("value") else "shape: [3], "
    spec = tensor(f"{{{shape}{fill}, put: [{{at: [1], value: {value}}}]}}", dtype)
    assert materialize(spec)[1] == value
    assert materialize(spec).dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int64", [2**63 - 1, -(2**63), 2**53 + 1, 0]),
        ("uint64", [2**64 - 1, 2**53 + 1, 3]),
        ("uint8", [255, 128, 3]),
        ("int8", [127, -128, 0]),
    ],
)
def test_a_choice_is_among_every_whole_number_of_a_type(
    tensor: Callable[..., TensorSpec], dtype: str, values: list[int]
) -> None:
    got = materialize(tensor(f"{{shape: [200], choice: {values}}}", dtype))
    assert {*map(int, got.tolist())} == {*values}
    assert got.dtype == DTYPES[dtype].numpy
    # The same places are drawn as of numbers that float64 holds.
    small = materialize(tensor(f"{{shape: [200], choice: {[*range(len(values))]}}}", dtype))
    assert [*map(int, got.tolist())] == [values[int(place)] for place in small.tolist()]


def test_a_choice_of_floats_has_exact_float64(wrong: Callable[..., None]) -> None:
    message = f"choice: 9007199254740993 has no exact float64 {NO_FLOAT64}"
    wrong("{shape: [2], choice: [1, »9007199254740993]}", message, "float64")


@pytest.mark.parametrize(
    ("dtype", "value", "shown", "held"),
    [
        ("int64", 2**63, 2.0**63, f"{-(2**63)} to {2**63 - 1}"),
        ("int64", 2**63 + 1, 2**63 + 1, f"{-(2**63)} to {2**63 - 1}"),
        ("uint64", -1, -1.0, f"0 to {2**64 - 1}"),
        ("int8", int(LARGE), CUT, "-128 to 127"),
    ],
)
def test_no_other_whole_number_can_be_put(
    wrong: Callable[..., None], dtype: str, value: int, shown: object, held: str
) -> None:
    text = f"{{shape: [3], constant: 1, put: [{{at: [1], value: »{value}}}]}}"
    wrong(text, f"{shown} is outside {dtype}, which holds whole numbers from {held}", dtype)


def from_file(path: Path, dtype: str, put: Any = ()) -> TensorSpec:
    return TensorSpec("x", DTYPES[dtype], np.load(path).shape, FromFile(path), put)


def test_a_file_in_fortran_order_is_read_in_c_order(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)))
    got = materialize(from_file(tmp_path / "x.npy", "int64"))
    assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert got.flags.c_contiguous
    assert got.flags.writeable


def test_elements_are_put_into_what_a_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 2), np.float32))
    spec = from_file(tmp_path / "x.npy", "float32", (Put((1, 0), 5.0),))
    assert materialize(spec).tolist() == [[0, 0], [5, 0]]
    assert unrounded(spec).tolist() == [[0, 0], [5, 0]]
    assert np.load(tmp_path / "x.npy").tolist() == [[0, 0], [0, 0]]


def test_a_file_that_is_gone_since_says_so(tmp_path: Path, wording: Wording) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    spec = from_file(tmp_path / "x.npy", "float32")
    (tmp_path / "x.npy").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"is not a \.npy") as raised:
        materialize(spec)
    assert raised.value == wording


@pytest.mark.parametrize(
    ("kind", "args", "dtypes"),
    [
        *(
            (kind, args, ["float16", "bfloat16", "int8"])
            for kind, args in [
                ("constant", (1.0,)),
                ("arange", (0.0, 0.0)),
                ("integers", (0.0, 9.0)),
                ("choice", (0.0, 1.0, 2.0)),
                ("specials", ()),
            ]
        ),
        *((kind, (0.0, 1.0), ["float16", "bfloat16"]) for kind in ("uniform", "normal")),
        ("permutation", (0.0, 1.0), ["float32", "int32"]),
    ],
)
def test_a_fill_needs_at_most_three_times_its_values_in_float64(kind, args, dtypes):
    size = 1 << 20
    for dtype in dtypes:
        tracemalloc.start()
        materialize(filled(kind, *args, dtype=dtype, shape=(size,)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The largest tensor has 2^26 elements, so this is 1.6 GiB of it.
        assert peak <= 3.2 * 8 * size, dtype

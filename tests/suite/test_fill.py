import math
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.dtypes import DTYPES
from opcheck.model import Fill, FromFile, Given, Put, TensorSpec
from opcheck.suite import materialize, unrounded
from tests.suite import pcg64

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = [dtype.name for dtype in DTYPES.values() if dtype.kind == "int"]
SEEDS = [0, 1, 7, 2**33, 10**40]


def filled(
    kind: str, *args: float, dtype: str = "float64", shape: Any = (8,), seed: int = 0, put: Any = ()
) -> TensorSpec:
    return TensorSpec("x", DTYPES[dtype], tuple(shape), Fill(kind, args, seed), put)


def numbers(spec: TensorSpec) -> list[float]:
    return [float(value) for value in materialize(spec).ravel()]


# the stream
def test_the_stream_is_pcg64_as_documented() -> None:
    # The first words of NumPy's PCG64(0).
    assert pcg64.stream(0, 4) == [
        0xA30FEBCFD9C2825F,
        0x4510BDF882D9D721,
        0x0A7D3DA94ECDE8B8,
        0x043B27B61342F01D,
    ]
    for seed in SEEDS:
        assert pcg64.stream(seed, 100) == np.random.PCG64(seed).random_raw(100).tolist()


# the fills, in float64
def test_constant_is_the_same_everywhere() -> None:
    assert materialize(filled("constant", 2.5, shape=(2, 3))).tolist() == [[2.5] * 3] * 2


def test_arange_counts_in_row_major_order() -> None:
    got = materialize(filled("arange", 1, 0.5, shape=(2, 3)))
    assert got.tolist() == [[1, 1.5, 2], [2.5, 3, 3.5]]


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_scales_the_upper_53_bits(seed: int) -> None:
    got = materialize(filled("uniform", 0, 1, shape=(5, 7), seed=seed))
    assert got.ravel().tolist() == pcg64.uniform(seed, 35)
    got = materialize(filled("uniform", -3, 2.5, shape=(5, 7), seed=seed))
    assert got.ravel().tolist() == [-3 + 5.5 * u for u in pcg64.uniform(seed, 35)]


def test_uniform_starts_with_these_numbers() -> None:
    assert numbers(filled("uniform", 0, 1, shape=(3,))) == [
        0xA30FEBCFD9C2825F // 2**11 / 2**53,
        0x4510BDF882D9D721 // 2**11 / 2**53,
        0x0A7D3DA94ECDE8B8 // 2**11 / 2**53,
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_is_the_sum_of_12_uniforms_less_6(seed: int) -> None:
    words = pcg64.stream(seed, 12 * 20)
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


def test_normal_has_the_mean_and_the_deviation_it_is_given() -> None:
    got = materialize(filled("normal", 10, 2, shape=(200_000,)))
    assert abs(got.mean() - 10) < 4 * 2 / math.sqrt(200_000)
    assert abs(got.std() - 2) < 0.02
    assert got.min() >= 10 - 12
    assert got.max() <= 10 + 12


@pytest.mark.parametrize("seed", SEEDS)
def test_integers_holds_both_ends_and_nothing_beyond(seed: int) -> None:
    got = numbers(filled("integers", -2, 3, shape=(500,), seed=seed))
    assert got == [-2 + math.floor(u * 6) for u in pcg64.uniform(seed, 500)]
    assert set(got) == {-2, -1, 0, 1, 2, 3}
    assert set(numbers(filled("integers", 4, 4))) == {4}


@pytest.mark.parametrize("seed", SEEDS)
def test_choice_draws_from_the_list(seed: int) -> None:
    values = [5.0, -math.inf, 0.25]
    got = numbers(filled("choice", *values, shape=(60,), seed=seed))
    assert got == [values[math.floor(u * 3)] for u in pcg64.uniform(seed, 60)]
    assert set(got) == set(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_permutation_orders_an_arange_by_the_stream(seed: int) -> None:
    words = pcg64.stream(seed, 50)
    order = sorted(range(50), key=words.__getitem__)
    got = numbers(filled("permutation", -3, 0.5, shape=(5, 10), seed=seed))
    assert got == [-3 + 0.5 * place for place in order]
    assert sorted(got) == [-3 + 0.5 * place for place in range(50)]


def test_specials_come_in_this_order_and_again() -> None:
    tiny, least, most = 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308
    want = [0.0, -0.0, 1, -1, tiny, -tiny, least, -least, most, -most]
    want = [*want, math.inf, -math.inf, math.nan]
    got = numbers(filled("specials", shape=(3, 13)))
    assert list(map(repr, got)) == list(map(repr, map(float, want * 3)))


@pytest.mark.parametrize(
    ("dtype", "tiny", "least", "most"),
    [
        ("float16", 2.0**-24, 2.0**-14, 65504.0),
        ("bfloat16", 2.0**-133, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
        ("float32", 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    ],
)
def test_specials_are_those_of_the_dtype(dtype, tiny, least, most):
    got = numbers(filled("specials", dtype=dtype, shape=(13,)))
    assert got[4:10] == [tiny, -tiny, least, -least, most, -most]
    assert (got[10:12], math.isnan(got[12])) == ([math.inf, -math.inf], True)


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


# every dtype
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


def test_a_fill_does_not_round_to_bfloat16_by_way_of_float32() -> None:
    spec = filled("constant", 1 + 2**-8 + 2**-40, dtype="bfloat16", shape=(1,))
    assert numbers(spec) == [1 + 2**-7]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_make_whole_numbers_in_integer_types(dtype: str) -> None:
    got = materialize(filled("integers", 0, 100, dtype=dtype, shape=(40,)))
    assert got.dtype == DTYPES[dtype].numpy
    assert got.tolist() == [math.floor(u * 101) for u in pcg64.uniform(0, 40)]


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


# what cannot be made
def test_a_permutation_with_ties_in_its_dtype_says_so() -> None:
    # bfloat16 has 8 bits: above 256 it skips every other whole number.
    with pytest.raises(
        ValueError, match="permutation of 300 has no ties, but in bfloat16 only 279"
    ):
        materialize(filled("permutation", 0, 1, dtype="bfloat16", shape=(300,)))
    assert materialize(filled("permutation", 0, 1, dtype="bfloat16", shape=(256,))).size == 256


def test_a_fill_that_overflows_its_dtype_says_so() -> None:
    with pytest.raises(ValueError, match="70000 overflows float16"):
        materialize(filled("arange", 0, 10_000, dtype="float16"))


def test_a_fill_that_an_integer_type_cannot_hold_says_so() -> None:
    with pytest.raises(ValueError, match=r"0\.5 is no value of int8"):
        materialize(filled("arange", 0, 0.5, dtype="int8"))


# elements put
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


# files
def from_file(path: Path, dtype: str, put: Any = ()) -> TensorSpec:
    shape = np.load(path).shape
    return TensorSpec("x", DTYPES[dtype], shape, FromFile(path), put)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_file_is_read_in_either_byte_order(tmp_path: Path, order: str) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2.5], [-3, 4]], f"{order}f4"))
    got = materialize(from_file(tmp_path / "x.npy", "float32"))
    assert got.dtype == np.dtype("=f4")
    assert got.dtype.isnative
    assert got.tolist() == [[1, 2.5], [-3, 4]]


def test_a_file_in_fortran_order_is_read_in_c_order(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)))
    got = materialize(from_file(tmp_path / "x.npy", "int64"))
    assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert got.flags.c_contiguous
    assert got.flags.writeable


def test_a_file_of_bfloat16_is_read_from_its_raw_bytes(tmp_path: Path) -> None:
    values = np.array([1, -2.5, 2.0**-133], ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", values.view("V2"))
    spec = from_file(tmp_path / "x.npy", "bfloat16")
    assert materialize(spec).dtype == ml_dtypes.bfloat16
    assert numbers(spec) == [1, -2.5, 2.0**-133]
    assert unrounded(spec).tolist() == [1, -2.5, 2.0**-133]


def test_elements_are_put_into_what_a_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 2), np.float32))
    spec = from_file(tmp_path / "x.npy", "float32", (Put((1, 0), 5.0),))
    assert materialize(spec).tolist() == [[0, 0], [5, 0]]
    assert unrounded(spec).tolist() == [[0, 0], [5, 0]]
    assert np.load(tmp_path / "x.npy").tolist() == [[0, 0], [0, 0]]


def test_a_file_that_is_gone_since_says_so(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    spec = from_file(tmp_path / "x.npy", "float32")
    (tmp_path / "x.npy").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"is no \.npy file"):
        materialize(spec)


# what it costs
@pytest.mark.parametrize(
    ("kind", "args", "dtypes"),
    [
        ("constant", (1.0,), ["float16", "bfloat16", "int8"]),
        ("arange", (0.0, 0.0), ["float16", "bfloat16", "int8"]),
        ("uniform", (0.0, 1.0), ["float16", "bfloat16"]),
        ("normal", (0.0, 1.0), ["float16", "bfloat16"]),
        ("integers", (0.0, 9.0), ["float16", "bfloat16", "int8"]),
        ("choice", (0.0, 1.0, 2.0), ["float16", "bfloat16", "int8"]),
        ("permutation", (0.0, 1.0), ["float32", "int32"]),
        ("specials", (), ["float16", "bfloat16", "int8"]),
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

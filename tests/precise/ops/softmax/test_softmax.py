from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from opcheck.errors import InvalidNode
from opcheck.precise import Precise, Undecided
from tests.precise.asking import METHODS, Method, ask, by
from tests.precise.nearest import DTYPES, as_floats, nearest, softmax

NAMES = sorted(DTYPES)
NAN, INF = math.nan, math.inf


def of(x: Any, since: int = 13, method: Method | None = None, **attrs: Any) -> Precise:
    with by(method):
        return ask("Softmax", since, np.asarray(x), **attrs)


def check(rows: np.ndarray[Any, Any], name: str, method: Method) -> Precise:
    """Every element of `rows`, [rows, N], is what decimals of 200 digits say."""
    x = rows.astype(DTYPES[name][0])
    got = of(x, method=method)
    assert got.method == method
    want = [nearest(y, name) for row in x.astype(np.float64) for y in softmax(row.tolist())]
    assert as_floats(got.values) == [value for value, _ in want]
    for distance, (_, true) in zip(got.distance.ravel(), want, strict=True):
        assert abs(distance - float(true)) <= 2.0**-32
    return got


@pytest.mark.parametrize("method", METHODS)
def test_the_example_of_the_specification(method: Method) -> None:
    """[-1, 0, 1] → [0.09003058, 0.24472848, 0.66524094], of which float64 shows more digits."""
    got = of(np.float32([[-1, 0, 1]]), method=method)
    assert [f"{value:.8f}" for value in got.values[0]] == ["0.09003057", "0.24472848", "0.66524094"]
    got = of(np.array([[-1.0, 0, 1]]), method=method)
    assert [repr(float(value)) for value in got.values[0]] == [
        "0.09003057317038046",
        "0.24472847105479764",
        "0.6652409557748219",
    ]


@pytest.mark.parametrize("method", METHODS)
def test_a_row_of_one_and_rows_of_equals(method: Method) -> None:
    """1/n, which fractions round."""
    for name in NAMES:
        dtype = DTYPES[name][0]
        for n in (1, 2, 3, 7, 10, 49):
            for value in (0.0, -3.0, 1000.0):
                got = of(np.full((2, n), value).astype(dtype), method=method)
                assert as_floats(got.values) == [float(np.array(1 / n).astype(dtype))] * (2 * n)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.01, 1.0, 8.0, 60.0, 500.0, 1e4])
def test_random_rows_of_all_sizes(method: Method, name: str, scale: float) -> None:
    """Among large scales many answers are subnormal or 0."""
    generator = np.random.default_rng(7)
    for n in (2, 3, 17):
        check(generator.normal(size=(3, n)) * scale, name, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "least"), [("float16", 24), ("bfloat16", 133), ("float32", 149)])
def test_around_the_smallest_subnormal(method: Method, name: str, least: int) -> None:
    """From the least normal down to where half the smallest subnormal is passed."""
    edges = -np.log(2.0) * np.arange(least - 14, least + 3)
    rows = np.stack([np.zeros_like(edges), edges], axis=1)
    got = check(rows, name, method)
    assert 0 < (got.values[:, 1] > 0).sum() < len(edges)


@pytest.mark.parametrize("method", METHODS)
def test_subnormals_of_float64(method: Method) -> None:
    edges = np.linspace(-746, -700, 47)
    check(np.stack([np.zeros_like(edges), edges], axis=1), "float64", method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "row",
    [
        [1000.0, 1001.0, 1002.0],
        [3e38, 3e38, -3e38],
        [-1e-40, 1e-40, 0.0],
        [0.0, -INF, -1.0],
        [-INF, -INF, 5.0],
        [-65504.0, 0.0, -1e9],
        [0.0, -0.0, 0.0],
    ],
)
def test_far_and_masked_values(method: Method, row: list[float]) -> None:
    for name in ("float32", "float64", "bfloat16"):
        check(np.array([row]), name, method)


@pytest.mark.parametrize("method", METHODS)
def test_the_largest_numbers_of_float64(method: Method) -> None:
    """Their difference is too large for a float64."""
    big = np.finfo(np.float64).max
    got = of([[big, -big, 0.0], [big, big, -INF]], method=method)
    assert got.values.tolist() == [[1, 0, 0], [0.5, 0.5, 0]]
    assert (got.distance == 0.5).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_share_of_nearly_one_half_is_rounded_to_it(method: Method) -> None:
    """1/(2 + e^-700) is 1/2 but for the thousandth bit."""
    check(np.array([[0.0, 0.0, -700.0]]), "float64", method)


@pytest.mark.parametrize("method", METHODS)
def test_a_near_tie_below_the_smallest_subnormal(method: Method) -> None:
    """e^x around 2^-1075, with float64's neighbours of 1075·ln 2."""
    x = -745.1332191019411
    rows = np.array([[0.0, y] for y in (np.nextafter(x, -INF), x, np.nextafter(x, INF))])
    got = check(rows, "float64", method)
    assert got.values[:, 1].tolist() == [0, 5e-324, 5e-324]
    assert got.distance[:, 1].max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_a_long_row_sums_without_loss(method: Method) -> None:
    """3000 equal elements and one that is larger by ln 2: 1/3002 and 2/3002, nearly."""
    x = np.zeros((1, 3001))
    x[0, 1234] = np.log(2.0)
    got = of(x, method=method)
    (small, _), (large, _) = (
        nearest(y, "float64") for y in softmax([0.0] * 3000 + [np.log(2.0)])[-2:]
    )
    assert set(got.values[0, :1234]) | set(got.values[0, 1235:]) == {small}
    assert got.values[0, 1234] == large


def test_a_row_of_a_million_elements() -> None:
    """Of two kinds, so that the answer is known: n·e^0 + m·e^-1."""
    x = np.zeros((1, 1_000_001), np.float32)
    x[0, ::3] = -1
    got = of(x)
    assert got.method == "double-double"
    lower, upper = len(x[0, ::3]), x.size - len(x[0, ::3])
    import decimal

    with decimal.localcontext() as context:
        context.prec = 60
        e = decimal.Decimal(-1).exp()
        total = upper + lower * e
        want = [np.float32(float(1 / total)), np.float32(float(e / total))]
    assert np.unique(got.values).tolist() == sorted(want)
    assert set(got.values[0, ::3]) == {want[1]}


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_nan_by_the_formula(method: Method) -> None:
    got = of(
        [[1.0, NAN, INF], [-INF, -INF, -INF], [INF, INF, INF], [0.0, 0.0, -INF]], method=method
    )
    assert np.isnan(got.values[:3]).all()
    assert got.values[3].tolist() == [0.5, 0.5, 0]
    assert np.isinf(got.distance[:3]).all()
    assert (got.distance[3] == 0.5).all()


@pytest.mark.parametrize("name", NAMES)
def test_nan_is_always_the_same_one(name: str) -> None:
    dtype, unsigned, _ = DTYPES[name]
    x = -np.full((1, 2), NAN).astype(dtype)
    x.view(unsigned)[0, 1] += 1
    assert set(of(x).values.view(unsigned)[0].tolist()) == {
        {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8 << 48}[
            name
        ]
    }


@pytest.mark.parametrize("method", METHODS)
def test_infinity_beside_other_numbers_is_open(method: Method) -> None:
    with pytest.raises(Undecided, match=r"^Softmax-13: .*\+inf"):
        of([[0.0, 1.0], [INF, -INF]], method=method)


def test_versions_1_and_11_coerce_and_13_does_not() -> None:
    x = np.zeros((2, 3, 4))
    assert of(x, 1).values[0, 0, 0] == of(x, 11, axis=-2).values[0, 0, 0] == 1 / 12
    assert of(x, 11, axis=0).values[0, 0, 0] == 1 / 24
    assert of(x, 13).values[0, 0, 0] == 1 / 4
    assert of(x, 13, axis=-2).values[0, 0, 0] == 1 / 3


@pytest.mark.parametrize("method", METHODS)
def test_each_row_lies_along_its_axis(method: Method) -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 4))
    for axis in (0, 1, 2):
        rows = np.moveaxis(x, axis, -1)
        want = [
            nearest(y, "float64")[0]
            for row in rows.reshape(-1, x.shape[axis])
            for y in softmax(row)
        ]
        got = of(x, method=method, axis=axis)
        assert np.moveaxis(got.values, axis, -1).ravel().tolist() == want


@pytest.mark.parametrize(("since", "axis"), [(1, -1), (1, 2)])
def test_what_version_1_leaves_open(since: int, axis: int) -> None:
    with pytest.raises(Undecided, match=f"axis {axis}"):
        of(np.zeros((2, 2)), since, axis=axis)


@pytest.mark.parametrize(
    ("since", "shape", "axis", "dtype", "reason"),
    [
        (11, (2, 3), 2, "float32", r"axis 2 is outside \[-2, 1\]"),
        (13, (2, 3), -3, "float32", r"axis -3 is outside \[-2, 1\]"),
        (13, (), 0, "float32", "rank 0"),
        (13, (2, 3), 0, "int8", "int8 is none of"),
        (11, (2, 3), 0, "bfloat16", "bfloat16 is none of float16, float32, float64"),
        (13, (0, 3), 2, "float16", "outside"),
    ],
)
def test_what_is_invalid(
    since: int, shape: tuple[int, ...], axis: int, dtype: str, reason: str
) -> None:
    x = np.zeros(shape).astype(DTYPES[dtype][0] if dtype in DTYPES else dtype)
    with pytest.raises(InvalidNode, match=rf"^Softmax-{since}: .*{reason}"):
        of(x, since, axis=axis)


def test_the_number_of_elements_decides_the_method_and_nothing_else_does() -> None:
    for shape in ((64, 64), (4096, 1), (1, 4096)):
        assert of(np.zeros(shape)).method == "mpmath"
    for shape in ((4097, 1), (1, 4097)):
        assert of(np.zeros(shape)).method == "double-double"
    assert of(np.full((3, 3), NAN)).method == "mpmath"


def test_elements_too_near_to_a_midpoint_are_left_to_mpmath(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a bound as if nothing were known, all are; and what comes out is the same."""
    from opcheck.precise import double_double
    from opcheck.precise.ops.softmax import by_double_double

    asked: list[int] = []

    def row(x: Any, form: Any, at: Any) -> Any:
        asked.append(len(at))
        return true_row(x, form, at)

    true_row = by_double_double.row
    x = np.random.default_rng(5).normal(size=(4, 50)).astype(np.float32)
    want = of(x, method="double-double")
    monkeypatch.setattr(by_double_double, "row", row)
    monkeypatch.setattr(double_double, "U", 2.0**-15)
    got = of(x, method="double-double")
    assert sum(asked) > 150
    assert got.values.tobytes() == want.values.tobytes()
    assert np.array_equal(got.distance, want.distance)

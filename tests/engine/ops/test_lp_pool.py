import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck.dtypes import DTYPES, limits
from opcheck.engine.rounding import correctly_rounded
from tests.engine.ops.lp_pool_exactly import TYPES, norm, pooled, rounded, rows, tensor
from tests.examples import examples
from tests.precise.by_the_text import windows

NAMES = TYPES[22]
NAN, INF = math.nan, math.inf
numbers = st.lists(st.floats(-8, 8, width=16), min_size=4, max_size=4)


def flat(array: Any) -> list[float]:
    return [float(value) for value in array.ravel()]


@st.composite
def poolings(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, list[int]]]:
    rank = draw(st.integers(1, 3))
    sides = [draw(st.integers(0, 5)) for _ in range(rank)]
    attrs: dict[str, list[int]] = {name: [] for name in ("kernel_shape", "strides", "dilations")}
    begins, ends = [], []
    for side in sides:
        attrs["kernel_shape"].append(draw(st.integers(1, 3)))
        attrs["strides"].append(draw(st.integers(1, 3)))
        attrs["dilations"].append(draw(st.integers(1, 2)))
        width = (attrs["kernel_shape"][-1] - 1) * attrs["dilations"][-1] + 1
        begins.append(draw(st.integers(0, 3)))
        ends.append(draw(st.integers(max(0, width - side - begins[-1]), 5)))
    outer = (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    return (*outer, *sides), {**attrs, "pads": begins + ends}


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(poolings(), st.sampled_from([1, 2, 3, 5]), st.booleans(), st.integers(0, 99))
def test_every_element_is_the_norm_of_its_window(name, pooling, p, up, seed):
    shape, attrs = pooling
    x = np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[name].numpy)
    stated: dict[str, Any] = {**attrs, "p": p, "ceil_mode": int(up)}
    got = pooled(22, x, **stated)
    spatial = [windows(side, axis, stated) for axis, side in enumerate(shape[2:])]
    assert got.values.shape == (*shape[:2], *map(len, spatial))
    for index in np.ndindex(got.values.shape):
        places = product(*(spatial[axis][n] for axis, n in enumerate(index[2:])))
        total = sum(abs(float(x[(*index[:2], *place)])) ** p for place in places)
        assert math.isclose(got.values[index], total ** (1 / p), rel_tol=1e-14)
    assert got.rounded().dtype == x.dtype


POWERS = [
    (name, p)
    for name in NAMES
    for p in (1, 2, 3, 10, 2.5, 0.5)
    if p == int(p) or name != "bfloat16"
]


def drawn(name: str, kind: str, count: int, length: int) -> Any:
    """Rows of random numbers, all of them finite."""
    dtype, rng, shape = DTYPES[name], np.random.default_rng([len(kind), length]), (count, length)
    largest = math.log2(limits(dtype)[1])
    if kind == "ordinary":
        values = rng.standard_normal(shape)
    elif kind == "of all sizes":
        values = np.ldexp(rng.uniform(-1, 1, shape), rng.integers(dtype.min_exponent, 14, shape))
        values = np.ldexp(values, rng.integers(0, int(largest) - 13, shape))
    elif kind == "near the largest":
        values = rng.uniform(0.2, 1, shape) * limits(dtype)[1]
    else:
        values = np.ldexp(rng.uniform(-60, 60, shape), dtype.min_exponent)
    with np.errstate(under="ignore"):
        return values.astype(dtype.numpy)


@pytest.mark.parametrize(("name", "p"), POWERS)
def test_answers_are_correctly_rounded_and_in_float64_nearly_always(name: str, p: float) -> None:
    off: list[bool] = []
    for kind in ("ordinary", "of all sizes", "near the largest", "subnormal"):
        for length in (2, 9):
            values = drawn(name, kind, 40, length)
            answers = flat(rows(values, p).rounded())
            right = [rounded(norm(row, p), DTYPES[name]) for row in values.tolist()]
            off += [a != b for a, b in zip(answers, right, strict=True)]
    assert sum(off) <= (len(off) / 100 if name == "float64" else 0)


def exactly_rounded(x: Any) -> list[float]:
    """The sums of the magnitudes of each row, as golden files have them."""
    ((out,), _) = correctly_rounded(rows(x, 1).evaluation.node)
    return flat(out)


@pytest.mark.parametrize("name", NAMES)
def test_a_tie_is_broken_by_what_is_far_below_it(name: str) -> None:
    dtype = DTYPES[name]
    # 1 and half the distance to the next number is a tie; ties go to the even 1.
    half, tiny = 2.0**-dtype.precision, 2.0 ** (-10 if name == "float16" else -40)
    for row, want in [([1, half, 0], 1), ([1, half, half * tiny], 1 + 2 * half)]:
        # What stands in other windows is not asked.
        x = tensor([*row, *[INF] * 3, *[0] * 3], name).reshape(3, 3)
        assert exactly_rounded(x) == [want, INF, 0]


@pytest.mark.parametrize("p", [1, 2, 64, 1000, 1 << 53, (1 << 62) + 1])
@pytest.mark.parametrize("name", NAMES)
def test_the_power_may_be_as_large_as_its_type_allows(name: str, p: int) -> None:
    values = drawn(name, "ordinary", 10, 3)
    answers = flat(rows(values, p).rounded())
    for row, answer in zip(values.tolist(), answers, strict=True):
        # Above 2^53 the others are as good as gone: these rows hold no near tie of two maxima.
        exact = norm(row, p) if p < 2000 else Fraction(max(map(abs, row)))
        assert answer == rounded(exact, DTYPES[name])


def test_the_ends_of_what_float64_holds() -> None:
    largest = limits(DTYPES["float64"])[1]
    # Half a step is 2^970; the last five bring 2^970 - 2^960 beyond it, each too little to do so.
    x = np.array([[largest, 2.0**970 - 2.0**960, *[2.0**958] * 5], [largest, 2.0**969, *[0] * 5]])
    assert exactly_rounded(x) == [INF, largest]
    assert flat(rows(np.full((2, 4), largest), 1).rounded()) == [INF, INF]
    for row, p, want in [([3.0, 4.0], 2, 5), ([2.0] * 16, 4, 4), ([3.0] * 4, 1, 12)]:
        out = rows(np.array([row]), p)
        assert (out.values.item(), out.rest.item()) == (want, 0)


@pytest.mark.parametrize("p", [0.25, 0.5, 0.9])
def test_numbers_next_to_nothing_beside_others_do_not_cost_digits(p: float) -> None:
    x, held = np.random.default_rng(0).normal(size=(50, 8)), float(np.float32(p))
    x[:, 0] = 1e-320
    x[:, 1:3] *= 1e200
    want = [rounded(norm(row, held), DTYPES["float64"]) for row in x.tolist()]
    assert sum(a != b for a, b in zip(flat(rows(x, held).rounded()), want, strict=True)) <= 1

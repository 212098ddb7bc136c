"""What is quickly accepted is within what every tier allows, and not needlessly less."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from opcheck.engine.bounds import Part, smallest_normal

from opcheck.dtypes import DTYPES, DType, round_to
from opcheck.engine import Exact
from tests.engine.ops.softmax.asked import DOUBLE, FLOATS, SINGLE, WHOLE, exact_of, quickly

#: What y may be given in; a narrower output's is given in float64 only.
GIVEN = [(name, "float64") for name in FLOATS] + [("float32", "float32")]


def half_step(y: float, dtype: DType) -> Fraction:
    exponent = max(math.frexp(y)[1] - dtype.precision, dtype.min_exponent)
    return Fraction(2) ** exponent / 2


def room(y: float, own: float, dtype: DType) -> Fraction:
    """What an element may be off alone: its own error.

    A normal number is rounded within it; half a step more is for what is rounded more coarsely.
    """
    rounded = dtype.numpy.itemsize == 2 or y < smallest_normal(dtype)
    return Fraction(own) * Fraction(y) + (half_step(y, dtype) if rounded else 0)


def assert_every_tier_allows_it(out: Exact, given: str = "float64", part: Part = WHOLE) -> None:
    """With nothing in common, and all that rounding y to how it is given may have cost."""
    outer, length, inner = out.bound.layout
    values = out.values.reshape(outer, length, inner)
    least = Fraction(float(np.finfo(given).smallest_subnormal))
    seen = [array.reshape(-1).tolist() for array in (values[part], *quickly(out, given, part))]
    for tier in out.bound.tiers(()):
        rows = np.moveaxis(values, 1, 2).reshape(-1, length)
        allowance = out.bound.allowance(tier, np.arange(len(rows)), rows)
        own, exact = (
            np.moveaxis(each.reshape(outer, inner, length), 2, 1)[part].reshape(-1).tolist()
            for each in (allowance.local, allowance.exact)
        )
        for y, got, accepted, e, no_error in zip(*seen, own, exact, strict=True):
            if math.isnan(y):
                assert math.isnan(accepted)
            elif no_error:
                # No number of the dtype is so near to 0.
                assert 0 <= accepted < 2.0**out.dtype.min_exponent
            else:
                rounding = abs(Fraction(got) - Fraction(y))
                # What is accepted is a number as well, rounded as coarsely where it is subnormal.
                spare = least / 2 if accepted < np.finfo(given).smallest_normal else 0
                assert Fraction(accepted) + rounding <= room(y, e, out.dtype) + spare


def below_the_maximum(name: str) -> st.SearchStrategy[float]:
    """Gaps: ties, ordinary, with ln s near u, with y subnormal, so wide that nothing is left."""
    ends = {"float64": (34, 40, 700, 750)}.get(name, (14, 20, 80, 110))
    ordinary = st.sampled_from([0.0, 0.0, 1.0, math.inf]) | st.floats(0, 5)
    return ordinary | st.floats(*ends[:2]) | st.floats(*ends[2:]) | st.floats(200, 6e4)


def maxima(name: str) -> st.SearchStrategy[float]:
    far = [6e4, -6e4] if name == "float16" else [1e5, -3e7, 2.0**26, 1e30, -1e30]
    return st.sampled_from([0.0, 0.0, -100.0, 2.0**14 - 1, 2.0**14, *far])


def blocks(shape: tuple[int, ...]) -> st.SearchStrategy[Part]:
    def within(size: int) -> st.SearchStrategy[slice]:
        ends = st.tuples(st.integers(0, size - 1), st.integers(1, size))
        return ends.map(lambda pair: slice(pair[0], max(pair[0] + 1, pair[1])))

    return st.tuples(*map(within, shape))


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_tier_allows_each_element_what_is_quickly_accepted(
    name: str, given_in: str, data: st.DataObject
) -> None:
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 2)))
    gaps = data.draw(arrays(np.float64, shape, elements=below_the_maximum(name)))
    top = data.draw(arrays(np.float64, (shape[0], 1, shape[2]), elements=maxima(name)))
    x = top - gaps
    if data.draw(st.booleans()):
        place = data.draw(st.tuples(*(st.integers(0, side - 1) for side in shape)))
        x[place] = data.draw(st.sampled_from([math.nan, math.inf]))
    out = exact_of(round_to(x, DTYPES[name]), axis=1)
    assert_every_tier_allows_it(out, given_in, data.draw(blocks(shape)))


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
@pytest.mark.parametrize("top", [0.0, -1e4, 2.0**15, 2.0**24, -(2.0**26), 1e30])
def test_wherever_a_row_lies_every_tier_allows_it(name: str, given_in: str, top: float) -> None:
    if name == "float16":
        top = math.copysign(min(abs(top), 6e4), top)
    below = np.array([0, 0.5, 1, 4, 7, 8, 16, 17, 32, 64, 88, 96, 103, 512, 736, 745, 999, 3e4])
    pairs = top - np.stack([0 * below, below], axis=1)
    assert_every_tier_allows_it(exact_of(round_to(pairs, DTYPES[name])), given_in)
    for ties in (3, 5, 7, 9, 11, 13, 15):
        x = np.tile(top - below, (ties, 1)).reshape(1, -1)
        assert_every_tier_allows_it(exact_of(round_to(x, DTYPES[name])), given_in)


@pytest.mark.parametrize(("name", "given_in"), GIVEN)
def test_a_maximum_that_is_the_sum_may_not_use_an_exponential(name: str, given_in: str) -> None:
    u = DOUBLE if name == "float64" else SINGLE
    gap = -math.log(u)  # where ln s is u
    x = np.stack([np.zeros(81), np.linspace(-0.9 * gap, -1.1 * gap, 81)], axis=1)
    x = round_to(x, DTYPES[name])
    out = exact_of(x)
    assert_every_tier_allows_it(out, given_in)
    _, accepted = quickly(out, given_in)
    rounding = half_step(0.75, out.dtype) if name in ("float16", "bfloat16") else 0
    at_top = (accepted[:, 0, 0] - float(rounding)) / u
    alone = np.exp(x[:, 1].astype(np.float64)) < u
    assert alone.any()
    assert at_top[alone] == pytest.approx(0.99 * 3)
    assert at_top[:20] == pytest.approx(0.99 * 11)
    for row, of_row in enumerate(accepted):
        _, piece = quickly(out, given_in, (slice(row, row + 1), *WHOLE[1:]))
        assert piece[0].tolist() == of_row.tolist()


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_a_row_that_is_no_number_leaves_the_others_as_they_are(special: float) -> None:
    x = np.array([[0, -200], [0, 0], [special, special], [3, -1]], np.float32)
    out = exact_of(x)
    for name in ("float32", "float64"):
        _, accepted = quickly(out, name)
        assert np.isnan(accepted[2]).all()
        for row in (0, 1, 3):
            _, alone = quickly(exact_of(x[row : row + 1]), name)
            assert accepted[row : row + 1].tolist() == alone.tolist()
        # exp(0) is 1 where the maximum is all there is: nothing but what follows it.
        assert accepted[0, 0, 0] == pytest.approx(0.99 * 3 * SINGLE)


def test_quick_acceptance_worked_out_by_hand() -> None:
    out = exact_of(np.array([[0, -1, -100, -np.inf], [0, -20, -104, -3e38]], np.float32))
    top = 1 / (1 + math.exp(-1))
    # u·(3·gap + 8 + 3)·y, or + 3 beside a maximum that has it all; a hundredth is kept back.
    want = [
        [11 * top, (3 + 11) * top * math.exp(-1), (300 + 11) * top * math.exp(-100), 0],
        [3, (60 + 3) * math.exp(-20), (312 + 3) * math.exp(-104), 0],
    ]
    for name in ("float32", "float64"):
        _, accepted = quickly(out, name)
        single = name == "float32"
        for got, expected in zip(accepted.flat, np.ravel(want), strict=True):
            exact = 0.99 * SINGLE * expected
            assert got == pytest.approx(exact, rel=1e-6, abs=2.0**-150 if single else 0)


@pytest.mark.parametrize("shift", [2.0**14 - 1, 2.0**14, 1e5, -1e5, 2.0**20])
def test_quick_acceptance_does_not_depend_on_where_a_row_lies(shift: float) -> None:
    x = np.random.default_rng(5).integers(-30, 1, (3, 20)).astype(np.float32)
    for name in ("float32", "float64"):
        (_, here), (_, there) = (quickly(exact_of(x + np.float32(at)), name) for at in (0, shift))
        np.testing.assert_allclose(there, here, rtol=1e-3)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_quick_acceptance_of_a_16_bit_type_holds_half_a_step_of_it(name: str) -> None:
    dtype = DTYPES[name]
    x = np.linspace(0, -20, 200).reshape(1, -1).astype(dtype.numpy)
    out = exact_of(x)
    y, accepted = quickly(out)
    off = np.abs(out.rounded().astype(np.float64).reshape(y.shape) - y)
    assert (off <= accepted).all()
    assert (off > 0.9 * accepted).any()


def test_quick_acceptance_takes_any_block_and_pieces_of_rows() -> None:
    x = np.random.default_rng(6).normal(size=(3, 7, 4)).astype(np.float32)
    x[1, 2, 3] = 300.0
    out = exact_of(x, axis=1)
    for name in ("float32", "float64"):
        _, whole = quickly(out, name)
        for size in (1, 2, 3, 7):
            for a, n, b in itertools.product(range(3), range(0, 7, size), range(0, 4, 2)):
                part = slice(a, a + 1), slice(n, n + size), slice(b, b + 2)
                _, piece = quickly(out, name, part)
                assert_every_tier_allows_it(out, name, part)
                # Beside a maximum that has it all less is accepted than what there would be room
                # for; a piece without it knows no more than that there is room.
                assert (piece >= whole[part]).all()
                assert piece[..., :1].tolist() == whole[part][..., :1].tolist()
        assert quickly(out, name, (slice(1, 2), slice(0, 4), slice(3, 4)))[1].tolist() == (
            whole[1:2, :4, 3:].tolist()
        )

"""What is drawn at random is judged by its distribution; the error rate is stated, and small."""

import numpy as np
import pytest

from opcheck.compare import are_plainly_right, compare_outputs
from opcheck.compare.elements import (
    _LEVELS,
    _deviation_of_bins,
    _deviations_of_pairs,
    _runs_of_equal,
    judged_draws,
    stepped,
)
from opcheck.compare.outputs import computed_want
from opcheck.dtypes import DTYPES
from opcheck.engine import Drawn
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import exactly

SHAPE = (20, 1000)
NORMAL = OpVersion("", "RandomNormal", 22), (), {"shape": [*SHAPE], "mean": 3.0, "scale": 2.0}
UNIFORM = OpVersion("", "RandomUniform", 22), (), {"shape": [*SHAPE], "low": -3.0, "high": 5.0}
COIN = OpVersion("", "Bernoulli", 22), (np.full(SHAPE, 0.3, np.float32),), {}
CLASSES = (
    OpVersion("", "Multinomial", 22),
    (np.log(np.float32([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])),),
    {"sample_size": 10_000},
)
#: Another library's generator than the engine's.
RNG = np.random.default_rng(7)
DATA = RNG.uniform(-2, 2, SHAPE).astype(np.float32)


def used(node, got):
    """How much of what is allowed an answer needs; infinite where it cannot be drawn."""
    (draw,) = exactly(*node)
    assert isinstance(draw, Drawn)
    found = judged_draws(draw, got, DTYPES[str(got.dtype)])
    return np.inf if found.impossible.any() else found.used


def float32(array):
    return np.asarray(array, np.float32)


def one_for_two(u):
    """Box and Muller's normal number of one uniform number in the place of two."""
    return float32(3 + 2 * np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * u))


def classes(*probabilities):
    rows = [RNG.choice(len(row), 10_000, p=row) for row in probabilities]
    return np.array(rows, np.int32)


def test_the_medians_of_all_elements_are_not_drawn() -> None:
    (output,) = exactly(*NORMAL)
    want = computed_want(NORMAL[0], "y", output)
    assert [one.problem for one in compare_outputs([want], [want.values])] == ["distribution"]
    assert not are_plainly_right([want], [want.values])


@pytest.mark.sampled(2, evenly=True)
@pytest.mark.parametrize(
    ("node", "draw"),
    [
        (NORMAL, lambda: float32(RNG.normal(3, 2, SHAPE))),
        (UNIFORM, lambda: float32(RNG.uniform(-3, 5, SHAPE))),
        (COIN, lambda: float32(RNG.random(SHAPE) < 0.3)),
        (CLASSES, lambda: classes([0.5, 0.25, 0.25], [0.125, 0.125, 0.75])),
    ],
)
def test_no_honest_generator_is_accused(node, draw):
    # Of two dozen answers, with four questions of 255 parts and more each, none comes near.
    assert max(used(node, draw()) for _ in range(6)) < 0.8


@pytest.mark.parametrize(
    ("node", "got"),
    [
        (NORMAL, float32(RNG.normal(3, 2**0.5, SHAPE))),
        (NORMAL, float32(RNG.normal(3.2, 2, SHAPE))),
        # A sum of three uniform numbers is nearly normal, but for its tails.
        (NORMAL, float32(3 + 4 * (RNG.random((3, *SHAPE)).sum(0) - 1.5))),
        (NORMAL, one_for_two(RNG.random(SHAPE))),
        (NORMAL, np.repeat(float32(RNG.normal(3, 2, (1, 1000))), 20, axis=0)),
        (NORMAL, np.repeat(float32(RNG.normal(3, 2, (20, 500))), 2, axis=1)),
        (UNIFORM, float32(RNG.uniform(-3, 4.5, SHAPE))),
        (UNIFORM, np.floor(float32(RNG.uniform(-3, 5, SHAPE)))),
        (COIN, float32(RNG.random(SHAPE) < 0.35)),
        (CLASSES, classes([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])),
        (CLASSES, classes([0.125, 0.125, 0.75], [0.5, 0.25, 0.25])),
    ],
    ids="variance mean sum_of_three one_for_two rows pairs range whole coin batch swapped".split(),
)
def test_a_wrong_distribution_is_seen(node, got):
    assert used(node, got) > 1


@pytest.mark.parametrize(
    ("node", "value"), [(UNIFORM, 5.001), (UNIFORM, -3.001), (COIN, 0.5), (NORMAL, np.nan)]
)
def test_one_number_that_cannot_be_drawn_is_enough(node, value):
    (draw,) = exactly(*node)
    got = draw.rounded().copy()
    got[3, 4] = value
    found = judged_draws(draw, got, DTYPES["float32"])
    assert [*zip(*np.nonzero(found.impossible), strict=True)] == [(3, 4)]


def test_what_is_computed_may_lie_four_steps_beyond_the_ends():
    (draw,) = exactly(*UNIFORM)
    ends = draw.quantiles(np.nextafter(1, 0)), draw.quantiles(0.0)
    for end, sign in zip(ends, (1, -1), strict=True):
        for steps in (4, 5):
            found = judged_draws(draw, stepped(end, sign * steps), DTYPES["float32"])
            assert found.impossible.all() == found.impossible.any() == (steps == 5)
    assert computed_want(UNIFORM[0], "y", draw).values == pytest.approx(1)


def test_how_odd_bins_and_pairs_are(wording):
    """By Chernoff √(n·D / ln(2 questions / 1e-10)); D of all in the first of 256 bins is ln 256."""
    bins, unsure = np.zeros(10, np.int64), np.zeros(10, bool)
    used, text = _deviation_of_bins(bins, unsure, "all")
    assert used == pytest.approx((10 * np.log(256) / np.log(510e10)) ** 0.5)
    assert text == wording
    half = _deviation_of_bins(bins, ~unsure, "all")[0]
    assert half == pytest.approx((10 * np.log(128) / np.log(510e10)) ** 0.5)
    by_turns = np.arange(8) % 2 == 0
    expected = {
        (lag, many): (n * np.log(2) / np.log(2e10)) ** 0.5
        for lag, many, n in ((1, "0.0%", 7), (4, "100.0%", 4))
    }
    for shape in ((2, 4), (8,), (4, 2), ()):
        said = {text: used for used, text in _deviations_of_pairs(by_turns, shape)}
        pairs = expected | (
            {(2, "100.0%"): (6 * np.log(2) / np.log(2e10)) ** 0.5} if shape == (4, 2) else {}
        )
        assert said == pytest.approx(
            {
                f"of those {lag} apart, {many} lie on one side of the middle, not half": used
                for (lag, many), used in pairs.items()
            }
        )


def test_groups_of_one_distribution_are_judged_apart():
    p = np.tile(np.float32([0.25, 0.75]), (1000, 10))
    node = OpVersion("", "Bernoulli", 22), (p,), {}
    assert used(node, float32(RNG.random(p.shape) < p)) < 1
    # As many ones in all as should be, but all where the probability is less.
    less = RNG.random(p.shape) < 0.5
    node = OpVersion("", "Bernoulli", 22), (np.where(less, 0.5, np.float32(0.51)),), {}
    assert used(node, float32(less)) > 1


def test_few_numbers_are_no_evidence():
    node = OpVersion("", "RandomNormal", 22), (), {"shape": [8]}
    assert used(node, float32(np.zeros(8))) < 1


def dropped(ratio=0.3, scale=None, data=DATA, mask=None):
    """Output and mask of Dropout by another generator, in float32."""
    mask = RNG.random(data.shape) >= ratio if mask is None else mask
    scale = np.float32(1) / (np.float32(1) - np.float32(ratio)) if scale is None else scale
    return np.where(mask, data * scale, 0).astype(data.dtype), mask


def of_dropout(got, data=DATA):
    """The problems of an answer to Dropout of a ratio of 0.3, by output."""
    op = OpVersion("", "Dropout", 22)
    draws = exactly(op, (data, np.float32(0.3), np.array(True)), {}, 2)
    wants = [computed_want(op, name, one) for name, one in zip(("y", "m"), draws, strict=True)]
    return [one.problem for one in compare_outputs(wants, got)]


def test_no_honest_dropout_is_accused():
    assert all(of_dropout(dropped()) == [None, None] for _ in range(6))


@pytest.mark.parametrize(
    ("got", "problems"),
    [
        (dropped(0.35, np.float32(1 / 0.7)), ["distribution", "distribution"]),
        (dropped(scale=np.float32(1)), ["values", None]),
        (dropped(scale=np.float32(1.00001 / 0.7)), ["values", None]),
        ((dropped()[0], dropped()[1]), [None, "values"]),
        ((dropped()[0], np.ones(SHAPE, bool)), [None, "distribution"]),
        (
            dropped(mask=np.repeat(RNG.random((1, 1000)) >= 0.3, 20, 0)),
            ["distribution", "distribution"],
        ),
    ],
    ids="ratio unscaled scale apart ones rows".split(),
)
def test_a_wrong_dropout_is_seen(got, problems):
    assert of_dropout(got) == problems


def test_one_element_that_contradicts_the_mask_is_enough():
    output, mask = dropped()
    other = np.where(np.arange(mask.size).reshape(SHAPE) == 7, ~mask, mask)
    assert of_dropout((output, other)) == [None, "values"]
    # Where the data are 0, so is the output, kept or not.
    zeros = np.where(np.arange(DATA.size).reshape(SHAPE) % 3, DATA, np.float32(0))
    assert of_dropout(dropped(data=zeros), zeros) == [None, None]


def test_what_a_graph_computes_of_numbers_drawn_is_not_judged(wording):
    body = "() => (y) { y = RandomUniform <shape = [3]>() }"
    attrs = {"then_branch": body, "else_branch": body}
    with pytest.raises(NotSupported) as raised:
        exactly(OpVersion("", "If", 25), (np.array(True),), attrs)
    assert raised.value == wording


@pytest.mark.parametrize("node", [NORMAL, UNIFORM, COIN, CLASSES])
def test_runs_have_the_quantiles_of_each_level(node) -> None:
    (draw,) = exactly(*node)
    runs = [*_runs_of_equal(draw.quantiles, _LEVELS)]
    levels = np.concatenate([levels for levels, _ in runs])
    assert levels.tolist() == _LEVELS.tolist()
    for levels, quantiles in runs:
        for level in levels:
            np.testing.assert_array_equal(quantiles, draw.quantiles(level))


def test_few_levels_are_computed_for_a_distribution_of_two_values() -> None:
    (draw,) = exactly(*COIN)
    computed = []

    def quantiles(share):
        computed.append(share)
        return draw.quantiles(share)

    assert len([*_runs_of_equal(quantiles, _LEVELS)]) < 10
    assert len(computed) < 20

"""Conv beside loops in plain Python."""

import math
from itertools import product
from random import Random

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.mutants import mutants_of
from opcheck.model import OpVersion
from tests.computed import evaluate

CONV = OpVersion("", "Conv", 22)


@pytest.mark.parametrize("seed", range(40))
def test_every_sum_is_that_of_loops_over_filters_and_windows(seed):
    rng, axes = Random(seed), range(1 + seed % 3)
    group, each, count = (rng.randint(1, 3) for _ in range(3))
    kernel, strides, dilations, *pads = ([rng.randint(1, 3) for _ in axes] for _ in range(5))
    lengths = [rng.randint(1, 4) + (kernel[a] - 1) * dilations[a] for a in axes]
    attrs = {"strides": strides, "dilations": dilations, "group": group, "pads": pads[0] + pads[1]}
    x = np.array([rng.randint(-9, 9) for _ in range(2 * group * each * np.prod(lengths))])
    x = x.reshape(2, group * each, *lengths)
    w = np.array([rng.randint(-9, 9) for _ in range(group * count * each * np.prod(kernel))])
    w, bias = w.reshape(group * count, each, *kernel), np.arange(group * count)
    (found,) = evaluate(CONV, [part.astype(np.float64) for part in (x, w, bias)], attrs)
    spans = [lengths[a] + pads[0][a] + pads[1][a] - (kernel[a] - 1) * dilations[a] for a in axes]
    assert found.shape == (2, len(w), *((spans[a] - 1) // strides[a] + 1 for a in axes))
    for batch, m, *place in np.ndindex(found.shape):
        total = int(bias[m])
        for c, *j in product(range(each), *map(range, kernel)):
            at = [place[a] * strides[a] - pads[0][a] + j[a] * dilations[a] for a in axes]
            if all(0 <= at[a] < lengths[a] for a in axes):
                total += int(w[m, c, *j]) * int(x[batch, m // count * each + c, *at])
        assert found[batch, m, *place] == total


def answers(x, w, **attrs):
    """Each answer that the text admits."""
    node = Node(CONV, (np.float32(x), np.float32(w)), attrs)
    return [rounded(one.answer[0]) for one in each_answer(node)]


@pytest.mark.parametrize("weight", [np.inf, -np.inf, np.nan])
def test_an_infinite_weight_makes_nan_of_padding_or_is_not_multiplied(weight):
    """Windows of 0 1 2 3 0 by weights 1 and infinity: the last is on padding, and on 3 elements."""
    x, w = [[[1, 2, 3]]], [[[1, weight]]]
    of_zeros, of_nothing = answers(x, w, pads=(1, 1))
    inside = [weight * 1, weight * 2, weight * 3]
    np.testing.assert_array_equal(of_zeros, [[[*inside, np.nan]]])
    np.testing.assert_array_equal(of_nothing, [[[*inside, 3]]])


def test_products_of_infinite_weights_and_elements_stay_what_they_are():
    """Infinity times 0, and opposite infinities, are NaN without padding too."""
    x = [[[[0, 1, -1, 2]]], [[[1, 1, np.inf, -np.inf]]]]
    w = [[[[np.inf, 1, np.inf]]]]
    (_, found) = answers(x, w, pads=(0, 1, 0, 1))
    np.testing.assert_array_equal(found[0, 0, 0], [np.inf, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(found[1, 0, 0], [np.inf, np.inf, np.nan, np.nan])


def test_an_infinite_weight_is_decided_where_no_window_reaches_into_padding():
    assert len(answers([[[1, 2, 3]]], [[[1, np.inf]]])) == 1


def test_infinite_weights_of_one_group_leave_the_others_alone():
    x, w = [[[1, 2], [4, 5]]], [[[1, np.inf]], [[1, 2]]]
    of_zeros, of_nothing = answers(x, w, pads=(0, 1), group=2)
    np.testing.assert_array_equal(of_zeros, [[[np.inf, np.nan], [14, 5]]])
    np.testing.assert_array_equal(of_nothing, [[[np.inf, 2], [14, 5]]])


@pytest.mark.parametrize("activation", ["none", "silu"])
def test_a_causal_convolution_goes_on_where_it_ended(activation: str) -> None:
    """In one step, or in two with the state between."""
    rng = np.random.default_rng(5)
    shapes = [(2, 3, 9), (3, 1, 4), (3,)]
    x, weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    op, attrs = OpVersion("", "CausalConvWithState", 27), {"activation": activation}
    whole, last = evaluate(op, [x, weight, bias], attrs, 2)
    first, state = evaluate(op, [x[..., :2], weight, bias], attrs, 2)
    second, end = evaluate(op, [x[..., 2:], weight, bias, state], attrs, 2)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=2), whole)
    np.testing.assert_array_equal(end, last)
    for batch, channel, t in np.ndindex(whole.shape):
        held = [float(x[batch, channel, t - n]) if n <= t else 0.0 for n in range(4)]
        y = sum(w * e for w, e in zip(weight[channel, 0, ::-1].tolist(), held, strict=True))
        y += float(bias[channel])
        wanted = y / (1 + math.exp(-y)) if activation == "silu" else y
        assert whole[batch, channel, t] == pytest.approx(wanted, rel=1e-5, abs=1e-6)


ONES = np.ones((2, 3, 1), np.float32)
SIX_FILTERS = np.arange(1, 7, dtype=np.float32).reshape(6, 1, 1)


@pytest.mark.parametrize(
    ("name", "x", "w", "right", "wrong"),
    [
        # Channels of 1 to 6, of which each group adds up three.
        ("input_channels_in_turns", range(1, 7), ONES, [6, 15], [9, 12]),
        # Channels of 1 and 10, each with three of the filters 1 to 6.
        ("filters_in_turns", (1, 10), SIX_FILTERS, [1, 2, 3, 40, 50, 60], [1, 3, 5, 20, 40, 60]),
        ("groups_in_turns", (1, 10), SIX_FILTERS, [1, 2, 3, 40, 50, 60], [1, 20, 3, 40, 5, 60]),
        ("outputs_in_turns", (1, 10), SIX_FILTERS, [1, 2, 3, 40, 50, 60], [1, 40, 2, 50, 3, 60]),
    ],
)
def test_mutants_deal_to_two_groups_in_turns(name, x, w, right, wrong):
    node = Node(CONV, (np.float32(x).reshape(1, -1, 1), w), {"group": 2})
    [mutant] = [one for one in mutants_of(CONV) if one.name == name]
    assert rounded(node.right[0]).ravel().tolist() == right
    [y] = mutant.made_on(node)
    assert y.ravel().tolist() == wrong

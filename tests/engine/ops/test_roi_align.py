"""RoiAlign beside fractions, and beside sound arithmetic; what its text leaves open."""

from fractions import Fraction
from math import ceil, floor

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

BATCHES = np.array([1, 0, 1])
REGIONS = [[0.25, 0.5, 4.75, 6], [1, 1, 2.5, 4], [-0.25, 2, 5, 5.75]]


def aligned(x, regions, bins, ratio, scale, shift, real, by_shares=True, order=None):
    """The means in the arithmetic of `real`, of places in some order; at least one element long."""
    out = np.zeros((len(regions), x.shape[1], bins, bins), object)
    shift, scale = real(shift), real(scale)
    for place in np.ndindex(out.shape):
        region, image = regions[place[0]], x[BATCHES[place[0]], place[1]]
        at = []
        for axis, number, length in ((1, place[2], image.shape[0]), (0, place[3], image.shape[1])):
            low, high = (real(region[n]) * scale - shift for n in (axis, axis + 2))
            step = (high - low if shift else max(high - low, real(1))) / real(bins)
            count = ratio or ceil(step)
            low = low + real(number) * step
            along = [low + (real(k) + real(0.5)) * step / real(count) for k in range(count)]
            at.append([min(max(one, real(0)), real(length - 1)) for one in along])
        values = [between(image, y, x, real, by_shares) for y in at[0] for x in at[1]]
        if order:
            order.shuffle(values)
        total = real(0)
        for value in values:
            total = total + value
        out[place] = total / real(len(values))
    return out


def between(image, y, x, real, by_shares):
    """The value at a place, by the shares of four elements, or from one to the next."""
    (i, v), (j, u) = ((floor(at), at - real(floor(at))) for at in (y, x))
    rows, columns = ((n, min(n + 1, size - 1)) for n, size in zip((i, j), image.shape, strict=True))
    (a, b), (c, d) = ([real(image[row, column]) for column in columns] for row in rows)
    if not by_shares:
        a, c = a + u * (b - a), c + u * (d - c)
        return a + v * (c - a)
    one = real(1)
    return (one - v) * (one - u) * a + (one - v) * u * b + v * (one - u) * c + v * u * d


def node(since, bins, ratio, scale, shift):
    modes = {0.5: "half_pixel", 0.0: "output_half_pixel"}
    later = {"coordinate_transformation_mode": modes[shift]} if since > 10 else {}
    return {
        "output_height": bins,
        "output_width": bins,
        "sampling_ratio": ratio,
        "spatial_scale": scale,
        **later,
    }


@pytest.mark.sampled(11, evenly=True)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("since", "shift", "scale"), [(10, 0.0, 1.0), (16, 0.5, 0.75), (22, 0.0, 1.0), (22, 0.5, 0.5)]
)
@pytest.mark.parametrize(("bins", "ratio"), [(1, 0), (2, 0), (3, 2), (2, 3)])
def test_means_are_those_of_fractions_and_of_any_order(since, shift, scale, bins, ratio, dtype):
    rng = np.random.default_rng(bins)
    x, regions = rng.normal(size=(2, 2, 7, 6)).astype(dtype), np.array(REGIONS, dtype)
    asked = (
        OpVersion("", "RoiAlign", since),
        [x, regions, BATCHES],
        node(since, bins, ratio, scale, shift),
    )
    given = regions, bins, ratio, scale, shift
    with judging():
        want = computed_want(asked[0], "Y", exactly(*asked)[0])
    right = aligned(x, *given, lambda value: Fraction(float(value)))
    np.testing.assert_allclose(evaluate(*asked)[0], right.astype(float), 1e-5, 1e-6)
    assert not compare(want, right.astype(float).astype(dtype)).problem
    for by_shares in (True, False):
        assert not compare(want, aligned(x, *given, dtype, by_shares, rng).astype(dtype)).problem
    narrow = x.astype(ml_dtypes.bfloat16).astype(dtype)
    assert compare(want, aligned(narrow, *given, dtype).astype(dtype)).problem


@pytest.mark.parametrize(
    ("since", "region", "attrs", "opens"),
    [
        (10, [0, 0, 1, 1], {}, False),
        (10, [0, 0, 0.75, 1], {}, False),
        (10, [1, 0, 1, 1], {}, True),
        (16, [0, 0, 0.75, 1], {}, False),
        (16, [1, 0, 1, 1], {"sampling_ratio": 1}, True),
        (16, [1, 0, 2, 4.8], {"sampling_ratio": 1, "output_height": 1}, False),
        (16, [1, 0, 2, 9], {"sampling_ratio": 9}, True),
        # In fractions 0.3 * 10 is 3 and a bit, and float32 has 3.
        (16, [0, 0, 10, 1], {"spatial_scale": 0.30000001192092896}, True),
        (16, [0, 0, 10, 1], {"spatial_scale": 0.3125}, False),
        (16, [1, 1, 3, 3], {"mode": "max"}, False),
        (16, [1, 1, 3, 3], {"mode": "max", "sampling_ratio": 3}, False),
    ],
)
def test_what_the_text_leaves_open_is_not_asked(since, region, attrs, opens):
    x = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    inputs = [x, np.array([region], np.float32), np.array([0])]
    asked = OpVersion("", "RoiAlign", since), inputs, attrs
    assert evaluate(*asked)[0].shape == (1, 1, 1, 1)
    with judging():
        if opens:
            with pytest.raises(NotSupported):
                evaluate(*asked)
        else:
            evaluate(*asked)


def readings_of(since, region, attrs, ruling):
    x = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    inputs = (x, np.array([region], np.float32), np.array([0]))
    with judging():
        readings = [*each_answer(Node(OpVersion("", "RoiAlign", since), inputs, attrs))]
    return {one.chosen.get(ruling): rounded(one.answer[0]).item() for one in readings}


def test_the_maximum_is_of_values_or_of_their_parts():
    """In the middle of the elements 0, 1, 5 and 6 lies 3, and its largest part is 6 / 4."""
    attrs = {"mode": "max", "sampling_ratio": 1}
    assert readings_of(16, [0.5, 0.5, 1.5, 1.5], attrs, "maximum-of-a-bin") == {
        "of_weighted_parts": 1.5,
        "of_interpolated_values": 3,
    }


def test_a_region_below_one_element_is_one_element_or_as_it_is():
    """Its middle is at column 1/2, or at column 1/4."""
    assert readings_of(10, [0, 0, 0.5, 2], {"sampling_ratio": 1}, "region-below-one-element") == {
        "one_element": 5.5,
        "as_it_is": 5.25,
    }
    assert readings_of(16, [0.5, 0.5, 1, 2.5], {"sampling_ratio": 1}, "") == {None: 5.25}

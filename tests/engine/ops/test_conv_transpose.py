"""ConvTranspose and Col2Im beside loops in plain Python."""

from itertools import product
from random import Random

import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from tests.computed import evaluate, exactly

TRANSPOSE, FOLD = OpVersion("", "ConvTranspose", 22), OpVersion("", "Col2Im", 18)


@pytest.mark.parametrize("seed", range(30))
def test_every_product_falls_where_loops_put_it(seed):
    rng, axes = Random(seed), range(1 + seed % 3)
    group, each, count = (rng.randint(1, 3) for _ in range(3))
    kernel, strides, dilations, lengths = ([rng.randint(1, 3) for _ in axes] for _ in range(4))
    extra = [rng.randrange(max(strides[a], dilations[a])) for a in axes]
    whole = [strides[a] * (lengths[a] - 1) + dilations[a] * (kernel[a] - 1) + 1 for a in axes]
    begins = [rng.randint(0, min(2, whole[a] - 1)) for a in axes]
    ends = [rng.randint(0, whole[a] - 1 - begins[a]) for a in axes]
    attrs = {"strides": strides, "dilations": dilations, "group": group, "pads": begins + ends}
    x = [rng.randint(-9, 9) for _ in range(2 * group * each * np.prod(lengths))]
    x = np.array(x).reshape(2, group * each, *lengths)
    w = [rng.randint(-9, 9) for _ in range(group * each * count * np.prod(kernel))]
    w, bias = np.array(w).reshape(group * each, count, *kernel), np.arange(group * count)
    fed = [part.astype(np.float64) for part in (x, w, bias)]
    (found,) = evaluate(TRANSPOSE, fed, {**attrs, "output_padding": extra})
    sizes = [whole[a] + extra[a] - begins[a] - ends[a] for a in axes]
    wanted = np.zeros((2, group * count, *sizes)) + bias.reshape(-1, *[1] * len(sizes))
    for n, c, *i in np.ndindex(x.shape):
        for m, *j in product(range(count), *map(range, kernel)):
            at = [i[a] * strides[a] + j[a] * dilations[a] - begins[a] for a in axes]
            if all(0 <= at[a] < sizes[a] for a in axes):
                wanted[n, c // each * count + m, *at] += x[n, c, *i] * w[c, m, *j]
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("seed", range(10))
def test_blocks_are_added_up_where_loops_put_them(seed, dtype):
    rng, axes = Random(seed), range(2 + seed % 2)
    block, strides, dilations, counts = ([rng.randint(1, 3) for _ in axes] for _ in range(4))
    spans = [strides[a] * (counts[a] - 1) + dilations[a] * (block[a] - 1) + 1 for a in axes]
    begins = [rng.randint(0, min(1, spans[a] - 1)) for a in axes]
    ends = [rng.randrange(strides[a]) for a in axes]
    image = [spans[a] - begins[a] for a in axes]
    attrs = {"strides": strides, "dilations": dilations, "pads": begins + ends}
    x = [rng.randint(-9, 9) for _ in range(4 * np.prod(block) * np.prod(counts))]
    x = np.array(x, dtype).reshape(2, 2 * np.prod(block), np.prod(counts))
    (found,) = evaluate(FOLD, [x, np.array(image), np.array(block)], attrs)
    wanted = np.zeros((2, 2, *image), dtype)
    parts = x.reshape(2, 2, *block, *counts)
    for n, c, *rest in np.ndindex(parts.shape):
        j, i = rest[: len(axes)], rest[len(axes) :]
        at = [i[a] * strides[a] + j[a] * dilations[a] - begins[a] for a in axes]
        if all(0 <= at[a] < image[a] for a in axes):
            wanted[n, c, *at] += parts[n, c, *rest]
    assert np.array_equal(found, wanted)


ROW, TWO = [[[1, 2, 4]]], [[[1, 10]]]


@pytest.mark.parametrize(
    ("since", "attrs", "right"),
    [
        (11, {"output_shape": [3]}, [12, 24, 40]),
        (1, {"output_shape": [3]}, [1, 12, 24]),
        (11, {"output_shape": [3], "auto_pad": "SAME_UPPER"}, [1, 12, 24]),
        (11, {"output_shape": [3], "auto_pad": "VALID"}, NotSupported),
        (1, {"output_shape": [1, 2, 4]}, InvalidNode),
        (11, {"output_shape": [1, 1, 4]}, InvalidNode),
        (11, {"strides": [2], "output_padding": [1]}, [1, 10, 2, 20, 4, 40, 0]),
        (11, {"output_padding": [1]}, InvalidNode),
        (11, {"pads": [2, 3]}, InvalidNode),
    ],
)
def test_versions_differ_in_what_they_say_of_sizes(since, attrs, right):
    node = OpVersion("", "ConvTranspose", since), [np.float32(ROW), np.float32(TWO)], attrs
    with judging():
        if isinstance(right, list):
            assert evaluate(*node)[0].ravel().tolist() == right
        else:
            with pytest.raises(right):
                evaluate(*node)


def admitted(since, attrs, x=ROW, w=TWO):
    """Each answer that the text admits, "refused" for a refusal."""
    node = Node(OpVersion("", "ConvTranspose", since), (np.float32(x), np.float32(w)), attrs)
    with judging():
        readings = [*each_answer(node)]
    return [
        "refused" if isinstance(one.answer, InvalidNode) else rounded(one.answer[0]).tolist()
        for one in readings
    ]


@pytest.mark.parametrize(
    ("since", "attrs", "right"),
    [
        # 1 12 24 40, of which one is cut off.
        (1, {"output_shape": [3], "auto_pad": "SAME_UPPER"}, [[1, 12, 24], [12, 24, 40]]),
        (1, {"output_shape": [2], "auto_pad": "SAME_UPPER"}, [[12, 24]]),
        (1, {"output_shape": [1, 1, 4]}, ["refused", [1, 12, 24, 40]]),
        (
            1,
            {"strides": [2], "output_padding": [1]},
            [[1, 10, 2, 20, 4, 40, 0], [0, 1, 10, 2, 20, 4, 40]],
        ),
        (
            1,
            {"strides": [2], "auto_pad": "SAME_UPPER"},
            [[1, 10, 2, 20, 4, 40], [10, 2, 20]],
        ),
        (
            11,
            {"output_padding": [1], "dilations": [2]},
            [[1, 2, 14, 20, 40, 0], "refused"],
        ),
        # 1 10 . 2 20 . 4 40 is one too short.
        (
            11,
            {"strides": [3], "auto_pad": "SAME_LOWER"},
            [
                [1, 10, 0, 2, 20, 0, 4, 40, 0],
                [0, 1, 10, 0, 2, 20, 0, 4, 40],
                [1, 10, 0, 2, 20, 0, 4, 40, 0],
                "refused",
            ],
        ),
        (11, {"pads": [2, 2]}, [[], "refused"]),
    ],
)
def test_what_a_text_leaves_open_about_sizes_has_few_answers(since, attrs, right):
    found = [answer if answer == "refused" else answer[0][0] for answer in admitted(since, attrs)]
    assert found == right


def test_an_infinite_weight_may_multiply_the_zeros_around_elements():
    """The last weight meets an element in the last output alone; 1 meets none in the second."""
    attrs = {"strides": [2]}
    answers = admitted(11, attrs, x=[[[1, 2]]], w=[[[1, np.inf]]])
    np.testing.assert_array_equal(answers[0], [[[1, np.inf, 2, np.inf]]])
    np.testing.assert_array_equal(answers[1], [[[np.nan, np.inf, np.nan, np.inf]]])


@pytest.mark.parametrize(
    "x",
    [
        np.array([[[True, False], [True, True]]]),
        np.array([[["a", "b"], ["c", "d"]]], object),
        np.int8([[[1, 100], [100, 1]]]),
        np.complex64([[[1, 1e8], [1, 1]]]),
    ],
)
def test_some_sums_of_blocks_are_nobodys(x):
    with judging(), pytest.raises(NotSupported):
        evaluate(FOLD, [x, np.array([1, 3]), np.array([1, 2])], {})


def added_up(x, w, places):
    """The products of each channel and place of the kernel in float32, one after the other."""
    high, wide = x.shape[2:]
    y = np.zeros((len(x), w.shape[1], high + w.shape[2] - 1, wide + w.shape[3] - 1), np.float32)
    for c, i, j in places:
        y[:, :, i : i + high, j : j + wide] += x[:, c, None] * w[c, :, i, j, None, None]
    return y


@pytest.mark.parametrize("bits", [24, 16, 11, 8])
@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("decades", [0, 9])
def test_the_bound_admits_both_orders_and_no_poorer_factors(decades, bits, turn):
    rng = np.random.default_rng(1)
    x, w = (rng.normal(size=shape) for shape in ((2, 6, 7, 9), (6, 4, 3, 2)))
    x = (x * 10 ** rng.uniform(-decades, decades, x.shape)).astype(np.float32)
    w = w.astype(np.float32)
    places = [*np.ndindex(len(w), *w.shape[2:])][::turn]
    got = added_up(cut_to_bits(x, bits), cut_to_bits(w, bits), places)
    (exact,) = exactly(TRANSPOSE, [x, w], {})
    found = compare(computed_want(TRANSPOSE, "Y", exact), got)
    assert (found.problem is None and found.used < 1) == (bits == 24)


@pytest.mark.parametrize("bits", [24, 16, 11, 8])
@pytest.mark.parametrize("turn", [1, -1])
def test_the_bound_of_blocks_admits_both_orders_and_no_poorer_elements(bits, turn):
    x = np.random.default_rng(1).normal(size=(2, 6, 7, 9)).astype(np.float32)
    places = np.eye(6, dtype=np.float32).reshape(6, 1, 3, 2)
    got = added_up(
        cut_to_bits(x, bits), places, [(2 * i + j, i, j) for i, j in [*np.ndindex(3, 2)][::turn]]
    )
    (exact,) = exactly(FOLD, [x.reshape(2, 6, 63), np.array([9, 10]), np.array([3, 2])], {})
    found = compare(computed_want(FOLD, "output", exact), got)
    assert (found.problem is None and found.used < 1) == (bits == 24)

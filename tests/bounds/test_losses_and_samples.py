"""DeformConv's and losses' bounds beside other orders; MaxRoiPool beside readings of its text."""

from itertools import product
from math import ceil, floor

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.node import Node
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion
from tests.computed import exactly

DEFORM, LOSS, SCORES, REGIONS = (
    OpVersion("", *op)
    for op in (
        ("DeformConv", 22),
        ("NegativeLogLikelihoodLoss", 22),
        ("SoftmaxCrossEntropyLoss", 13),
        ("MaxRoiPool", 22),
    )
)
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
NARROW = {"tf32": lambda x: cut_to_bits(x, 11), "bfloat16": lambda x: cut_to_bits(x, 8)}
SHAPES = (2, 8, 7, 9), (4, 4, 3, 2), (2, 24, 7, 11), (4,), (2, 12, 7, 11)
GROUPED = {"pads": (2, 2, 2, 2), "dilations": (2, 2), "group": 2, "offset_group": 2}
CLASSES = np.random.default_rng(5).integers(0, 40, (6, 5))


def want_of(op, inputs, attrs):
    return computed_want(op, "Y", exactly(op, inputs, attrs)[0])


def tensors(kind, dtype, *shapes):
    rng = np.random.default_rng(3)
    found = [rng.standard_normal(shape, np.float32) for shape in shapes]
    found[0] += 100 * (kind == "offset")
    found[0] *= np.exp2(rng.integers(-8, 8, shapes[0])) if kind == "wide" else 1
    return [one.astype(TYPES[dtype]) for one in found]


def deformed(inputs, form="corners", bias_first=False):
    """In float32: pads of 2, the kernel two apart, in two groups of channels and of offsets."""
    x, w, offset, bias, mask = inputs
    (n, channels, *lengths), (filters, each, *kernel), sizes = x.shape, w.shape, offset.shape[2:]
    offset, half = offset.reshape(n, 2, *kernel, 2, *sizes), channels // 2
    i, j, high, wide = np.ix_(*map(np.arange, (*kernel, *sizes)))
    y = offset[:, :, :, :, 0] + (high + 2 * i - 2).astype(np.float32)
    z = offset[:, :, :, :, 1] + (wide + 2 * j - 2).astype(np.float32)
    ringed = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])

    def corner(down, right):
        near = zip((y, z), (down, right), lengths, strict=True)
        rows, columns = (
            np.clip(np.floor(at) + more, -1, length).astype(int) + 1 for at, more, length in near
        )
        groups = enumerate(np.arange(channels) // half)
        taken = [ringed[:, c][:, rows[:, g], columns[:, g]] for c, g in groups]
        return np.stack([np.stack([one[b, b] for b in range(n)]) for one in taken], axis=1)

    (a, b), (c, d) = ([corner(down, right) for right in (0, 1)] for down in (0, 1))
    dy, dx = (np.repeat(one - np.floor(one), half, 1) for one in (y, z))
    ey, ex = 1 - dy, 1 - dx
    found = {
        "corners": lambda: ey * ex * a + ey * dx * b + dy * ex * c + dy * dx * d,
        "rows": lambda: ey * (ex * a + dx * b) + dy * (ex * c + dx * d),
        "columns": lambda: ex * (ey * a + dy * c) + dx * (ey * b + dy * d),
    }[form]() * np.repeat(mask.reshape(n, 2, *kernel, *sizes), half, 1)
    total = np.zeros((n, filters, *sizes), np.float32) + bias[:, None, None] * bias_first
    for m, at in product(range(filters), np.ndindex(each, *kernel)):
        channel = at[0] + each * (m // (filters // 2))
        total[:, m] += w[(m, *at)] * found[(slice(None), channel, *at[1:])]
    return total if bias_first else total + bias[:, None, None]


@pytest.mark.parametrize("kind", ["random", "offset", "wide"])
@pytest.mark.parametrize("dtype", TYPES)
def test_deform_conv_may_add_up_in_any_order(dtype, kind):
    inputs = tensors(kind, dtype, *SHAPES)
    inputs[3] *= 64  # Where such a bias comes first, each sum is rounded by its digits.
    want, wide = want_of(DEFORM, inputs, GROUPED), [one.astype(np.float32) for one in inputs]
    for form, bias_first in product(("corners", "rows", "columns"), (False, True)):
        found = compare(want, deformed(wide, form, bias_first).astype(TYPES[dtype]))
        assert (found.problem, found.used <= 1) == (None, True), (form, bias_first, found)


def test_deform_conv_of_poorer_or_missing_factors_is_wrong():
    x, w, offset, *more = tensors("random", "float32", *SHAPES)
    want = want_of(DEFORM, [x, w, offset, *more], GROUPED)
    tap, channel = w.copy(), w.copy()
    tap[:, :, 0, 0], channel[:, 0] = 0, 0
    poorer = [(narrow(x), narrow(w), offset) for narrow in NARROW.values()]
    poorer += [(x, w, narrow(offset)) for narrow in NARROW.values()]
    for changed in (*poorer, (x, tap, offset), (x, channel, offset)):
        assert compare(want, deformed((*changed, *more))).problem == "values"


def in_turn(x):
    total = np.zeros_like(x[:, :1])
    for c in range(x.shape[1])[::-1]:
        total += x[:, c : c + 1]
    return total


def shifted(x, add_up=in_turn):
    d = x - x.max(1, keepdims=True)
    return d - np.log(add_up(np.exp(d)))


def online(x):
    """One pass, in which the sum is scaled down wherever the maximum grows."""
    most, total = x[:, :1], np.ones_like(x[:, :1])
    for c in range(1, x.shape[1]):
        one = x[:, c : c + 1]
        larger = np.maximum(most, one)
        most, total = larger, total * np.exp(most - larger) + np.exp(one - larger)
    return x - most - np.log(total)


LOGARITHMS = {
    "in turn": shifted,
    "pairwise": lambda x: shifted(x, lambda e: e.sum(1, keepdims=True)),
    "in blocks": lambda x: shifted(x, lambda e: in_turn(np.add.reduceat(e, range(0, 40, 8), 1))),
    "in one pass": online,
}
SUMS = {
    "pairwise": np.sum,
    "in turn": lambda x: np.cumsum(x, dtype=np.float32)[-1],
    "backwards": lambda x: np.cumsum(x[::-1], dtype=np.float32)[-1],
    "in blocks": lambda x: np.cumsum(np.add.reduceat(x, range(0, len(x), 8)), dtype=np.float32)[-1],
}


def loss(logs, classes, weight, reduction, add_up=np.sum):
    applied = weight[classes].ravel()
    losses = -np.take_along_axis(logs, classes[:, None], 1).ravel() * applied
    if reduction == "none":
        return losses.reshape(classes.shape)
    return add_up(losses) / (add_up(applied) if reduction == "mean" else 1)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("kind", ["random", "offset", "wide"])
@pytest.mark.parametrize("dtype", TYPES)
def test_losses_may_add_up_in_any_order(dtype, kind, reduction):
    x, weight = tensors(kind, dtype, (6, 40, 5), (40,))
    weight = np.abs(weight)
    given, attrs = (x, CLASSES, weight), {"reduction": reduction}
    of, scores = (want_of(op, given, attrs) for op in (LOSS, SCORES))
    x, weight = x.astype(np.float32), weight.astype(np.float32)
    for (way, add_up), (name, logs) in zip(SUMS.items(), LOGARITHMS.items(), strict=True):
        for want, of_logs in ((of, x), (scores, logs(x))):
            got = loss(of_logs, CLASSES, weight, reduction, add_up)
            found = compare(want, np.asarray(got).astype(TYPES[dtype]))
            assert (found.problem, found.used <= 1) == (None, True), (way, name, found)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_of_poorer_or_missing_numbers_are_wrong(reduction):
    x, weight = tensors("random", "float32", (6, 40, 5), (40,))
    weight, attrs = np.abs(weight), {"reduction": reduction}
    of, scores = (want_of(op, (x, CLASSES, weight), attrs) for op in (LOSS, SCORES))
    for narrow in NARROW.values():
        narrowed = narrow(x), shifted(narrow(x))
        got = [loss(logs, CLASSES, narrow(weight), reduction) for logs in narrowed]
        assert [compare(*both).problem for both in zip((of, scores), got, strict=True)] == [
            "values"
        ] * 2
    terms = {
        "a class missing": lambda e: e[:, 1:].sum(1, keepdims=True),
        "exp off by 1e-4": lambda e: (e * np.float32(1 + 1e-4)).sum(1, keepdims=True),
    }
    for name, add_up in terms.items():
        got = loss(shifted(x, add_up), CLASSES, weight, reduction)
        assert compare(scores, got).problem == "values", name


def half_up(at):
    return floor(at + 0.5)


#: Where a region begins and ends, before which element, and where its bins of a length do.
READINGS = {
    "rounded, with its end": (lambda a, b: (half_up(a), half_up(b) + 1), ceil),
    "rounded, without its end": (lambda a, b: (half_up(a), max(half_up(b), half_up(a) + 1)), ceil),
    "cut off": (lambda a, b: (floor(a), floor(b) + 1), ceil),
    "as it is": (lambda a, b: (a, max(b, a + 0.01)), ceil),
    "cut off bins": (lambda a, b: (floor(a), ceil(b) + 1), floor),
}


def pooled(image, region, counts, ends, up):
    """The maximum of each bin of a region, None of one that is empty."""
    x1, y1, x2, y2 = region
    parts = []
    for (low, high), count in zip((ends(y1, y2), ends(x1, x2)), counts, strict=True):
        step = (high - low) / count
        parts.append([slice(floor(low + i * step), up(low + (i + 1) * step)) for i in range(count)])
    bins = [image[part] for part in product(*parts)]
    return [one.max() if one.size else None for one in bins]


def test_what_max_roi_pool_decides_no_reading_denies():
    rng = np.random.default_rng(7)
    decided, differing = 0, 0
    for _ in range(1500):
        image = (rng.random((9, 11)) < rng.choice([0.02, 0.05, 0.3])).astype(np.float32)
        counts = tuple(rng.integers(1, 3, 2).tolist())
        (x1, x2), (y1, y2) = (np.sort(rng.uniform(0, n - 1, 2)).round(1) for n in (11, 9))
        rois = np.array([[0, x1, y1, x2, y2]], np.float32)
        node = Node(
            REGIONS, (image[None, None], rois), {"pooled_shape": counts, "spatial_scale": 1.0}
        )
        readings = [pooled(image, rois[0, 1:].tolist(), counts, *how) for how in READINGS.values()]
        differing += any(one != readings[0] for one in readings)
        try:
            with judging():
                (y,) = evaluate(node)
        except NotSupported:
            continue
        decided += 1
        assert all(one == y.ravel().tolist() for one in readings), (rois, counts, readings, y)
    assert decided > 100 < differing

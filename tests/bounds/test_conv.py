"""Conv's bound beside sums in other orders, and beside transforms of tiles."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from opcheck.compare.outputs import compare, computed_want
from opcheck.engine.mutants.elements import cut_to_bits
from opcheck.engine.ops import conv
from opcheck.model import OpVersion
from tests.computed import exactly

CONV = OpVersion("", "Conv", 22)


def judged(got, x, w, **attrs):
    (exact,) = exactly(CONV, [x, w], attrs)
    return compare(computed_want(CONV, "Y", exact), got)


def added_up(x, w, order=list):
    """The products of each window in float32, one after the other."""
    high, wide = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    total = np.zeros((len(x), len(w), high, wide), np.float32)
    for c, i, j in order(np.ndindex(w.shape[1:])):
        total += w[:, c, i, j, None, None] * x[:, c : c + 1, i : i + high, j : j + wide]
    return total


def under(x, w):
    return np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))


WAYS = {
    "in turn": added_up,
    "backwards": lambda x, w: added_up(x, w, lambda taps: list(taps)[::-1]),
    "place by place": lambda x, w: added_up(x, w, lambda t: sorted(t, key=lambda at: at[::-1])),
    "im2col": lambda x, w: np.einsum("nchwij,mcij->nmhw", under(x, w), w, optimize=True),
    "tf32": lambda x, w: added_up(cut_to_bits(x, 11), cut_to_bits(w, 11)),
    "bfloat16": lambda x, w: added_up(*(p.astype(ml_dtypes.bfloat16).astype("f") for p in (x, w))),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_bound_admits_every_order_and_no_poorer_factors(way):
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(shape, np.float32) for shape in ((2, 16, 9, 11), (8, 16, 3, 5)))
    found = judged(WAYS[way](x, w).astype(np.float32), x, w)
    assert (found.problem is None and found.used < 1) == (way not in ("tf32", "bfloat16")), found


def by_transforms(x, w):
    """Winograd's F(4×4, 3×3) in float32, by the points 0, 1, -1, 2, -2, infinity."""
    points = np.array([0, 1, -1, 2, -2], np.float32)
    back, (height, width) = np.zeros((4, 6), "f"), (x.shape[2] - 2, x.shape[3] - 2)
    back[:, :5], back[3, 5] = points ** np.arange(4)[:, None], 1
    kernel = np.zeros((6, 3))
    kernel[:5], kernel[5, 2] = points[:, None].astype(float) ** np.arange(3), 1
    kernel[:5] /= [[np.prod([a - b for b in points if b != a])] for a in points]
    # Toom and Cook: the polynomials that are 0 in all points but one.
    tile = np.zeros((6, 6))
    tile[:5, :5] = [np.poly([b for b in points if b != a])[::-1] for a in points]
    tile[5] = np.poly(points)[::-1]
    tile, kernel = tile.astype("f"), kernel.astype("f")
    u = np.einsum("ia,mcab,jb->mcij", kernel, w, kernel).astype("f")
    y = np.zeros((len(x), len(w), height, width), "f")
    for i, j in product(range(0, height, 4), range(0, width, 4)):
        d = np.zeros((*x.shape[:2], 6, 6), "f")
        part = x[:, :, i : i + 6, j : j + 6]
        d[:, :, : part.shape[2], : part.shape[3]] = part
        v = tile @ d @ tile.T
        made = back @ np.einsum("mcij,ncij->nmij", u, v).astype("f") @ back.T
        y[:, :, i : i + 4, j : j + 4] = made[:, :, : height - i, : width - j]
    return y


@pytest.mark.parametrize(
    ("way", "remark"),
    [
        ("in turn", ""),
        ("by transforms", "right only where tiles are filtered by Winograd's"),
        ("tf32", ""),
        ("transformed tf32", ""),
    ],
)
@pytest.mark.parametrize("group", [1, 2])
def test_what_transforms_of_tiles_lose_is_a_remark_and_poorer_factors_are_wrong(
    way, remark, group, wording
):
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(shape, np.float32) for shape in ((2, 2, 32, 37), (6, 2, 3, 3)))
    bits = 11 if way.endswith("tf32") else 24
    filtered = by_transforms if "transform" in way else added_up
    got = filtered(*(cut_to_bits(part, bits) for part in (x, w)))
    x, w, got = np.concatenate([x] * group, 1), np.concatenate([w] * group), [got] * group
    found = judged(np.concatenate(got, 1), x, w, group=group)
    problem = "values" if bits < 24 else "precision" if remark else None
    assert found.problem == problem
    assert found.remark == wording


@pytest.mark.parametrize("seed", range(8))
def test_transforms_of_tiles_give_the_same_sums(seed):
    rng = np.random.default_rng(seed)
    group, (height, width) = 1 + seed % 2, rng.integers(3, 12, 2)
    x = rng.integers(-9, 9, (2, 2 * group, height, width)).astype(float)
    w = rng.integers(-9, 9, (3 * group, 2, 3, 3)).astype(float)
    given = {"kernel_shape": None, "strides": None, "dilations": None, "auto_pad": "NOTSET"}
    given |= {"pads": tuple(rng.integers(0, 3, 4).tolist()), "group": group}
    bias = np.arange(3.0 * group)
    forms = conv.by_tiles, conv.by_windows
    found, want = (conv.conv(form)[22](x, w, bias, **given) for form in forms)
    np.testing.assert_allclose(found, want, atol=1e-10)

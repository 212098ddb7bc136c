"""Adagrad, Adam and Momentum: steps in a row against the pseudo code in plain Python."""

import numpy as np
import pytest
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator as Reference

from opcheck.opset import TRAINING, describe
from tests.computed import by_reading, evaluate


def adagrad(R, T, X, G, H, decay_factor, epsilon, **_):
    return X - R / (1 + T * decay_factor) * G / ((H + G * G) ** 0.5 + epsilon), H + G * G


def adam(R, T, X, G, V, H, norm_coefficient_post, alpha, beta, epsilon, **_):
    V, H = alpha * V + (1 - alpha) * G, beta * H + (1 - beta) * G * G
    R = R * (1 - beta**T) ** 0.5 / (1 - alpha**T) if T > 0 else R
    return (1 - norm_coefficient_post) * (X - R * V / (H**0.5 + epsilon)), V, H


def momentum(R, T, X, G, V, alpha, beta, mode, **_):
    V = alpha * V + (beta if T > 0 else 1) * G
    return X - R * (V if mode == "standard" else G + alpha * V), V


@pytest.mark.parametrize(("sizes", "mode"), [([3], "standard"), ([2, 1, 4], "nesterov")])
@pytest.mark.parametrize("step", [adagrad, adam, momentum])
def test_steps_in_a_row(step, mode, sizes):
    schema = describe(TRAINING, step.__name__.capitalize(), 1)
    attrs = {name: k / 8 for k, name in enumerate(sorted(schema.attributes), 1)}
    attrs |= {"mode": mode} if "mode" in attrs else {}
    draw, n = np.random.default_rng(3).standard_normal, len(sizes)
    new = [draw(size) ** 2 for _ in range(3 if step is adam else 2) for size in sizes]
    for T in range(4):
        given = [np.array(0.5), np.array(T), *new[:n], *map(draw, sizes), *new[n:]]
        fed = dict(zip("RTabcdefghijkl", given, strict=False))
        node = make_node(schema.op.name, fed, [*"uvwxyz123"][: len(new)], domain=TRAINING, **attrs)
        new, theirs = evaluate(schema.op, given, attrs, len(new)), Reference(node).run(None, fed)
        for k in range(n):
            x, g, *old = given[2 + k :: n]
            g = attrs["norm_coefficient"] * x + g
            want = [step(0.5, T, *one, **attrs) for one in zip(x, g, *old, strict=True)]
            for got, rtol in (new, 1e-12), (theirs, 1e-6 if step is adam else 1e-12):
                np.testing.assert_allclose(np.transpose(got[k::n]), want, rtol)


def test_0_times_an_infinite_x_is_nan_or_left_out():
    scalars = [np.float32(0.5), np.array(1)]
    x, g, h = np.float32([np.inf, 1]), np.float32([2, 2]), np.float32([0, 0])
    attrs = {"norm_coefficient": 0.0, "decay_factor": 0.0, "epsilon": 0.0}
    found = by_reading(describe(TRAINING, "Adagrad", 1).op, [*scalars, x, g, h], attrs)
    assert found.keys() == {"product", "left_out"}
    assert np.isnan(found["product"][1]).tolist() == [True, False]
    assert found["left_out"][1].tolist() == [4, 4]

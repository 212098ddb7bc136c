"""Normalizations, by their mean and variance or mean square."""

import math

import numpy as np

from benchmarks.oracles import (
    Array,
    Random,
    Sample,
    chance,
    normal,
    one_of,
    oracle,
    shape,
    sizes,
    wide,
)


def standard(row: Array, epsilon: float) -> tuple[Array, float, float]:
    """A row with mean 0 and variance 1, its mean, and 1 over its standard deviation."""
    values = row.reshape(-1).tolist()
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / len(values)
    inverse = 1 / math.sqrt(variance + epsilon)
    return (row - mean) * inverse, mean, inverse


@oracle("LayerNormalization")
def layer(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (1, 4), least=2), 2)
    axis = int(rng.integers(-x.ndim, x.ndim))
    begin, epsilon = axis % x.ndim, float(np.float32(one_of(rng, 1e-5, 0.1)))
    scale = normal(rng, x.shape[begin:])
    b = normal(rng, x.shape[begin:]) if chance(rng, 0.5) else None
    y, kept = np.zeros(x.shape), [*x.shape[:begin], *[1] * (x.ndim - begin)]
    means, inverses = np.zeros(x.shape[:begin]), np.zeros(x.shape[:begin])
    for at in np.ndindex(*x.shape[:begin]):
        row, means[at], inverses[at] = standard(wide(x)[at], epsilon)
        y[at] = row * wide(scale) + (0 if b is None else wide(b))
    inputs = (x, scale) if b is None else (x, scale, b)
    attrs = {"axis": axis, "epsilon": epsilon}
    outputs = (y, means.reshape(kept), inverses.reshape(kept))
    return Sample(17, inputs, outputs, attrs, rtol=1e-4)


@oracle("GroupNormalization")
def group(rng: Random) -> Sample:
    groups, each = sizes(rng, 2, 1, 3)
    x = normal(rng, (2, groups * each, *sizes(rng, 2, 2, 3)), 3)
    scale, bias = normal(rng, groups * each), normal(rng, groups * each)
    epsilon, y = 0.125, np.zeros(x.shape)
    for n, number in np.ndindex(2, groups):
        part = slice(number * each, (number + 1) * each)
        y[n, part] = standard(wide(x)[n, part], epsilon)[0]
    y = y * wide(scale).reshape(-1, 1, 1) + wide(bias).reshape(-1, 1, 1)
    return Sample(21, (x, scale, bias), (y,), {"num_groups": groups, "epsilon": epsilon}, rtol=1e-4)


@oracle("InstanceNormalization")
def instance(rng: Random) -> Sample:
    x = normal(rng, (*sizes(rng, 2, 1, 3), *sizes(rng, int(rng.integers(1, 3)), 2, 4)), 3)
    scale, b, y = normal(rng, x.shape[1]), normal(rng, x.shape[1]), np.zeros(x.shape)
    for n, c in np.ndindex(*x.shape[:2]):
        y[n, c] = standard(wide(x)[n, c], 0.125)[0] * float(scale[c]) + float(b[c])
    return Sample(22, (x, scale, b), (y,), {"epsilon": 0.125}, rtol=1e-4)


@oracle("BatchNormalization")
def batch(rng: Random) -> Sample:
    x = normal(rng, (*sizes(rng, 2, 2, 3), *shape(rng, (0, 2), least=2)), 2)
    count, training = x.shape[1], chance(rng, 0.4)
    scale, b, mean = (normal(rng, count) for _ in range(3))
    variance = (rng.random(count) + 0.5).astype(np.float32)
    y, means, variances = np.zeros(x.shape), np.zeros(count), np.zeros(count)
    for c in range(count):
        part, center, spread = wide(x)[:, c], float(mean[c]), float(variance[c])
        if training:
            values = part.reshape(-1).tolist()
            center = math.fsum(values) / len(values)
            spread = math.fsum((v - center) ** 2 for v in values) / len(values)
        means[c] = float(mean[c]) * 0.75 + center * 0.25
        variances[c] = float(variance[c]) * 0.75 + spread * 0.25
        y[:, c] = (part - center) / math.sqrt(spread + 0.125) * float(scale[c]) + float(b[c])
    attrs = {"epsilon": 0.125, "momentum": 0.75, "training_mode": int(training)}
    outputs = (y, means, variances) if training else (y,)
    return Sample(15, (x, scale, b, mean, variance), outputs, attrs, rtol=1e-4)


@oracle("RMSNormalization")
def root_mean_square(rng: Random) -> Sample:
    x = normal(rng, shape(rng, (1, 4)), 2)
    axis = int(rng.integers(-x.ndim, x.ndim))
    begin = axis % x.ndim
    scale, y = normal(rng, x.shape[begin:]), np.zeros(x.shape)
    for at in np.ndindex(*x.shape[:begin]):
        row = wide(x)[at]
        square = math.fsum(v * v for v in row.reshape(-1).tolist()) / row.size
        y[at] = row / math.sqrt(square + 0.125) * wide(scale)
    return Sample(23, (x, scale), (y,), {"axis": axis, "epsilon": 0.125})


@oracle("MeanVarianceNormalization")
def mean_variance(rng: Random) -> Sample:
    x = normal(rng, (*sizes(rng, 2, 2, 3), 2, 3))
    axes = one_of(rng, [0, 2, 3], [1], [2, 3], [0, 1, 2, 3])
    lined = np.moveaxis(wide(x), axes, range(len(axes)))
    rows = lined.reshape(math.prod(lined.shape[: len(axes)]), -1).T
    found = np.array([standard(row, 0.0)[0] for row in rows]).T.reshape(lined.shape)
    y = np.moveaxis(found, range(len(axes)), axes)
    return Sample(13, (x,), (y,), {"axes": axes}, rtol=1e-4)

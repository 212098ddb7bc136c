"""Losses, optimizers, trees and linear models."""

import math
from typing import Any

import numpy as np

from benchmarks.oracles import (
    ONNX_ML,
    TRAINING,
    Array,
    Random,
    Sample,
    chance,
    int64,
    normal,
    one_of,
    oracle,
    sizes,
    trimmed,
    whole,
    wide,
)


def _loss(name: str, rng: Random) -> Sample | None:
    classes = int(rng.integers(2, 5))
    dims = [2, classes, *sizes(rng, int(rng.integers(0, 3)), 1, 3)]
    x, labels = normal(rng, dims), rng.integers(0, classes, [2, *dims[2:]])
    weights = (rng.random(classes) + 0.1).astype(np.float32) if chance(rng, 0.5) else None
    reduction = one_of(rng, "none", "sum", "mean")
    by_scores = name == "SoftmaxCrossEntropyLoss"
    ignored = int(rng.integers(classes)) if chance(rng, 0.4) and not by_scores else None
    logs = wide(x)
    if by_scores:
        top = logs.max(axis=1, keepdims=True)
        logs = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
    losses, applied = np.zeros(labels.shape), np.zeros(labels.shape)
    for index in np.ndindex(*labels.shape):
        label = int(labels[index])
        if label != ignored:
            applied[index] = 1 if weights is None else float(weights[label])
            losses[index] = -applied[index] * logs[(index[0], label, *index[1:])]
    if reduction == "mean" and not applied.sum():
        return None
    y = losses if reduction == "none" else np.asarray(losses.sum())
    y = y / applied.sum() if reduction == "mean" else y
    attrs: dict[str, Any] = {"reduction": reduction}
    attrs |= {} if ignored is None else {"ignore_index": ignored}
    outputs = (y, logs) if by_scores else (y,)
    return Sample(13, trimmed(x, int64(labels), weights), outputs, attrs)


@oracle("NegativeLogLikelihoodLoss")
def likelihood(rng: Random) -> Sample | None:
    return _loss("NegativeLogLikelihoodLoss", rng)


@oracle("SoftmaxCrossEntropyLoss")
def cross_entropy(rng: Random) -> Sample | None:
    return _loss("SoftmaxCrossEntropyLoss", rng)


def _single(value: float) -> float:
    """A number as float32 has it."""
    return float(np.float32(value))


@oracle("Adam")
def adam(rng: Random) -> Sample:
    x, g, v = (normal(rng, 3) for _ in range(3))
    h, rate, t = np.abs(normal(rng, 3)), np.float32(0.1), int(one_of(rng, 0, 1, 5))
    alpha, beta, epsilon = _single(0.9), _single(0.99), _single(1e-3)
    norm, after = _single(one_of(rng, 0.0, 0.01)), _single(one_of(rng, 0.0, 0.02))
    gradient = norm * wide(x) + wide(g)
    new_v = alpha * wide(v) + (1 - alpha) * gradient
    new_h = beta * wide(h) + (1 - beta) * gradient**2
    step = float(rate) * (math.sqrt(1 - beta**t) / (1 - alpha**t) if t else 1)
    new_x = (1 - after) * (wide(x) - step * new_v / (np.sqrt(new_h) + epsilon))
    attrs = {
        "alpha": alpha,
        "beta": beta,
        "epsilon": epsilon,
        "norm_coefficient": norm,
        "norm_coefficient_post": after,
    }
    inputs = (rate, int64(t), x, g, v, h)
    return Sample(1, inputs, (new_x, new_v, new_h), attrs, domain=TRAINING, rtol=1e-4)


@oracle("Adagrad")
def adagrad(rng: Random) -> Sample:
    x, g = normal(rng, 3), normal(rng, 3)
    h, rate, t = np.abs(normal(rng, 3)), np.float32(0.1), int(one_of(rng, 0, 1, 5))
    decay, norm, epsilon = _single(one_of(rng, 0.0, 0.1)), _single(0.01), _single(1e-3)
    gradient = norm * wide(x) + wide(g)
    new_h = wide(h) + gradient**2
    new_x = wide(x) - float(rate) / (1 + t * decay) * gradient / (np.sqrt(new_h) + epsilon)
    attrs = {"decay_factor": decay, "norm_coefficient": norm, "epsilon": epsilon}
    return Sample(1, (rate, int64(t), x, g, h), (new_x, new_h), attrs, domain=TRAINING, rtol=1e-4)


@oracle("Momentum")
def momentum(rng: Random) -> Sample:
    x, g, v = (normal(rng, 3) for _ in range(3))
    rate, t, mode = np.float32(0.1), int(one_of(rng, 0, 1, 5)), one_of(rng, "standard", "nesterov")
    alpha, beta, norm = _single(0.9), _single(0.8), _single(0.01)
    gradient = norm * wide(x) + wide(g)
    new_v = alpha * wide(v) + (beta if t > 0 else 1) * gradient
    direction = new_v if mode == "standard" else gradient + alpha * new_v
    attrs = {"alpha": alpha, "beta": beta, "norm_coefficient": norm, "mode": mode}
    outputs = (wide(x) - float(rate) * direction, new_v)
    return Sample(1, (rate, int64(t), x, g, v), outputs, attrs, domain=TRAINING, rtol=1e-4)


@oracle("Binarizer")
def binary(rng: Random) -> Sample:
    x, threshold = whole(rng, (3, 4), -3, 3), float(rng.integers(-2, 3))
    y = (x > threshold).astype(np.float32)
    return Sample(1, (x,), (y,), {"threshold": threshold}, domain=ONNX_ML)


@oracle("Scaler")
def scaled(rng: Random) -> Sample:
    x = normal(rng, (3, 4))
    offset, scale = normal(rng, 4), normal(rng, 4)
    attrs = {"offset": offset.tolist(), "scale": scale.tolist()}
    return Sample(1, (x,), ((wide(x) - wide(offset)) * wide(scale),), attrs, domain=ONNX_ML)


@oracle("Normalizer")
def normalized(rng: Random) -> Sample:
    x, norm, y = normal(rng, (3, 4)), one_of(rng, "MAX", "L1", "L2"), np.zeros((3, 4))
    for n, row in enumerate(np.abs(x) if norm == "MAX" else x):
        values = [abs(float(v)) for v in row]
        size = {"MAX": max(values), "L1": sum(values), "L2": math.hypot(*values)}[norm]
        y[n] = wide(row) / size
    return Sample(1, (np.abs(x) if norm == "MAX" else x,), (y,), {"norm": norm}, domain=ONNX_ML)


@oracle("LinearRegressor")
def regressed(rng: Random) -> Sample:
    targets, width = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    x, weights, b = normal(rng, (3, width)), normal(rng, (targets, width)), normal(rng, targets)
    y = np.zeros((3, targets))
    for n, t in np.ndindex(3, targets):
        y[n, t] = float(b[t]) + sum(float(x[n, k]) * float(weights[t, k]) for k in range(width))
    attrs = {
        "coefficients": weights.reshape(-1).tolist(),
        "intercepts": b.tolist(),
        "targets": targets,
    }
    return Sample(1, (x,), (y,), attrs, domain=ONNX_ML)


@oracle("ArrayFeatureExtractor")
def extracted(rng: Random) -> Sample:
    x, at = normal(rng, (3, 5)), int64(rng.integers(0, 5, 3))
    y = np.array([[row[n] for n in at] for row in x])
    return Sample(1, (x, at), (y,), domain=ONNX_ML)


@oracle("OneHotEncoder")
def encoded(rng: Random) -> Sample:
    known = [int(n) for n in rng.permutation(6)[:4]]
    x = int64(rng.integers(0, 7, 5))
    y = np.array([[float(v == category) for category in known] for v in x])
    return Sample(1, (x,), (y,), {"cats_int64s": known, "zeros": 1}, domain=ONNX_ML)


@oracle("LabelEncoder")
def relabeled(rng: Random) -> Sample:
    keys = [int(n) for n in rng.permutation(8)[:4]]
    values = [float(n) for n in normal(rng, 4)]
    x = int64(rng.integers(0, 9, 6))
    table = dict(zip(keys, values, strict=True))
    y = np.array([table.get(int(v), -0.5) for v in x])
    attrs = {"keys_int64s": keys, "values_floats": values, "default_float": -0.5}
    return Sample(2, (x,), (y,), attrs, domain=ONNX_ML)


@oracle("FeatureVectorizer")
def features(rng: Random) -> Sample:
    widths = sizes(rng, int(rng.integers(1, 4)), 1, 3)
    parts = [normal(rng, (2, width)) for width in widths]
    y = np.array([[v for part in parts for v in part[n]] for n in range(2)])
    return Sample(1, tuple(parts), (y,), {"inputdimensions": widths}, domain=ONNX_ML)


@oracle("Imputer")
def imputed(rng: Random) -> Sample:
    x, replaced = whole(rng, (3, 4), 0, 3), float(rng.integers(0, 4))
    values = [float(n) for n in normal(rng, 4)]
    y = np.where(x == replaced, np.array(values), x.astype(np.float64))
    attrs = {"imputed_value_floats": values, "replaced_value_float": replaced}
    return Sample(1, (x,), (y,), attrs, domain=ONNX_ML)


#: The comparisons of TreeEnsemble-5, by their numbers.
COMPARISONS: tuple[Any, ...] = (
    lambda a, b: a <= b,
    lambda a, b: a < b,
    lambda a, b: a >= b,
    lambda a, b: a > b,
    lambda a, b: a == b,
    lambda a, b: a != b,
)


class Trees:
    """The tables of attributes of a forest, filled node by node."""

    def __init__(self, rng: Random, targets: int) -> None:
        self.rng, self.targets = rng, targets
        self.nodes: list[dict[str, Any]] = []
        self.leaves: list[tuple[int, float]] = []

    def leaf(self) -> int:
        weight = _single(self.rng.standard_normal())
        self.leaves.append((int(self.rng.integers(self.targets)), weight))
        return len(self.leaves) - 1

    def tree(self, depth: int) -> int:
        number, node = len(self.nodes), dict[str, Any]()
        self.nodes.append(node)
        node.update(
            feature=int(self.rng.integers(3)),
            mode=int(self.rng.integers(6)),
            split=float(self.rng.integers(-2, 3)),
        )
        for side in ("true", "false"):
            ends = not depth or chance(self.rng, 0.4)
            node[side] = self.leaf() if ends else self.tree(depth - 1)
            node[f"{side}_leaf"] = int(ends)
        return number

    def reached(self, root: int, row: Array) -> tuple[int, float]:
        """The target and the weight of the leaf that a row of features reaches."""
        at = root
        while True:
            node = self.nodes[at]
            feature = float(row[int(node["feature"])])
            is_true = COMPARISONS[int(node["mode"])](feature, node["split"])
            side = "true" if is_true else "false"
            at = int(node[side])
            if node[f"{side}_leaf"]:
                target, weight = self.leaves[at]
                return target, weight

    def column(self, name: str) -> list[Any]:
        return [node[name] for node in self.nodes]


@oracle("TreeEnsemble")
def forest(rng: Random) -> Sample | None:
    targets, how = int(rng.integers(1, 4)), int(rng.integers(4))
    trees = Trees(rng, targets)
    roots = [trees.tree(int(rng.integers(0, 3))) for _ in range(int(rng.integers(1, 4)))]
    x, y = whole(rng, (4, 3), -3, 3), np.zeros((4, targets))
    for n, target in np.ndindex(4, targets):
        reached = [trees.reached(root, x[n]) for root in roots]
        weights = [weight for to, weight in reached if to == target]
        if how >= 2 and not weights:
            return None  # The text does not say what the least of nothing is.
        total = sum(weights)
        y[n, target] = (total / len(roots), total, min(weights or [0]), max(weights or [0]))[how]
    attrs = {
        "aggregate_function": how,
        "n_targets": targets,
        "tree_roots": roots,
        "nodes_featureids": trees.column("feature"),
        "nodes_modes": np.array(trees.column("mode"), np.uint8),
        "nodes_splits": np.array(trees.column("split"), np.float32),
        "nodes_truenodeids": trees.column("true"),
        "nodes_trueleafs": trees.column("true_leaf"),
        "nodes_falsenodeids": trees.column("false"),
        "nodes_falseleafs": trees.column("false_leaf"),
        "leaf_targetids": [to for to, _ in trees.leaves],
        "leaf_weights": np.array([weight for _, weight in trees.leaves], np.float32),
    }
    return Sample(5, (x,), (y,), attrs, domain=ONNX_ML)

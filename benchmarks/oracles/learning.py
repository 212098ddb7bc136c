"""Losses, optimizers, trees and linear models."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
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


#: The transforms of scores that the text names after functions known elsewhere.
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC")


def transformed(scores: Array, transform: str) -> Array:
    """The scores of a row after the transform."""
    if transform == "NONE":
        return scores
    if transform == "LOGISTIC":
        return np.array([1 / (1 + math.exp(-score)) for score in scores])
    powers = [math.exp(score) for score in scores]
    total = math.fsum(powers)
    return np.array([power / total for power in powers])


def drawn_labels(rng: Random, count: int) -> tuple[Array, str]:
    """Labels of classes, which are integers or texts, and the end of their attribute's name."""
    numbers = rng.permutation(9)[:count]
    if chance(rng, 0.5):
        return int64(numbers), "ints"
    return np.array([f"class {n}" for n in numbers], object), "strings"


@oracle("LinearClassifier")
def classified(rng: Random) -> Sample | None:
    classes, width = int(rng.integers(3, 6)), int(rng.integers(1, 5))
    x, weights, b = normal(rng, (3, width)), normal(rng, (classes, width)), np.zeros(classes)
    has_intercepts = chance(rng, 0.7)
    if has_intercepts:
        b = normal(rng, classes)
    labels, kind = drawn_labels(rng, classes)
    transform, scores, top = one_of(rng, *TRANSFORMS), np.zeros((3, classes)), []
    for n, row in enumerate(x.tolist()):
        for c, factors in enumerate(weights.tolist()):
            products = [a * factor for a, factor in zip(row, factors, strict=True)]
            scores[n, c] = float(b[c]) + math.fsum(products)
        second, first = sorted(scores[n])[-2:]
        if first - second < 1e-3:
            return None
        top.append(int(np.argmax(scores[n])))
        scores[n] = transformed(scores[n], transform)
    attrs: dict[str, Any] = {
        "coefficients": weights.reshape(-1).tolist(),
        f"classlabels_{kind}": labels.tolist(),
        "post_transform": transform,
    }
    attrs |= {"intercepts": b.tolist()} if has_intercepts else {}
    return Sample(1, (x,), (labels[top], scores), attrs, domain=ONNX_ML)


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


#: The comparisons of the older operators of trees, by the order of `COMPARISONS`.
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@dataclass
class TreeNode:
    """A node of a tree: a comparison with two children, or a leaf with votes."""

    tree: int
    number: int
    mode: str = "LEAF"
    feature: int = 0
    threshold: float = 0.0
    true: int = 0
    false: int = 0
    missing_is_true: int = 0
    votes: list[tuple[int, float]] = field(default_factory=list)

    def child(self, value: float) -> int:
        """The number of the child that a feature leads to."""
        if math.isnan(value):
            return self.true if self.missing_is_true else self.false
        compare = COMPARISONS[MODES.index(self.mode)]
        return self.true if compare(value, self.threshold) else self.false


class VotingForest:
    """Trees in the attributes of TreeEnsembleClassifier and TreeEnsembleRegressor."""

    def __init__(self, rng: Random, targets: int, *, every_target: bool) -> None:
        """Draw trees whose leaves vote once for every target, or up to three times for any."""
        self.rng, self.targets, self.every_target = rng, targets, every_target
        self.trees: list[list[TreeNode]] = []
        for _ in range(int(rng.integers(1, 4))):
            self.trees.append([])
            self.grow(int(rng.integers(0, 4)))

    def grow(self, depth: int) -> int:
        """Add a node and all below it to the last tree, and return its number."""
        tree, rng = self.trees[-1], self.rng
        node = TreeNode(len(self.trees) - 1, len(tree))
        tree.append(node)
        if not depth or chance(rng, 0.2):
            node.votes = self.drawn_votes()
            return node.number
        node.mode, node.feature = one_of(rng, *MODES), int(rng.integers(3))
        node.threshold = float(rng.integers(-4, 5)) / 2
        node.missing_is_true = int(rng.integers(2))
        node.true, node.false = self.grow(depth - 1), self.grow(depth - 1)
        return node.number

    def drawn_votes(self) -> list[tuple[int, float]]:
        """The targets that a leaf votes for, each with its weight."""
        voted = range(self.targets)
        if not self.every_target:
            voted = self.rng.integers(self.targets, size=int(self.rng.integers(1, 4))).tolist()
        return [(target, _single(self.rng.standard_normal())) for target in voted]

    def votes(self, row: list[float]) -> list[list[float]]:
        """The weights of all votes for each target."""
        found: list[list[float]] = [[] for _ in range(self.targets)]
        for tree in self.trees:
            node = tree[0]
            while node.mode != "LEAF":
                node = tree[node.child(row[node.feature])]
            for target, weight in node.votes:
                found[target].append(weight)
        return found

    def attrs(self, voted: str) -> dict[str, Any]:
        """The attributes; names of those of votes begin with `voted`, "class" or "target"."""
        nodes = [node for tree in self.trees for node in tree]
        votes = [(node, target, weight) for node in nodes for target, weight in node.votes]
        return {
            "nodes_treeids": [node.tree for node in nodes],
            "nodes_nodeids": [node.number for node in nodes],
            "nodes_modes": [node.mode for node in nodes],
            "nodes_featureids": [node.feature for node in nodes],
            "nodes_values": [node.threshold for node in nodes],
            "nodes_truenodeids": [node.true for node in nodes],
            "nodes_falsenodeids": [node.false for node in nodes],
            "nodes_missing_value_tracks_true": [node.missing_is_true for node in nodes],
            f"{voted}_treeids": [node.tree for node, _, _ in votes],
            f"{voted}_nodeids": [node.number for node, _, _ in votes],
            f"{voted}_ids": [target for _, target, _ in votes],
            f"{voted}_weights": [weight for _, _, weight in votes],
        }


def drawn_features(rng: Random) -> Array:
    """Four rows of three features, of which some may be missing if they are floats."""
    dtype = one_of(rng, np.float32, np.float64, np.int64, np.int32)
    if np.dtype(dtype).kind == "i":
        return whole(rng, (4, 3), -2, 2, dtype)
    x = np.asarray(whole(rng, (4, 3), -4, 4) / 2, dtype)
    if chance(rng, 0.4):
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


@oracle("TreeEnsembleClassifier")
def voted_class(rng: Random) -> Sample | None:
    classes = int(rng.integers(3, 5))
    trees = VotingForest(rng, classes, every_target=chance(rng, 0.5))
    x, base = drawn_features(rng), normal(rng, classes) if chance(rng, 0.4) else np.zeros(classes)
    labels, kind = drawn_labels(rng, classes)
    transform, scores, top = one_of(rng, *TRANSFORMS), np.zeros((4, classes)), []
    for n, row in enumerate(x.tolist()):
        votes = trees.votes(row)
        sums = wide(base) + [math.fsum(weights) for weights in votes]
        second, first = sorted(sums)[-2:]
        best = int(np.argmax(sums))
        if first - second < 1e-3 or not votes[best]:
            return None  # Without a vote it may be the top class or not.
        top.append(best)
        scores[n] = transformed(sums, transform)
    attrs = trees.attrs("class") | {"post_transform": transform}
    attrs["classlabels_int64s" if kind == "ints" else "classlabels_strings"] = labels.tolist()
    if base.any():
        attrs["base_values"] = base.tolist()
    return Sample(one_of(rng, 1, 3), (x,), (labels[top], scores), attrs, domain=ONNX_ML)


AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "SUM": math.fsum,
    "AVERAGE": lambda weights: math.fsum(weights) / len(weights),
    "MIN": min,
    "MAX": max,
}


@oracle("TreeEnsembleRegressor")
def voted_values(rng: Random) -> Sample:
    targets, how = int(rng.integers(1, 4)), one_of(rng, *AGGREGATES)
    # The text defines an average and a least vote only where each tree votes for each target.
    trees = VotingForest(rng, targets, every_target=how != "SUM")
    x, base = drawn_features(rng), normal(rng, targets) if chance(rng, 0.4) else np.zeros(targets)
    transform, y = one_of(rng, *TRANSFORMS), np.zeros((4, targets))
    for n, row in enumerate(x.tolist()):
        aggregated = [AGGREGATES[how](weights) for weights in trees.votes(row)]
        y[n] = transformed(wide(base) + aggregated, transform)
    attrs = trees.attrs("target") | {"n_targets": targets, "aggregate_function": how}
    attrs["post_transform"] = transform
    if base.any():
        attrs["base_values"] = base.tolist()
    return Sample(one_of(rng, 1, 3), (x,), (y,), attrs, domain=ONNX_ML)

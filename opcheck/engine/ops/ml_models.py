"""ai.onnx.ml: linear models and ensembles of trees, which give scores and the label of the largest.

SOFTMAX_ZERO and PROBIT are names alone. What a classifier of two labels does with the scores of one
is not said, nor which of equal scores is the top. A comparison that float32 decides otherwise than
the numbers as they are is open, as is in what type doubles are computed with.
"""

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import by_step, check_one_of, check_shape, is_open, operator, unsaid
from opcheck.engine.ops.elementwise import sigmoid
from opcheck.engine.ops.ml import in_float32, the_one
from opcheck.engine.ops.softmax import plain
from opcheck.errors import InvalidNode, illegal
from opcheck.numbers.faulty import seen
from opcheck.opset import ML

NAMES = """
LinearClassifier LinearRegressor TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor
"""
OPS = {name: operator(name, ML, of_integers=True) for name in NAMES.split()}
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_MIRRORED = "where the logistic function of x below 0 is 1 less that of -x"


def _mirrored(x):
    y = sigmoid(xp.abs(x))
    return xp.where(xp.less(x, 0), 1 - y, y)


def _transformed(scores, how, logistic):
    check_one_of("post_transform", how, *_TRANSFORMS)
    unsaid(f"what {how} is", how in _TRANSFORMS[3:])
    softmax = plain(scores, -1) if how == "SOFTMAX" else scores
    return logistic(scores) if how == "LOGISTIC" else softmax


def _labelled(scores, labels, how, logistic):
    """The label of each row's largest score, and the scores."""
    top = xp.argmax(scores, axis=-1)
    largest = seen(scores) == np.max(seen(scores), axis=-1, keepdims=True)
    unsaid("which of equal scores is the top", xp.is_unsure(top) or (largest.sum(-1) != 1).any())
    return labels[top], _transformed(scores, how, logistic)


def _linear(X, coefficients, intercepts, count):
    illegal(f"rank {X.ndim}; allowed: [N, C], [C]", X.ndim not in (1, 2))
    x = in_float32(X if X.ndim == 2 else xp.reshape(X, (1, *X.shape)))
    unsaid("no coefficients", coefficients is None)
    wanted = count * x.shape[1]
    illegal(f"{len(coefficients)} coefficients; allowed: {wanted}", len(coefficients) != wanted)
    weights = np.array(coefficients, np.float32).reshape(count, -1)
    added = np.zeros(count) if intercepts is None else np.array(intercepts, np.float32)
    check_shape("intercepts", added, (count,))
    # An intercept is a term like others, in any order.
    weights = np.concatenate([weights, added[:, None].astype(np.float32)], axis=1)
    ones = np.ones((x.shape[0], 1), np.float32)
    return xp.matmul(xp.concat([x, in_float32(ones)], axis=1), in_float32(weights.T))


@by_step(1)
def _by_line(logistic, X, *, coefficients, intercepts, post_transform, targets):
    is_open("the shape that a single row gives", X.ndim == 1)
    illegal(f"{targets} targets", targets < 1)
    return _transformed(_linear(X, coefficients, intercepts, targets), post_transform, logistic)


@by_step(1)
def _by_lines(logistic, X, *, classlabels_ints, classlabels_strings, coefficients, intercepts,
              multi_class, post_transform):  # fmt: skip
    lists = {"classlabels_ints": classlabels_ints, "classlabels_strings": classlabels_strings}
    labels = the_one(lists, "classlabels_")
    unsaid(f"how multi_class {multi_class} is done", multi_class)
    binary = labels.size == 2 and len(coefficients) == X.shape[-1:][0]
    unsaid("two labels of one score", binary)
    scores = _linear(X, coefficients, intercepts, labels.size)
    return _labelled(scores, labels, post_transform, logistic)


_MODES = "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ BRANCH_MEMBER LEAF".split()
_BRANCH = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
_MEMBER, _LEAF = 6, 7


def _reached(x, roots, features, splits, modes, children, missing, members=None):
    """The leaf of each tree that each row comes to; `children` are those of false and true."""
    at = np.broadcast_to(roots, (len(x), len(roots)))
    for _ in range(len(modes) + 1):
        mode = modes[at]
        if (mode == _LEAF).all():
            return at
        value, split = np.take_along_axis(x, features[at], axis=1), splits[at]
        goes = missing[at] == 1
        for number, compare in enumerate(_BRANCH):
            goes = np.where((mode == number) & (value == value), compare(value, split), goes)
        for node, held in (members or {}).items():
            goes = np.where((at == node) & (value == value), np.isin(value, held), goes)
        at = np.where(mode == _LEAF, at, np.where(goes, children[1][at], children[0][at]))
    raise InvalidNode("the nodes of a tree go around in a circle")


def _votes(at, nodes, ids, weights, count, aggregate, dtype):
    """What the votes at the leaves reached come to, by target."""
    # By row, target and vote.
    there = (at[:, :, None] == nodes).any(axis=1)[:, None, :] & (ids == np.arange(count)[:, None])
    held = xp.astype(np.asarray(weights, dtype), dtype)
    if aggregate == "SUM":
        return xp.sum(xp.where(there, held, xp.zeros_like(held)), axis=-1)
    each = (at[:, :, None] == nodes)[:, :, None, :] & (ids == np.arange(count)[:, None])
    is_open(f"{aggregate} where a leaf has no vote or several", (each.sum(-1) != 1).any())
    if aggregate == "AVERAGE":
        return xp.sum(xp.where(there, held, xp.zeros_like(held)), axis=-1) / at.shape[1]
    end, choose = (np.inf, xp.min) if aggregate == "MIN" else (-np.inf, xp.max)
    return choose(xp.where(there, held, xp.full_like(held, end)), axis=-1)


def _list(attrs, name):
    """A list, or the tensor of doubles in place of it; None where neither is there."""
    given, tensor = attrs.get(name), attrs.get(f"{name}_as_tensor")
    unsaid(f"both {name} and a tensor", given is not None and tensor is not None)
    return np.array(given, np.float32) if tensor is None and given is not None else tensor


def _scores(X, prefix, count, aggregate, attrs):
    """Scores of the older operators, whose nodes go by the ids of trees and nodes."""
    illegal(f"rank {X.ndim}; allowed: [N, F]", X.ndim != 2)
    names = [
        f"nodes_{one}"
        for one in "treeids nodeids featureids modes falsenodeids truenodeids".split()
    ]
    names += [f"{prefix}_{one}" for one in ("treeids", "nodeids", "ids")]
    unsaid("trees without nodes or votes", any(attrs[name] is None for name in names))
    tree, node, feature, mode, no, yes, of_tree, of_node, ids = (attrs[name] for name in names)
    splits, weights = _list(attrs, "nodes_values"), _list(attrs, f"{prefix}_weights")
    unsaid("trees without thresholds or weights", splits is None or weights is None)
    missing = attrs["nodes_missing_value_tracks_true"] or (0,) * len(tree)
    lengths = {len(part) for part in (tree, node, feature, mode, no, yes, splits, missing)}
    illegal(f"nodes_* of lengths {lengths}", len(lengths) > 1)
    lengths = {len(part) for part in (of_tree, of_node, ids, weights)}
    illegal(f"{prefix}_* of lengths {lengths}", len(lengths) > 1)
    illegal(f"modes {mode}; allowed: {_MODES}", not {*mode} <= {*_MODES} - {"BRANCH_MEMBER"})
    places = {key: place for place, key in enumerate(zip(tree, node, strict=True))}
    illegal("a node is there twice", len(places) < len(tree))
    modes = np.array([_MODES.index(one) for one in mode])
    inner = [place for place in range(len(tree)) if modes[place] != _LEAF]
    children = np.zeros((2, len(tree)), np.int64)
    for child, list_ in enumerate((no, yes)):
        for place in inner:
            key = (tree[place], list_[place])
            illegal(f"tree {key[0]} has no node {key[1]}", key not in places)
            children[child, place] = places[key]
    asked = [*zip(of_tree, of_node, strict=True)]
    illegal("a vote is at no node", not {*asked} <= places.keys())
    illegal(f"{prefix}_ids {ids}; allowed: 0 to {count - 1}", not {*ids} <= {*range(count)})
    illegal("no such feature", any(not 0 <= feature[place] < X.shape[1] for place in inner))
    roots = [*{*range(len(tree))} - {*children[:, inner].flat}]
    unsaid("trees of several roots or of none", len(roots) != len({*tree}))
    features = np.where(modes == _LEAF, 0, feature)
    rest = (modes, children, np.array(missing))
    x = seen(X)
    at = _reached(x, roots, features, splits.astype(np.float64), *rest)
    if X.dtype != np.float64 or splits.dtype != np.float64:
        both = (part.astype(np.float32) for part in (x, splits))
        x, splits = both
        is_open("comparisons in float32", (_reached(x, roots, features, splits, *rest) != at).any())
    nodes = np.array([places[key] for key in asked])
    found = _votes(at, nodes, np.array(ids), weights, count, aggregate, np.float32)
    if (base := _list(attrs, "base_values")) is not None:
        check_shape("base_values", base, (count,))
        found = found + in_float32(base.astype(np.float32))
    return found


@by_step(1, 3)
def _by_trees(logistic, X, *, aggregate_function, n_targets, post_transform, **attrs):
    unsaid("no number of targets", n_targets is None)
    check_one_of("aggregate_function", aggregate_function, "AVERAGE", "SUM", "MIN", "MAX")
    scores = _scores(X, "target", n_targets, aggregate_function, attrs)
    return _transformed(scores, post_transform, logistic)


@by_step(1, 3)
def _by_classes(logistic, X, *, post_transform, **attrs):
    labels = the_one(attrs, "classlabels_")
    one = labels.size == 2 and len({*(attrs["class_ids"] or ())}) < 2
    unsaid("two labels of one score", one)
    scores = _scores(X, "class", labels.size, "SUM", attrs)
    return _labelled(scores, labels, post_transform, logistic)


@by_step(5)
def _by_ensemble(logistic, X, *, aggregate_function, post_transform, n_targets, tree_roots,
                 nodes_featureids, nodes_splits, nodes_modes, nodes_truenodeids, nodes_trueleafs,
                 nodes_falsenodeids, nodes_falseleafs, leaf_targetids, leaf_weights, nodes_hitrates,
                 membership_values, nodes_missing_value_tracks_true):  # fmt: skip
    illegal(f"rank {X.ndim}; allowed: [N, F]", X.ndim != 2)
    unsaid("no number of targets", n_targets is None)
    count, leaves = len(nodes_modes), len(leaf_weights)
    missing = nodes_missing_value_tracks_true or (0,) * count
    no, yes = (nodes_falsenodeids, nodes_falseleafs), (nodes_truenodeids, nodes_trueleafs)
    lists = (nodes_featureids, nodes_splits, *no, *yes, missing)
    illegal("nodes_* of several lengths", {len(one) for one in lists} != {count})
    illegal("leaf_* of several lengths", len(leaf_targetids) != leaves)
    illegal("aggregate_function is 0 to 3", not 0 <= aggregate_function <= 3)
    illegal("post_transform is 0 to 4", not 0 <= post_transform <= 4)
    illegal("nodes_modes are 0 to 6", (nodes_modes > _MEMBER).any())
    dtypes = {nodes_splits.dtype, leaf_weights.dtype}
    unsaid(f"tensors of {dtypes} for {X.dtype}", dtypes != {X.dtype})
    for ids, are_leaves in (no, yes):
        ends = zip(ids, are_leaves, strict=True)
        illegal(
            "no such child", any(not 0 <= i < (leaves if is_leaf else count) for i, is_leaf in ends)
        )
    illegal("no such root", any(not 0 <= root < count for root in tree_roots))
    illegal("no such feature", any(not 0 <= one < X.shape[1] for one in nodes_featureids))
    illegal("no such target", any(not 0 <= one < n_targets for one in leaf_targetids))
    children = np.array([np.where(is_leaf, count, 0) + ids for ids, is_leaf in (no, yes)])
    pad = np.zeros(leaves, np.int64)
    nodes = np.nonzero(nodes_modes == _MEMBER)[0]
    sets = [] if membership_values is None else _sets(membership_values)
    illegal(f"{len(sets)} sets for {len(nodes)} nodes", len(sets) != len(nodes))
    at = _reached(
        seen(X), np.array(tree_roots), np.concatenate([nodes_featureids, pad]),
        np.concatenate([nodes_splits.astype(np.float64), pad]),
        np.concatenate([nodes_modes, pad + _LEAF]),
        np.concatenate([children, np.zeros((2, leaves), np.int64)], axis=1),
        np.concatenate([missing, pad]), dict(zip(nodes.tolist(), sets, strict=True)),
    )  # fmt: skip
    aggregate = ("AVERAGE", "SUM", "MIN", "MAX")[aggregate_function]
    scores = _votes(at, count + np.arange(leaves), np.array(leaf_targetids), leaf_weights,
                    n_targets, aggregate, X.dtype)  # fmt: skip
    return _transformed(scores, _TRANSFORMS[post_transform], logistic)


def _sets(values):
    """The sets of members, with a NaN behind each, or between them."""
    ends = [*np.nonzero(values != values)[0], *([values.size] if values[-1] == values[-1] else [])]
    starts = [0, *(end + 1 for end in ends)]
    return [values[start:end] for start, end in zip(starts, ends, strict=False)]


for _name, _by in (
    ("LinearClassifier", _by_lines), ("LinearRegressor", _by_line), ("TreeEnsemble", _by_ensemble),
    ("TreeEnsembleClassifier", _by_classes), ("TreeEnsembleRegressor", _by_trees),
):  # fmt: skip
    OPS[_name].formula(by=_by)(sigmoid)
    OPS[_name].also_honest(_MIRRORED, by=_by)(_mirrored)

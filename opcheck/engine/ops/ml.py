"""ai.onnx.ml: texts, categories and numbers mapped, encoded, joined, scaled and normalized; linear
models and trees, which give rows of features scores, and the best class.

Outputs are of float32, and so are the numbers of attributes. In what type a formula computes with
doubles and large integers is open: it rounds them to float32 first.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opcheck import numbers as xp
from opcheck.dtypes import DTYPES, limits
from opcheck.engine.axes import elements_at
from opcheck.engine.operators import (
    check_one_of,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.activations import sigmoid
from opcheck.engine.ops.softmax import plain as softmax
from opcheck.errors import InvalidNode, decline, reject
from opcheck.numbers.bounded.choice import Indices
from opcheck.numbers.faulty import bare, seen
from opcheck.opset import ML

NAMES = """ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder
Normalizer OneHotEncoder Scaler

LinearClassifier LinearRegressor TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor"""
_OF_TENSORS, _MODELS = (names.split() for names in NAMES.split("\n\n"))
_ROUND = ("FeatureVectorizer", "Normalizer", "Scaler")
OPS = {n: operator(n, ML, exact=n not in _ROUND, of_integers=n in _ROUND) for n in _OF_TENSORS}
_TYPES = {"strings": object, "int64s": np.int64, "ints": np.int64, "floats": np.float32}


def the_one(attrs, stem):
    """The array in the attribute of this stem that is set; InvalidNode unless that is one."""
    given = [name for name in attrs if name.startswith(stem) and attrs[name] is not None]
    reject(len(given) != 1, f"{' and '.join(given) or 'nothing'} set; allowed: one {stem}*")
    return np.array(attrs[given[0]], _TYPES.get(given[0].removeprefix(stem)))


def in_float32(x):
    """A tensor, or a list of an attribute, in float32 of the kind of numbers in force."""
    # It is lifted first, so that what follows is computed in float32 even where inputs are doubles.
    return xp.astype(xp.lifted(np.array(x, np.float32)) if isinstance(x, tuple) else x, np.float32)


@OPS["ArrayFeatureExtractor"].formula(1)
def extracted(X, Y):
    reject(not X.ndim, "a scalar has no last axis")
    if X.ndim < 2 or Y.ndim != 1:
        leave_open("the axes of a row, and of indices that are no list")
    if (Y < 0).any():
        leave_open("negative indices")
    return X[..., elements_at(Y.reshape(-1), X.shape[-1], back=False)]


@OPS["Binarizer"].formula(1)
def binarized(X, *, threshold):
    whole = X.dtype.kind == "i" and np.isfinite(threshold)
    return ((int(np.floor(threshold)) if whole else threshold) < X).astype(X.dtype)


@OPS["FeatureVectorizer"].formula(1)
def joined(*X, inputdimensions):
    rows = [xp.reshape(x, (1, *x.shape)) if x.ndim == 1 else x for x in X]
    shapes = [[*x.shape] for x in rows]
    reject(any(len(one) != 2 for one in shapes), f"shapes {shapes}; allowed: [N, C], [C]")
    reject(len({one[0] for one in shapes}) > 1, f"shapes {shapes} of different N")
    sizes = tuple(one[1] for one in shapes)
    if inputdimensions not in (None, sizes):
        raise_unspecified(f"sizes {inputdimensions} for {sizes}")
    return xp.concat([*map(in_float32, rows)], axis=1)


def _places(keys, asked):
    """The place of each element among the keys, the last of equal ones; -1 for none."""
    table = {key: place for place, key in enumerate(keys)}
    return np.array([table.get(one, -1) for one in asked], np.int64)


def _valued(places, values, default, dtype):
    return np.array([*values, default], dtype)[places]


def _by_type(X, texts, numbers, default_int64, default_string):
    """Texts as numbers, and numbers as texts."""
    are_texts = X.dtype == object
    keys, values = (texts, numbers) if are_texts else (numbers, texts)
    if len({*keys}) < len(keys):
        leave_open("which of two equal keys counts")
    to = (values, default_int64, np.int64) if are_texts else (values, default_string, object)
    return _valued(_places(keys, X.reshape(-1).tolist()), *to).reshape(X.shape)


@OPS["CategoryMapper"].formula(1)
def category(X, *, cats_int64s, cats_strings, default_int64, default_string):
    texts, numbers = cats_strings or (), cats_int64s or ()
    reject(len(texts) != len(numbers), f"{len(texts)} texts and {len(numbers)} integers")
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    if not texts:
        raise_unspecified("no categories")
    return _by_type(X, texts, numbers, default_int64, default_string)


@OPS["LabelEncoder"].formula(1)
def label_1(X, *, classes_strings, default_int64, default_string):
    if not classes_strings:
        raise_unspecified("no classes")
    return _by_type(X, classes_strings, range(len(classes_strings)), default_int64, default_string)


def _bits(x, any_nan=False):
    """Texts, integers, or the bits of floats, in which NaN may be one and the same."""
    x = x.reshape(-1)
    if x.dtype.kind == "f":
        x = np.where((x != x) & any_nan, x.dtype.type(np.nan), x).view(f"i{x.itemsize}")
    return x.tolist()


def _label(any_nan, X, **attrs):
    """Version 2 compares bits, and does not say which of two equal keys counts."""
    X, keys, values = bare(X), the_one(attrs, "keys_"), the_one(attrs, "values_")
    if keys.ndim != 1 or keys.shape != values.shape or keys.dtype != X.dtype:
        both = f"keys {keys.dtype}{[*keys.shape]}, values {[*values.shape]}"
        raise InvalidNode(f"{both}; allowed: lists as long as each other, keys of {X.dtype}")
    places = _places(known := _bits(keys, any_nan), _bits(X, any_nan))
    if not any_nan and len({*known}) < len(known):
        leave_open("which of two equal keys counts")
    if any_nan and X.dtype.kind == "f":
        others = _places(_bits(keys + 0, any_nan), _bits(X + 0, any_nan))
        if (others != places).any():
            leave_open("if 0 and -0 are one key")
    return _valued(places, values, _default(values.dtype, **attrs), values.dtype).reshape(X.shape)


def _default(dtype, default_int64, default_float, default_string, default_tensor=None, **attrs):
    of_list = {object: default_string, np.int64: default_int64, np.float32: default_float}
    value = next((value for kind, value in of_list.items() if dtype == kind), None)
    if attrs.get("values_tensor") is not None and value not in (None, "_Unused", -1, 0):
        leave_open("a default of a list for values in a tensor")
    if default_tensor is None:
        return (-0.0 if dtype.kind == "f" else -1) if value is None else value
    reject(default_tensor.dtype != dtype, f"default_tensor is of {default_tensor.dtype}")
    reject(default_tensor.size != 1, f"default_tensor has {default_tensor.size} elements")
    if default_tensor.ndim != 1:
        leave_open("the rank of default_tensor")
    return default_tensor.item()


OPS["LabelEncoder"].formula(2)(partial(_label, False))
OPS["LabelEncoder"].formula(4)(partial(_label, True))


@OPS["Imputer"].formula(1)
def imputed(
    X, *, imputed_value_floats, imputed_value_int64s, replaced_value_float, replaced_value_int64
):
    real = X.dtype.kind == "f"
    floats, whole = (
        (imputed_value_floats, replaced_value_float),
        (imputed_value_int64s, replaced_value_int64),
    )
    (values, replaced), (others, _) = (floats, whole) if real else (whole, floats)
    reject(not values, f"no values to put in of the kind of {X.dtype}")
    if others is not None:
        leave_open("imputed values of both kinds")
    reject(not X.ndim, "a scalar has no features")
    if X.ndim > 2:
        leave_open(f"rank {X.ndim}: [N, C] or [C], and [*, F]")
    reject(len(values) not in (1, X.shape[-1]), f"{len(values)} values for {X.shape[-1]} features")
    low, high = (min(values), max(values)) if real else limits(DTYPES[X.dtype.name])
    reject(min(values) < low or max(values) > high, f"no {X.dtype} is {values}")
    missing = (replaced == X) | ((X != X) & (replaced != replaced))
    return xp.where(missing, np.array(values, X.dtype), X)


@OPS["OneHotEncoder"].formula(1)
def one_hot(X, *, cats_int64s, cats_strings, zeros):
    cats = the_one({"cats_int64s": cats_int64s, "cats_strings": cats_strings}, "cats_")
    reject((cats.dtype == object) != (X.dtype == object), f"cats of {cats.dtype} for {X.dtype}")
    if zeros not in (0, 1):
        raise_unspecified(f"zeros {zeros}")
    if len({*cats.tolist()}) < cats.size:
        leave_open("which of two equal categories counts")
    X = bare(X)
    if X.dtype.kind == "f":
        if not (np.abs(X) < 2.0**63).all():
            raise_unspecified("casts of numbers that int64 does not hold")
        if (np.trunc(X) != X).any():
            leave_open("how fractions are cast")
        X = X.astype(np.int64)
    ones = X[..., None] == cats
    reject(not (zeros or ones.any(axis=-1).all()), "a category is not found")
    return ones.astype(np.float32)


@OPS["Scaler"].formula(1)
def scaled(X, *, offset, scale):
    if offset is None or scale is None:
        raise_unspecified("no offset, or no scale")
    reject(len(offset) != len(scale), f"{len(offset)} offsets for {len(scale)} scales")
    if len(scale) != 1:
        if X.ndim != 2:
            raise_unspecified(f"features of rank {X.ndim}")
        reject(len(scale) != X.shape[1], f"{len(scale)} scales for {X.shape[1]} features")
    return (in_float32(X) - in_float32(offset)) * in_float32(scale)


#: What rows are divided by: what of each element is added up, or its maximum taken.
_OVER: dict[str, Any] = {"MAX": xp.max, "L1": xp.sum, "L2": lambda x, **axis: xp.sum(x * x, **axis)}


def _normalized(of_squares, X, *, norm):
    """The formula from `of_squares(x, sum)`, that of L2."""
    check_one_of("norm", norm, *_OVER)
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    if (seen(X) < 0).any():
        leave_open("if norms are of magnitudes, as their names say")
    if norm == "MAX" and (seen(X) != seen(X)).any():
        raise_unspecified("the maximum of NaN")
    x = in_float32(X)
    if not X.size:
        return x
    divisor = _OVER[norm](x, axis=-1, keepdims=True)
    # In all modes, if the divisor is zero, Y == X.
    none = seen(divisor) == 0
    by = xp.where(none, xp.full_like(divisor, 1), divisor)
    return xp.where(none, x, of_squares(x, by) if norm == "L2" else x / by)


OPS["Normalizer"].formula(1)(partial(_normalized, lambda x, total: xp.sqrt(x * x / total)))
OPS["Normalizer"].alternative("")(partial(_normalized, lambda x, total: x / xp.sqrt(total)))


# Linear models and trees.
#: What changes nothing, or nothing that the texts say.
_IGNORED = ("multi_class", "nodes_hitrates", "nodes_hitrates_as_tensor")
LINEAR_CLASSIFIER, LINEAR_REGRESSOR, TREES, TREE_CLASSIFIER, TREE_REGRESSOR = (
    operator(name, ML, of_integers=True, ignores=_IGNORED) for name in _MODELS
)
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_MODES = (*(f"BRANCH_{name}" for name in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")), "LEAF")


def from_either_side(x):
    far = sigmoid(xp.abs(x))
    return xp.where(seen(x) < 0, 1 - far, far)


def transformed(scores, name, logistic=sigmoid, axis=-1):
    check_one_of("post_transform", name, *_TRANSFORMS)
    if name in _TRANSFORMS[3:]:
        raise_unspecified(f"{name}, of which there is no formula")
    if name == "SOFTMAX":
        return softmax(scores, axis)
    return logistic(scores) if name == "LOGISTIC" else scores


def best(scores, labels):
    """The label of the largest score in each row; any of those whose scores may be the largest."""
    plain = seen(scores)
    if (plain != plain).any():
        raise_unspecified("the top of NaN")
    if not len(labels):
        raise_unspecified("the top of no classes")
    ties = (plain == plain.max(axis=1, keepdims=True)).sum(axis=1)
    place = xp.argmax(scores, axis=1)
    if isinstance(place, Indices):
        decline(labels.dtype == object, "texts of scores that rounding decides between")
        return Indices(labels[place.v], labels[place.admitted])
    if (ties > 1).any():
        leave_open("which of equal scores is the top one")
    return labels[place]


def scored(X, coefficients, intercepts, targets, by_target=True):
    """X · coefficientsᵀ + intercepts of each row."""
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    X = xp.reshape(X, (-1, X.shape[-1]))
    count, there = targets * X.shape[1], len(coefficients)
    reject(there != count, f"{there} coefficients for {targets} x {X.shape[1]} features")
    weights = np.array(coefficients, np.float32)
    weights = weights.reshape(targets, -1).T if by_target else weights.reshape(-1, targets)
    scores = xp.matmul(in_float32(X), in_float32(weights))
    if intercepts is None:
        return scores
    reject(len(intercepts) != targets, f"{len(intercepts)} intercepts for {targets}")
    return scores + in_float32(intercepts)


@formula_builder(1, options=["transform"])
def regressed(
    score, X, *, coefficients, intercepts, post_transform, targets, transform=transformed
):
    if coefficients is None:
        raise_unspecified("no coefficients")
    if X.ndim != 2:
        raise_unspecified(f"features of rank {X.ndim}")
    reject(targets < 1, f"{targets} targets")
    return transform(score(X, coefficients, intercepts, targets), post_transform)


@formula_builder(1, options=["transform", "top"])
def classified(
    score,
    X,
    *,
    coefficients,
    intercepts,
    post_transform,
    multi_class,
    transform=transformed,
    top=best,
    **attrs,
):
    labels = the_one(attrs, "classlabels_")
    if multi_class != 0:
        leave_open("what is different in multinomial classification")
    if len(labels) == 2 and len(coefficients) == X.shape[-1]:
        raise_unspecified("two classes with one score")
    scores = transform(score(X, coefficients, intercepts, len(labels)), post_transform)
    return top(scores, labels), scores


class Nodes(NamedTuple):
    """The nodes and leaves of all trees, by their place.

    A leaf is not `inner`. `after` has the places of the next nodes if a node's expression is false,
    and if it is true; `missing`, if it holds for NaN.
    """

    roots: Any
    inner: Any
    features: Any
    modes: Any
    splits: Any
    missing: Any
    after: Sequence[Any]
    members: Any = None


def holds(nodes, x, at, narrow=False):
    """If the expressions of the nodes `at` these places hold of features x."""
    split, mode = nodes.splits[at], nodes.modes[at]
    if narrow:
        x, split = np.float32(x), np.float32(split)
    there = False if nodes.members is None else (x[..., None] == nodes.members[at]).any(axis=-1)
    found = x <= split, x < split, x >= split, x > split, x == split, x != split, there
    return np.where(x != x, nodes.missing[at], np.choose(mode, found))


def leaves(test, X, nodes):
    """The place of the leaf that each row reaches in each tree."""
    reject(X.ndim != 2, f"rank {X.ndim}; allowed: 2")
    X = seen(X).astype(X.dtype)
    features = nodes.features[nodes.inner]
    wrong = features[(features < 0) | (features >= X.shape[1])]
    reject(wrong.size > 0, f"feature {wrong[:1].tolist()} of {X.shape[1]}")
    at = np.tile(nodes.roots, (len(X), 1))
    for _ in range(len(nodes.inner) + 1):
        moves = nodes.inner[at]
        if not moves.any():
            return at
        x = X[np.arange(len(X))[:, None], np.where(moves, nodes.features[at], 0)]
        found = test(nodes, x, at)
        if X.dtype != nodes.splits.dtype:
            near = moves & (test(nodes, x, at, narrow=True) != found)
            if near.any():
                leave_open("in what precision features are compared")
        at = np.where(moves, np.where(found, nodes.after[1][at], nodes.after[0][at]), at)
    raise InvalidNode("nodes that lead to themselves")


def voted(at, places, targets, weights, count, aggregate):
    """The total of the votes of the leaves `at` these places, for each target."""
    wrong = [one for one in targets if not 0 <= one < count]
    reject(wrong, f"target {wrong[:1]}; allowed: 0 to {count - 1}")
    trees = at.shape[1]
    times = (at[:, :, None] == places).sum(axis=1)
    most = max(1, times.max(initial=0))  # as often trees end at one leaf
    counted = np.concatenate([times > one for one in range(most)], axis=1)[:, :, None]
    counted = counted & (np.tile(targets, most)[:, None] == np.arange(count))
    each = xp.reshape(xp.tile(weights, (most,)), (1, -1, 1))
    if aggregate in ("MIN", "MAX"):
        if not counted.any(axis=1).all():
            raise_unspecified(f"{aggregate} of no votes")
        least = aggregate == "MIN"
        votes = xp.where(counted, each, np.inf if least else -np.inf)
        return (xp.min if least else xp.max)(votes, axis=1)
    total = xp.sum(xp.where(counted, each, 0.0), axis=1)
    if aggregate == "SUM":
        return total
    if (counted.sum(axis=1) != trees).any():
        leave_open("of what AVERAGE is taken")
    return total / trees


def lists(attrs, prefix, names):
    """The lists in these attributes, all as long; some may be tensors in another attribute."""
    ranks = {getattr(one, "ndim", 1) for one in attrs.values()}
    if ranks - {1}:
        raise_unspecified(f"tensors of ranks {ranks} as lists")
    found = [one_of(attrs, f"{prefix}_{name}") for name in names.split()]
    others = [one for name, one in attrs.items() if name.startswith(f"{prefix}_")]
    lengths = [0 if one is None else len(one) for one in found]
    lengths += [len(one) for one in others if one is not None]
    reject(len({*lengths}) > 1, f"{prefix}_* of {lengths} entries")
    if not lengths[0]:
        raise_unspecified(f"no {prefix}_*")
    return found


def one_of(attrs, name):
    """The value of an attribute, or of the tensor in place of it."""
    there = [one for one in (attrs.get(name), attrs.get(f"{name}_as_tensor")) if one is not None]
    if len(there) > 1:
        leave_open(f"which of two {name}")
    return there[0] if there else None


def listed(x):
    """A list, or the tensor in its place as a number of the kind in force."""
    return x if isinstance(x, tuple) else xp.lifted(x)


def grown(attrs):
    """The nodes that tuples describe, and the place of each by the ids of its tree and itself."""
    names = "treeids nodeids featureids modes truenodeids falsenodeids values"
    trees, ids, features, kinds, yes, no, splits = lists(attrs, "nodes", names)
    places = {pair: place for place, pair in enumerate(zip(trees, ids, strict=True))}
    reject(len(places) < len(ids), "two nodes of one id in a tree")
    numbers: dict[int, Iterator[int]] = defaultdict(itertools.count)
    counted = tuple(next(numbers[tree]) for tree in trees)
    reject("target_ids" in attrs and ids != counted, "ids that are not 0, 1, 2 …")
    for kind in kinds:
        check_one_of("nodes_modes", kind, *_MODES)
    modes = np.array([*map(_MODES.index, kinds)])
    inner = modes < _MODES.index("LEAF")
    pairs = (zip(trees, children, strict=True) for children in (no, yes))
    after = [np.array([places.get(pair, -1) for pair in each]) for each in pairs]
    children = np.concatenate([one[inner] for one in after])
    reject((children < 0).any(), "a child that is no node")
    roots = sorted({*range(len(ids))} - {*children.tolist()})
    firsts = [place for place, number in enumerate(counted) if not number]
    if roots != firsts:
        raise_unspecified("trees whose first nodes are not their only roots")
    if len([*itertools.groupby(trees)]) > len(numbers):
        raise_unspecified("trees whose nodes lie apart")
    if isinstance(splits, tuple):
        splits = np.array(splits, np.float32)
    features, splits, for_nan = map(np.array, (features, splits, missing(attrs, len(ids))))
    return Nodes(np.array(roots), inner, features, modes % 6, splits, for_nan, after), places


def missing(attrs, count):
    """The branch of each node for NaN."""
    stated = attrs["nodes_missing_value_tracks_true"] or (0,) * count
    if {*stated} - {0, 1}:
        raise_unspecified(f"branches {stated}")
    return stated


def scores_of(test, X, prefix, count, aggregate, attrs):
    """The scores of rows by the votes that tuples of a prefix describe."""
    nodes, places = grown(attrs)
    given = [one for name, one in attrs.items() if name.endswith("tensor") and one is not None]
    types = {one.dtype for one in (*given, X)}
    if given and types != {np.dtype(float)}:
        leave_open("tensors if not all is of doubles")
    trees, ids, targets, weights = lists(attrs, prefix, "treeids nodeids ids weights")
    known = [places.get(pair, -1) for pair in zip(trees, ids, strict=True)]
    reject(min(known) < 0 or nodes.inner[known].any(), "a vote of what is no leaf")
    votes = known, targets, in_float32(listed(weights)), count, aggregate
    scores = voted(leaves(test, X, nodes), *votes)
    base = one_of(attrs, "base_values")
    if base is None:
        return scores
    reject(len(base) != count, f"{len(base)} base values for {count}")
    return scores + in_float32(listed(base))


@formula_builder(1, 3, options=["transform"])
def regressed_by_trees(
    test, X, *, n_targets, aggregate_function, post_transform, transform=transformed, **attrs
):
    if n_targets is None:
        raise_unspecified("no number of targets")
    check_one_of("aggregate_function", aggregate_function, *_AGGREGATES)
    scores = scores_of(test, X, "target", n_targets, aggregate_function, attrs)
    return transform(scores, post_transform)


@formula_builder(1, 3, options=["transform", "top"])
def classified_by_trees(test, X, *, post_transform, transform=transformed, top=best, **attrs):
    labels = the_one(attrs, "classlabels_")
    voted_for = {*(attrs["class_ids"] or ())}
    if len(voted_for) == 1 and len(labels) < 3:
        raise_unspecified("two classes with votes for one")
    scores = scores_of(test, X, "class", len(labels), "SUM", attrs)
    tops = seen(scores).max(axis=1, initial=-1)
    if one_of(attrs, "base_values") is None and (tops == 0).any():
        leave_open("tops without votes")
    scores = transform(scores, post_transform)
    return top(scores, labels), scores


@formula_builder(5, options=["transform"])
def of_trees(
    test,
    X,
    *,
    n_targets,
    aggregate_function,
    post_transform,
    tree_roots,
    transform=transformed,
    **attrs,
):
    if n_targets is None or not tree_roots:
        raise_unspecified("no trees, or no number of targets")
    check_one_of("aggregate_function", aggregate_function, *range(len(_AGGREGATES)))
    check_one_of("post_transform", post_transform, *range(len(_TRANSFORMS)))
    names = "featureids modes splits falsenodeids truenodeids falseleafs trueleafs"
    features, modes, splits, *ends = lists(attrs, "nodes", names)
    targets, weights = lists(attrs, "leaf", "targetids weights")
    reject(modes.dtype != np.uint8, f"modes of {modes.dtype}")
    reject(modes.max() > 6, f"modes {modes.tolist()}; allowed: 0 to 6")
    nodes, lasts = len(features), len(targets)
    sets = attrs["membership_values"]
    sets = np.zeros(0, X.dtype) if sets is None else sets
    types = {splits.dtype, weights.dtype, sets.dtype}
    rates = getattr(attrs["nodes_hitrates"], "dtype", np.float32)
    if types != {X.dtype} or rates != np.float32:
        leave_open("numbers of another type")
    after = []
    for ids, ends_here in zip(ends[:2], ends[2:], strict=True):
        if {*ends_here} - {0, 1}:
            raise_unspecified(f"leaves marked {ends_here}")
        stated, is_leaf = np.array(ids), np.array(ends_here) != 0
        wrong = (stated < 0) | (stated >= np.where(is_leaf, lasts, nodes))
        reject(wrong.any(), f"no such node or leaf: {stated[wrong][:1].tolist()}")
        after.append(np.pad(stated + nodes * is_leaf, (0, lasts)))
    roots = np.array(tree_roots)
    reject(((roots < 0) | (roots >= nodes)).any(), f"roots {tree_roots} of {nodes} nodes")
    of_nodes = features, modes, splits, missing(attrs, nodes)
    features, modes, splits, for_nan = (np.pad(one, (0, lasts)) for one in of_nodes)
    inner = np.arange(nodes + lasts) < nodes
    grown = Nodes(roots, inner, features, modes, splits, for_nan, after, members(modes, sets))
    weights = xp.astype(xp.lifted(weights), X.dtype)  # inputs of float16 are float32 by now
    votes = nodes + np.arange(lasts), targets, weights, n_targets, _AGGREGATES[aggregate_function]
    return transform(voted(leaves(test, X, grown), *votes), _TRANSFORMS[post_transform])


def members(modes, values):
    """The members of each node's set, padded with NaN."""
    places = np.flatnonzero(modes == 6)
    ends = np.flatnonzero(values != values)
    sets = np.split(values, ends + 1)
    if sets[-1].size or 1 in map(len, sets[:-1]):
        raise_unspecified("empty sets, or a last one without NaN")
    reject(len(ends) != len(places), f"{len(ends)} sets for {len(places)} nodes")
    found = np.full((len(modes), max(map(len, sets))), np.nan)
    for place, one in zip(places, sets[:-1], strict=True):
        found[place, : len(one)] = one
    return found


_BY = {
    LINEAR_REGRESSOR: regressed,
    LINEAR_CLASSIFIER: classified,
    TREES: of_trees,
    TREE_CLASSIFIER: classified_by_trees,
    TREE_REGRESSOR: regressed_by_trees,
}
for _op, _by in _BY.items():
    _step = scored if _op in (LINEAR_REGRESSOR, LINEAR_CLASSIFIER) else holds
    _op.formula(build=_by)(_step)
    _aside = partial(_by, transform=partial(transformed, logistic=from_either_side))
    _op.alternative("as 1 minus the logistic of the negative score", build=_aside)(_step)
    _down = partial(_by, transform=partial(transformed, axis=0))
    _op.mutant("the softmax went over rows", name="softmax_of_columns", build=_down)(_step)
    if _step is scored:
        _op.mutant(
            "the coefficients of each feature were contiguous", name="by_feature", build=_by
        )(partial(scored, by_target=False))
    else:
        _op.mutant("NaN was compared like a number", name="missing_is_compared", build=_by)(
            lambda nodes, x, at, narrow=False: holds(nodes, np.where(x != x, np.inf, x), at, narrow)
        )
        for _one, _other in ((0, 1), (1, 0), (2, 3), (3, 2)):
            _op.mutant(
                f"{_MODES[_one]} was taken for {_MODES[_other]}",
                build=_by,
                name=f"{_MODES[_one]}_is_{_MODES[_other]}".lower(),
            )(
                lambda nodes, *given, one=_one, other=_other, **narrow: holds(
                    nodes._replace(modes=np.where(nodes.modes == one, other, nodes.modes)),
                    *given,
                    **narrow,
                )
            )
    if _op in (LINEAR_CLASSIFIER, TREE_CLASSIFIER):
        _op.mutant_table(
            {
                "smallest": (
                    "the smallest score was the top one",
                    lambda scores, y: best(-scores, y),
                ),
                "labels_reversed": (
                    "the first label was that of the last score",
                    lambda scores, y: best(scores, y[::-1]),
                ),
            },
            build=lambda top, by=_by, step=_step: by(step, top=top),
        )

"""TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble of ai.onnx.ml, all versions.

A row of features starts at the root of each tree. At a node, an expression about one feature
decides which of two branches it follows, until it arrives at a leaf. A leaf has votes: each adds a
weight to the score of a target or a class. What is made of scores is the same as of those of linear
models: see `linear_models`.

The texts of two kinds describe the trees in different ways: by nodes with an id in their tree,
leaves among them; or, of TreeEnsemble, by nodes and leaves with places in two lists. Here both
become `Nodes`.

The parts of the file: nodes; the walk to the leaves; votes; trees of nodes with ids, and the first
two operators; trees of nodes with places, and TreeEnsemble; the mutants.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.axes import check_size
from opcheck.engine.operators import check_one_of, formulas_of_versions, operator, raise_unspecified
from opcheck.engine.ops.linear_models import (
    FROM_EITHER_SIDE,
    TOPS,
    TRANSFORMS,
    Top,
    Transform,
    label_of_largest,
    transformed,
    transformed_by_column,
    transformed_from_either_side,
)
from opcheck.engine.ops.preprocessing import in_float32, only_list
from opcheck.engine.readings import Ruling
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen
from opcheck.opset import ML

NAMES = """TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor"""

#: The attributes of a node, by their names in the schema.
Attributes: TypeAlias = Mapping[str, Any]
#: Places in the lists of `Nodes`.
Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
#: Tells of which features, [...], the expressions of the nodes at these places, [...], hold.
Test: TypeAlias = Callable[["Nodes", NDArray[Any], Places], Mask]

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
MODES = (
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
)
#: The number of BRANCH_MEMBER, a mode of TreeEnsemble alone; it has no mode LEAF, as the others.
MEMBER = len(MODES)

NEITHER_0_NOR_1 = Ruling(
    "neither-0-nor-1",
    "The text has 1 for true and 0 for false, and does not define other numbers.",
    ("true", "false", "refused"),
)
PRECISION_OF_COMPARISONS = Ruling(
    "precision-of-comparisons",
    "The text does not state in what type features are compared with thresholds of another one.",
    ("exactly", "in_float64", "in_float32"),
)
AVERAGE_OF = Ruling(
    "average-of",
    "The text does not state if an average is that of all trees, or of the votes for a target.",
    ("trees", "votes"),
)
CLASSES_WITHOUT_VOTES = Ruling(
    "classes-without-votes",
    "The text does not state if a class without a vote may be the top one, by its score of 0.",
    ("counted", "passed_over"),
)
LIST_AND_TENSOR = Ruling(
    "list-and-tensor",
    "A tensor can be used instead of a list. The text does not state which one counts of both.",
    ("list", "tensor", "refused"),
)
TENSORS_NOT_OF_DOUBLES = Ruling(
    "tensors-not-of-doubles",
    "The text mentions tensors of doubles. It does not state what becomes of others, nor of these "
    "if the input is of another type.",
    ("computed", "refused"),
)
NUMBERS_OF_ANOTHER_TYPE = Ruling(
    "numbers-of-another-type",
    "The text does not state if thresholds, members and weights may be of another type than X.",
    ("computed", "refused"),
)
LAST_SET_WITHOUT_END = Ruling(
    "last-set-without-end",
    "Sets are delimited by NaN. The text does not state if one stands behind the last set, too.",
    ("a_set", "refused"),
)

#: Popularity decides nothing.
IGNORED = ("nodes_hitrates", "nodes_hitrates_as_tensor")
TREE_ENSEMBLE = operator("TreeEnsemble", ML, of_integers=True, ignores=IGNORED)
TREE_CLASSIFIER = operator("TreeEnsembleClassifier", ML, of_integers=True, ignores=IGNORED)
TREE_REGRESSOR = operator("TreeEnsembleRegressor", ML, of_integers=True, ignores=IGNORED)


# ── nodes ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Nodes:
    """The nodes and leaves of all trees, n together, by their places.

    Attributes:
        roots: The places of the trees' roots, [trees].
        is_inner: Masks what is a node and no leaf, [n]. What a leaf has below says nothing.
        features: Which feature a node's expression is about, [n].
        modes: What its expression is, by the place in MODES, or MEMBER, [n].
        splits: What the feature is compared with, [n].
        holds_for_nan: Masks the nodes whose expression holds for NaN, [n].
        if_false: The places of the next nodes if the expression does not hold, [n].
        if_true: The places of the next nodes if it does, [n].
        members: The members of the sets of nodes with MEMBER, [n, m], padded with NaN.
    """

    roots: Places
    is_inner: Mask
    features: NDArray[np.int64]
    modes: NDArray[Any]
    splits: NDArray[Any]
    holds_for_nan: Mask
    if_false: Places
    if_true: Places
    members: NDArray[np.float64] | None = None


def holds(nodes: Nodes, x: NDArray[Any], at: Places) -> Mask:
    """Mask the features `x` for which the expressions of the nodes `at` these places hold.

    x and at: [...]. Of NaN the node decides otherwise, by holds_for_nan. Numbers of different types
    are compared exactly.
    """
    a, b = comparable(x, nodes.splits[at])
    is_member: Any = False
    if nodes.members is not None:
        is_member = (x[..., np.newaxis] == nodes.members[at]).any(axis=-1)
    # In the order of MODES, and MEMBER.
    expressions = (a <= b, a < b, a >= b, a > b, a == b, a != b, is_member)
    is_true = np.choose(nodes.modes[at], expressions)
    return np.asarray(np.where(x != x, nodes.holds_for_nan[at], is_true))


def comparable(x: NDArray[Any], split: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two tensors of floats that compare, element by element, as `x` and `split` exactly do.

    x: features, floats or integers; split: the thresholds, floats. Floats and their thresholds are
    returned as they are. An integer is rounded to float64; where that is its threshold, the pair is
    the sign of their exact difference and 0.
    """
    if x.dtype.kind == "f":
        return x, split
    rounded = x.astype(np.float64)
    split = split.astype(np.float64)
    # An int64 may round to the threshold 2^63, which int64 does not hold: it is below that.
    is_close = (rounded == split) & (split < 2.0**63)
    exact = np.where(is_close, split, 0).astype(x.dtype)
    difference = np.sign(x - exact).astype(np.float64)
    below = np.where(split == 2.0**63, np.nextafter(rounded, 0), rounded)
    return np.where(is_close, difference, below), np.where(is_close, 0.0, split)


# ── the walk to the leaves ────────────────────────────────────────────────────────────────────


def leaves(test: Test, X: Array, nodes: Nodes) -> Places:
    """Return the place of the leaf that each row reaches in each tree, [N, trees].

    X: [N, F]; `test` masks the nodes whose expression holds. Where types differ, they are compared
    exactly, in float64 or in float32: PRECISION_OF_COMPARISONS. Raises InvalidNode for X of another
    rank, features that X lacks, and nodes that lead a row back to themselves.
    """
    reject(X.ndim != 2, f"rank {X.ndim}; allowed: 2")
    X = seen(X).astype(X.dtype)
    features = nodes.features[nodes.is_inner]
    wrong = features[(features < 0) | (features >= X.shape[1])]
    reject(wrong.size > 0, f"feature {wrong[:1].tolist()} of {X.shape[1]}")
    rows = np.arange(len(X))[:, np.newaxis]
    at = np.tile(nodes.roots, (len(X), 1))
    # A longer walk meets a node again.
    for _ in range(len(nodes.is_inner) + 1):
        moves = nodes.is_inner[at]
        if not moves.any():
            return at
        x = X[rows, np.where(moves, nodes.features[at], 0)]
        is_true = compared(test, nodes, x, at, moves)
        next_place = np.where(is_true, nodes.if_true[at], nodes.if_false[at])
        at = np.where(moves, next_place, at)
    raise InvalidNode("nodes that lead to themselves")


def compared(test: Test, nodes: Nodes, x: NDArray[Any], at: Places, moves: Mask) -> Mask:
    """Mask the features for which expressions hold, compared with thresholds in one type.

    x, at, moves and the mask: [N, trees]; `moves` masks the places of nodes, and only these count.
    Where x and thresholds are of several types, they are compared exactly, in float64 or in
    float32: PRECISION_OF_COMPARISONS. Nothing is open where all types give one answer.
    """
    exactly = test(nodes, x, at)
    if x.dtype == nodes.splits.dtype:
        return exactly
    by_precision = {"exactly": exactly}
    for name, dtype in (("in_float64", np.float64), ("in_float32", np.float32)):
        narrower = replace(nodes, splits=nodes.splits.astype(dtype))
        by_precision[name] = test(narrower, x.astype(dtype), at)
    if all((mask[moves] == exactly[moves]).all() for mask in by_precision.values()):
        return exactly
    return by_precision[PRECISION_OF_COMPARISONS.reading()]


# ── votes ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Votes:
    """The votes of all leaves, each at the place of its leaf.

    Attributes:
        leaves: The places of the leaves, [votes].
        targets: For which target each is, [votes].
        weights: What each adds to the score, [votes].
        count: The number of targets, or classes.
    """

    leaves: Sequence[int] | Places
    targets: Sequence[int]
    weights: Array
    count: int


def counted_votes(at: Places, votes: Votes) -> tuple[Mask, Array]:
    """Return which votes count for each row and target, [N, v, count], and weights, [1, v, 1].

    at: The leaves that rows reached, [N, trees]. Where several trees lead a row to one leaf, its
    votes count for each of them: v is the number of votes times the most trees that do so. Raises
    InvalidNode for a target that does not exist, MemoryError for more than 2^28 targets.
    """
    wrong = [target for target in votes.targets if not 0 <= target < votes.count]
    reject(wrong, f"target {wrong[:1]}; allowed: 0 to {votes.count - 1}")
    check_size((votes.count,))
    # How often each row casts each vote, [N, votes].
    times = (at[:, :, np.newaxis] == votes.leaves).sum(axis=1)
    most_times = max(1, times.max(initial=0))
    # All votes that are cast once or more come first, then those cast twice or more, …
    is_cast = np.concatenate([times > fewer for fewer in range(most_times)], axis=1)
    is_for_target = np.tile(votes.targets, most_times)[:, np.newaxis] == np.arange(votes.count)
    weights = xp.reshape(xp.tile(votes.weights, (most_times,)), (1, -1, 1))
    return is_cast[:, :, np.newaxis] & is_for_target, weights


def aggregated(counted: Mask, weights: Array, trees: int, aggregate: str) -> Array:
    """Return the scores, [N, count], of the votes that count.

    counted: [N, v, count], a mask of v votes; weights: [1, v, 1]; trees: their number; `aggregate`:
    SUM, AVERAGE, MIN or MAX. A sum or average of no votes is 0. An average is that of all trees, or
    of the votes for a target, where their numbers differ: AVERAGE_OF. Raises NotSupported for the
    MIN or MAX of no votes.
    """
    if aggregate in ("MIN", "MAX"):
        if not counted.any(axis=1).all():
            raise_unspecified(f"{aggregate} of no votes")
        # Weights that are NaN make the extreme NaN.
        if aggregate == "MIN":
            return xp.min(xp.where(counted, weights, np.inf), axis=1)
        return xp.max(xp.where(counted, weights, -np.inf), axis=1)
    total = xp.sum(xp.where(counted, weights, 0.0), axis=1)
    if aggregate == "SUM":
        return total
    votes = counted.sum(axis=1)
    if (votes != trees).any() and AVERAGE_OF.reading() == "votes":
        return total / np.maximum(votes, 1).astype(np.float32)
    return total / trees


# ── attributes ────────────────────────────────────────────────────────────────────────────────


def lists(attributes: Attributes, prefix: str, names: str) -> list[Any]:
    """Return the lists in these attributes, whose names follow the prefix: all of one length.

    `names` has blanks between them. Some may be tensors in another attribute, NAME_as_tensor: of
    both either counts, LIST_AND_TENSOR.

    Raises InvalidNode if one of `names` is missing or empty and another is not, for lists of
    different lengths, of all attributes that have the prefix, and for a list and a tensor, if that
    ruling refuses them. Raises NotSupported if all of `names` are missing or empty, and for tensors
    of another rank than 1 under any name.
    """
    ranks = {getattr(value, "ndim", 1) for value in attributes.values()}
    if ranks - {1}:
        raise_unspecified(f"tensors of ranks {ranks} as lists")
    listed_values = [list_or_tensor(attributes, f"{prefix}_{name}") for name in names.split()]
    lengths = [0 if values is None else len(values) for values in listed_values]
    of_prefix = [value for name, value in attributes.items() if name.startswith(f"{prefix}_")]
    lengths += [len(value) for value in of_prefix if value is not None]
    reject(len({*lengths}) > 1, f"{prefix}_* of {lengths} entries")
    if not lengths[0]:
        raise_unspecified(f"no {prefix}_*")
    return listed_values


def list_or_tensor(attributes: Attributes, name: str) -> Any:
    """Return the value of an attribute, or of the tensor instead of it; None for neither.

    Of both the list or the tensor counts: LIST_AND_TENSOR. Raises InvalidNode if that refuses both.
    """
    values = attributes.get(name)
    tensor = attributes.get(f"{name}_as_tensor")
    if tensor is None:
        return values
    if values is None:
        return tensor
    reading = LIST_AND_TENSOR.reading()
    reject(reading == "refused", f"{name} and {name}_as_tensor; allowed: one of them")
    return values if reading == "list" else tensor


def list_in_float32(values: Any) -> Array:
    """Return a list, or a tensor instead of it, in float32 of the kind of numbers in force."""
    return in_float32(values if isinstance(values, tuple) else xp.lifted(values))


def are_true(name: str, flags: Sequence[int]) -> Mask:
    """Return as booleans the flags of an attribute, 1 for true and 0 for false.

    Other numbers are true, or false, or raise InvalidNode: NEITHER_0_NOR_1.
    """
    wrong = sorted({*flags} - {0, 1})
    if not wrong:
        return np.array(flags, np.bool_)
    reading = NEITHER_0_NOR_1.reading()
    reject(reading == "refused", f"{name} {wrong[0]}; allowed: 0, 1")
    if reading == "true":
        return np.array([flag != 0 for flag in flags], np.bool_)
    return np.array([flag == 1 for flag in flags], np.bool_)


def branches_for_nan(attributes: Attributes, count: int) -> Mask:
    """Return a mask, [count], of nodes whose true branch is for NaN; none by default.

    Flags other than 0 and 1 are true, or false: NEITHER_0_NOR_1. Raises InvalidNode if that refuses
    them.
    """
    name = "nodes_missing_value_tracks_true"
    stated = attributes[name]
    return are_true(name, stated) if stated else np.zeros(count, np.bool_)


# ── trees of nodes with ids ───────────────────────────────────────────────────────────────────

#: The id of a tree, and of a node in it.
Id: TypeAlias = tuple[int, int]


def numbered(trees: Sequence[int]) -> tuple[int, ...]:
    """Return the number of each node among those of its tree, from 0, in their order.

    `trees` has the id of each node's tree: (5, 5, 7, 5) gives (0, 1, 0, 2).
    """
    numbers: dict[int, Iterator[int]] = defaultdict(itertools.count)
    return tuple(next(numbers[tree]) for tree in trees)


def next_places(
    trees: Sequence[int], children: Sequence[int], places: Mapping[Id, int], is_inner: Mask
) -> Places:
    """Return the place of the child of each node, -1 for a leaf whose child is no node.

    trees, children: the ids of each node's tree, and of its child in that tree; places: of each
    node, by both ids. Raises InvalidNode where an inner node's child is no node.
    """
    of_children = [places.get(pair, -1) for pair in zip(trees, children, strict=True)]
    after = np.array(of_children, np.intp)
    reject((after[is_inner] < 0).any(), "a child that is no node")
    return after


def check_trees(trees: Sequence[int], roots: Sequence[int], numbers: Sequence[int]) -> None:
    """Raise NotSupported unless each tree's nodes lie together, and the first is the only root.

    trees, numbers: the tree of each node, and its number in that; roots: places, increasing.
    """
    firsts = [place for place, number in enumerate(numbers) if not number]
    if list(roots) != firsts:
        raise_unspecified("trees whose first nodes are not their only roots")
    if len([*itertools.groupby(trees)]) > len({*trees}):
        raise_unspecified("trees whose nodes lie apart")


def nodes_with_ids(attributes: Attributes) -> tuple[Nodes, Mapping[Id, int]]:
    """Return the nodes that the attributes nodes_* describe, and the place of each by its ids.

    Flags for NaN other than 0 and 1 are true or false, NEITHER_0_NOR_1; of a list and a tensor
    either counts, LIST_AND_TENSOR.

    Raises InvalidNode for lists that are missing or of different lengths, two nodes of one id in a
    tree, unknown modes, children that are no nodes, ids of a regressor that do not "start at 0 and
    increment by 1", and what a ruling refuses. Raises NotSupported for no nodes, tensors that are
    no lists, and trees whose nodes lie apart or whose first node is not the only root.
    """
    names = "treeids nodeids featureids modes truenodeids falsenodeids values"
    trees, ids, features, modes, if_true, if_false, splits = lists(attributes, "nodes", names)
    places = {pair: place for place, pair in enumerate(zip(trees, ids, strict=True))}
    reject(len(places) < len(ids), "two nodes of one id in a tree")
    numbers = numbered(trees)
    # Of the regressor alone the text states how ids are counted.
    reject("target_ids" in attributes and ids != numbers, "ids that are not 0, 1, 2 …")
    for mode in modes:
        check_one_of("nodes_modes", mode, *MODES, "LEAF")
    is_inner = np.array([mode != "LEAF" for mode in modes])
    after_false = next_places(trees, if_false, places, is_inner)
    after_true = next_places(trees, if_true, places, is_inner)
    children = {*after_false[is_inner].tolist(), *after_true[is_inner].tolist()}
    roots = sorted({*range(len(ids))} - children)
    check_trees(trees, roots, numbers)
    if isinstance(splits, tuple):
        splits = np.array(splits, np.float32)
    nodes = Nodes(
        roots=np.array(roots),
        is_inner=is_inner,
        features=np.array(features),
        modes=np.array([MODES.index(mode) if mode != "LEAF" else 0 for mode in modes]),
        splits=splits,
        holds_for_nan=branches_for_nan(attributes, len(ids)),
        if_false=after_false,
        if_true=after_true,
    )
    return nodes, places


def votes_with_ids(
    attributes: Attributes, prefix: str, count: int, nodes: Nodes, places: Mapping[Id, int]
) -> Votes:
    """Return the votes that the attributes of a prefix describe, for `count` targets or classes.

    The prefix is "target" or "class". Of a list and a tensor in its place either counts,
    LIST_AND_TENSOR. Raises InvalidNode for lists that are missing or of different lengths, votes of
    what is no leaf, and what the ruling refuses; NotSupported for no votes and tensors that are no
    lists. Targets are not checked here.
    """
    trees, ids, targets, weights = lists(attributes, prefix, "treeids nodeids ids weights")
    of_leaves = [places.get(pair, -1) for pair in zip(trees, ids, strict=True)]
    is_wrong = min(of_leaves) < 0 or nodes.is_inner[of_leaves].any()
    reject(is_wrong, "a vote of what is no leaf")
    return Votes(of_leaves, targets, list_in_float32(weights), count)


def check_tensors(attributes: Attributes, X: Array) -> None:
    """Raise InvalidNode for attributes that are tensors, unless they and `X` are of doubles.

    A reading of TENSORS_NOT_OF_DOUBLES refuses these; by its other one, and where no attribute is a
    tensor, nothing is raised.
    """
    tensors = [value for name, value in attributes.items() if name.endswith("_as_tensor")]
    stated = [tensor for tensor in tensors if tensor is not None]
    types = {tensor.dtype for tensor in (*stated, X)}
    is_open = bool(stated) and types != {np.dtype(np.float64)}
    is_refused = is_open and TENSORS_NOT_OF_DOUBLES.reading() == "refused"
    reject(is_refused, "tensors if not all is of doubles")


def scores_of(
    test: Test, X: Array, prefix: str, count: int, aggregate: str, attributes: Attributes
) -> tuple[Array, Mask]:
    """Return the scores of each row, [N, count], and a mask of those that have votes.

    X: [N, F]. The attributes of the prefix describe votes, and nodes_* the trees. Base values are
    added. An average is that of all trees or of votes, AVERAGE_OF; features of another type than
    thresholds are compared exactly, in float64 or in float32: PRECISION_OF_COMPARISONS.

    Raises InvalidNode for lists that are missing or of different lengths, unknown modes, two nodes
    of one id, missing children, votes of no leaf, and ids of a regressor that are not 0, 1, 2 …;
    for X of another rank or without a feature, nodes that lead to themselves, a target that does
    not exist, another number of base values; and for what TENSORS_NOT_OF_DOUBLES, LIST_AND_TENSOR
    or NEITHER_0_NOR_1 refuses. Raises NotSupported for no nodes or votes, tensors that are no
    lists, trees whose nodes lie apart or whose first is not the only root, and the MIN or MAX of no
    votes. Raises MemoryError for more than 2^28 targets.
    """
    nodes, places = nodes_with_ids(attributes)
    check_tensors(attributes, X)
    votes = votes_with_ids(attributes, prefix, count, nodes, places)
    at = leaves(test, X, nodes)
    counted, weights = counted_votes(at, votes)
    scores = aggregated(counted, weights, at.shape[1], aggregate)
    base = list_or_tensor(attributes, "base_values")
    if base is not None:
        reject(len(base) != count, f"{len(base)} base values for {count}")
        scores = scores + list_in_float32(base)
    return scores, np.asarray(counted.any(axis=1))


@formulas_of_versions(1, 3, options=["transform"])
def regressed_by_trees(
    test: Test,
    X: Array,
    *,
    n_targets: int | None,
    aggregate_function: str,
    post_transform: str,
    transform: Transform = transformed,
    **attributes: Any,
) -> Array:
    """Return the transformed scores Y, [N, n_targets] in float32, of `X`, [N, F].

    An average is that of all trees or of votes, AVERAGE_OF; features of another type than
    thresholds are compared exactly, in float64 or in float32: PRECISION_OF_COMPARISONS. A score of
    no votes is 0. test: tells where a node's expression holds. transform: applies post_transform.

    Raises InvalidNode for an unknown aggregate_function, post_transform or mode; X of another rank
    or without a feature; attributes that do not fit together: lists of different lengths, ids that
    are not 0, 1, 2 …, missing children, loops, votes of no leaf or target, another number of base
    values; and for what TENSORS_NOT_OF_DOUBLES, LIST_AND_TENSOR or NEITHER_0_NOR_1 refuses.

    Raises NotSupported for no n_targets, no nodes or votes, tensors that are no lists, trees whose
    nodes lie apart or whose first is not the only root, the MIN or MAX of no votes, PROBIT and
    SOFTMAX_ZERO. Raises MemoryError for more than 2^28 targets.
    """
    if n_targets is None:
        raise_unspecified("no number of targets")
    check_one_of("aggregate_function", aggregate_function, *AGGREGATES)
    scores, _ = scores_of(test, X, "target", n_targets, aggregate_function, attributes)
    return transform(scores, post_transform)


@formulas_of_versions(1, 3, options=["transform", "top"])
def classified_by_trees(
    test: Test,
    X: Array,
    *,
    post_transform: str,
    transform: Transform = transformed,
    top: Top = label_of_largest,
    **attributes: Any,
) -> tuple[Any, Array]:
    """Return the label of the top class Y, [N], and the transformed scores Z, [N, E].

    X: [N, F]. Z is float32; Y has the type of the labels, which are texts or integers. A class
    without votes counts by its score of 0, or, if no base_values are given and the top score is 0,
    is passed over where another has votes: CLASSES_WITHOUT_VOTES. Of equal scores the first or the
    last is the top, TOP_OF_EQUAL_SCORES; NaN is the largest, the smallest or never exceeded,
    NAN_IN_ORDER. Features of another type than thresholds are compared exactly, in float64 or in
    float32: PRECISION_OF_COMPARISONS. test: tells where a node's expression holds. transform:
    applies post_transform. top: finds the labels.

    Raises InvalidNode for labels of both types or none, an unknown post_transform or mode, X of
    another rank or without a feature; attributes that do not fit together: lists of different
    lengths, two nodes of one id, missing children, loops, votes of no leaf or class, another number
    of base values; and for what TENSORS_NOT_OF_DOUBLES, LIST_AND_TENSOR or NEITHER_0_NOR_1 refuses.

    Raises NotSupported if there are fewer than three labels and only one class has votes; for no
    nodes or votes, tensors that are no lists, trees whose nodes lie apart or whose first is not the
    only root, PROBIT and SOFTMAX_ZERO; and where rounding decides between labels that are texts.
    Raises MemoryError for more than 2^28 labels.
    """
    labels = only_list(attributes, "classlabels_")
    voted_for = set(attributes["class_ids"] or ())
    if len(voted_for) == 1 and len(labels) < 3:
        raise_unspecified("two classes with votes for one")
    scores, has_votes = scores_of(test, X, "class", len(labels), "SUM", attributes)
    # A score of NaN, whose top is not defined, is not 0.
    top_is_0 = seen(scores).max(axis=1, initial=-1) == 0
    has_base = list_or_tensor(attributes, "base_values") is not None
    is_open = not has_base and bool((top_is_0 & ~has_votes.all(axis=1)).any())
    scores = transform(scores, post_transform)
    if is_open and CLASSES_WITHOUT_VOTES.reading() == "passed_over":
        # In a row without any vote, every class may be the top.
        may_be_top = has_votes | ~has_votes.any(axis=1, keepdims=True)
        return top(xp.where(may_be_top, scores, xp.full_like(scores, -np.inf)), labels), scores
    return top(scores, labels), scores


# ── trees of nodes with places ────────────────────────────────────────────────────────────────


def next_node_or_leaf(
    stated: Sequence[int], is_leaf: Mask, nodes: int, leaves_count: int
) -> Places:
    """Return the place of each node's child, where leaves come behind the nodes.

    stated: the place among nodes, or among leaves where `is_leaf` holds. Raises InvalidNode for a
    node or a leaf that does not exist.
    """
    places = np.array(stated, np.intp)
    end = np.where(is_leaf, leaves_count, nodes)
    is_wrong = (places < 0) | (places >= end)
    reject(is_wrong.any(), f"no such node or leaf: {places[is_wrong][:1].tolist()}")
    return places + nodes * is_leaf


def members_of(modes: NDArray[np.uint8], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the members of each node's set, [n, m], padded with NaN.

    modes: those of all nodes and leaves, [n]. values: The sets of the nodes with MEMBER, in their
    order, "delimited by NaNs". A last set without NaN is a set, or raises InvalidNode:
    LAST_SET_WITHOUT_END. Raises InvalidNode for another number of sets, NotSupported for empty
    ones.
    """
    if values.size and values[-1] == values[-1]:
        is_refused = LAST_SET_WITHOUT_END.reading() == "refused"
        reject(is_refused, "a last set without NaN")
        values = np.append(values, np.array(np.nan, values.dtype))
    places = np.flatnonzero(modes == MEMBER)
    ends = np.flatnonzero(values != values)
    sets = [members_of_node[:-1] for members_of_node in np.split(values, ends + 1)[:-1]]
    if not all(members_of_node.size for members_of_node in sets):
        raise_unspecified("empty sets")
    reject(len(sets) != len(places), f"{len(sets)} sets for {len(places)} nodes")
    most = max((members_of_node.size for members_of_node in sets), default=0)
    members = np.full((len(modes), most), np.nan)
    for place, members_of_node in zip(places, sets, strict=True):
        members[place, : members_of_node.size] = members_of_node
    return members


def check_types(attributes: Attributes, X: Array) -> None:
    """Raise InvalidNode for modes that are not uint8, or above MEMBER.

    Raises it also for numbers of another type than `X`, and hitrates that are not float32, if
    NUMBERS_OF_ANOTHER_TYPE refuses them.
    """
    modes = attributes["nodes_modes"]
    reject(modes.dtype != np.uint8, f"modes of {modes.dtype}")
    reject(modes.max(initial=0) > MEMBER, f"modes {modes.tolist()}; allowed: 0 to {MEMBER}")
    names = ("nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates")
    stated = [attributes[name] for name in names]
    types = {tensor.dtype for tensor in stated[:-1] if tensor is not None}
    hitrates = stated[-1]
    is_open = types != {X.dtype} or (hitrates is not None and hitrates.dtype != np.float32)
    is_refused = is_open and NUMBERS_OF_ANOTHER_TYPE.reading() == "refused"
    reject(is_refused, "numbers of another type")


def nodes_with_places(attributes: Attributes, roots: Sequence[int], leaves_count: int) -> Nodes:
    """Return the nodes that the attributes nodes_* describe, and behind them as many leaves.

    `leaves_count` is the number of leaves, `roots` the places of roots among the nodes. Flags other
    than 0 and 1 are true or false, NEITHER_0_NOR_1; a last set without NaN behind it is a set,
    LAST_SET_WITHOUT_END; or they are refused.

    Raises InvalidNode for nodes, leaves and roots that do not exist, lists that are missing or of
    different lengths, another number of sets than of nodes with MEMBER, and what a ruling refuses.
    Raises NotSupported for no nodes, tensors that are no lists, and empty sets.
    """
    names = "featureids modes splits falsenodeids truenodeids falseleafs trueleafs"
    listed_values = lists(attributes, "nodes", names)
    features, modes, splits, if_false, if_true, false_leafs, true_leafs = listed_values
    count = len(features)
    is_false_leaf = are_true("nodes_falseleafs", false_leafs)
    is_true_leaf = are_true("nodes_trueleafs", true_leafs)
    after_false = next_node_or_leaf(if_false, is_false_leaf, count, leaves_count)
    after_true = next_node_or_leaf(if_true, is_true_leaf, count, leaves_count)
    starts = np.array(roots)
    is_wrong = (starts < 0) | (starts >= count)
    reject(is_wrong.any(), f"roots {roots} of {count} nodes")
    sets = attributes["membership_values"]
    if sets is None:
        sets = np.zeros(0, splits.dtype)
    with_leaves = partial(np.pad, pad_width=(0, leaves_count))
    modes = with_leaves(modes)
    return Nodes(
        roots=starts,
        is_inner=np.arange(count + leaves_count) < count,
        features=with_leaves(np.array(features)),
        modes=modes,
        splits=with_leaves(splits),
        holds_for_nan=with_leaves(branches_for_nan(attributes, count)),
        if_false=with_leaves(after_false),
        if_true=with_leaves(after_true),
        members=members_of(modes, sets),
    )


@formulas_of_versions(5, options=["transform"])
def scored_by_trees(
    test: Test,
    X: Array,
    *,
    n_targets: int | None,
    aggregate_function: int,
    post_transform: int,
    tree_roots: Sequence[int],
    transform: Transform = transformed,
    **attributes: Any,
) -> Array:
    """Return the transformed scores Y, [N, n_targets], of `X`, [N, F], in the type of X.

    aggregate_function and post_transform are places in AGGREGATES and TRANSFORMS. An average is
    that of all trees or of votes, AVERAGE_OF; features of another type than thresholds are compared
    exactly, in float64 or in float32: PRECISION_OF_COMPARISONS. test: tells where a node's
    expression holds. transform: applies post_transform. tree_roots: places among the nodes.

    Raises InvalidNode for another aggregate_function, post_transform or mode; for X of another rank
    or without a feature; for nodes, leaves, roots and targets that do not exist, nodes that lead to
    themselves, lists of different lengths, another number of sets; and for what NEITHER_0_NOR_1,
    LAST_SET_WITHOUT_END or NUMBERS_OF_ANOTHER_TYPE refuses.

    Raises NotSupported for no n_targets, trees, nodes or leaves, tensors that are no lists, empty
    sets, the MIN or MAX of no votes, PROBIT and SOFTMAX_ZERO. Raises MemoryError for more than 2^28
    targets.
    """
    if n_targets is None or not tree_roots:
        raise_unspecified("no trees, or no number of targets")
    check_one_of("aggregate_function", aggregate_function, *range(len(AGGREGATES)))
    check_one_of("post_transform", post_transform, *range(len(TRANSFORMS)))
    targets, weights = lists(attributes, "leaf", "targetids weights")
    check_types(attributes, X)
    nodes = nodes_with_places(attributes, tree_roots, len(targets))
    # Inputs of float16 are float32 by now.
    weights = xp.astype(xp.lifted(weights), X.dtype)
    count = len(nodes.is_inner) - len(targets)
    votes = Votes(count + np.arange(len(targets)), targets, weights, n_targets)
    at = leaves(test, X, nodes)
    counted, weights_of_votes = counted_votes(at, votes)
    scores = aggregated(counted, weights_of_votes, at.shape[1], AGGREGATES[aggregate_function])
    return transform(scores, TRANSFORMS[post_transform])


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def holds_for_infinity(nodes: Nodes, x: NDArray[Any], at: Places) -> Mask:
    """Mutant of `holds`: NaN is compared like a number, which is larger than all."""
    if x.dtype.kind == "f":
        x = np.where(x != x, np.inf, x)
    return holds(nodes, x, at)


def holds_with_another_mode(
    mode: int, other: int, nodes: Nodes, x: NDArray[Any], at: Places
) -> Mask:
    """Mutant: one mode is taken for another."""
    modes = np.where(nodes.modes == mode, other, nodes.modes)
    return holds(replace(nodes, modes=modes), x, at)


#: Pairs of modes of which the first is taken for the second.
CONFUSED_MODES = (
    ("BRANCH_LEQ", "BRANCH_LT"),
    ("BRANCH_LT", "BRANCH_LEQ"),
    ("BRANCH_GTE", "BRANCH_GT"),
    ("BRANCH_GT", "BRANCH_GTE"),
)
TESTS: dict[str, tuple[str, Test]] = {
    "missing_is_compared": ("NaN was compared like a number", holds_for_infinity),
    **{
        f"{one}_is_{other}".lower(): (
            f"{one} was taken for {other}",
            partial(holds_with_another_mode, MODES.index(one), MODES.index(other)),
        )
        for one, other in CONFUSED_MODES
    },
}

for _op, _build in (
    (TREE_ENSEMBLE, scored_by_trees),
    (TREE_CLASSIFIER, classified_by_trees),
    (TREE_REGRESSOR, regressed_by_trees),
):
    _op.formula(build=_build)(holds)
    _op.alternative(
        FROM_EITHER_SIDE, build=partial(_build, transform=transformed_from_either_side)
    )(holds)
    _op.mutant(
        "the softmax went over rows",
        name="softmax_of_columns",
        build=partial(_build, transform=transformed_by_column),
    )(holds)
    _op.mutant_table(TESTS, build=_build)
for _name, (_text, _top) in TOPS.items():
    TREE_CLASSIFIER.mutant(_text, name=_name, build=partial(classified_by_trees, top=_top))(holds)

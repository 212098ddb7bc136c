"""Ensembles of trees against a walk through each in plain Python."""

import operator

import numpy as np
import pytest

from opcheck.engine.evaluate import evaluate as evaluated
from opcheck.engine.node import Node
from opcheck.engine.ops.tree_ensembles import comparable
from opcheck.errors import InvalidNode, NotSupported
from opcheck.opset import ML, describe
from tests.computed import evaluate

MODES = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}


def grown(draw, tree, depth, nodes):
    """A tree of random nodes, added to `nodes` as (tree, id, mode, feature, value, missing …)."""
    place = len([one for one in nodes if one["treeids"] == tree])
    nodes.append(
        node := {
            "treeids": tree,
            "nodeids": place,
            "modes": "LEAF",
            "featureids": 0,
            "values": 0.0,
            "missing_value_tracks_true": 0,
            "truenodeids": 0,
            "falsenodeids": 0,
        }
    )
    if depth and draw.random() < 0.9:
        node |= {
            "modes": str(draw.choice([*MODES])),
            "featureids": int(draw.integers(3)),
            "values": float(draw.integers(-2, 3)),
            "missing_value_tracks_true": int(draw.integers(2)),
        }
        for side in ("truenodeids", "falsenodeids"):
            node[side] = grown(draw, tree, depth - 1, nodes)
    return place


def walked(nodes, tree, row):
    of_tree = [one for one in nodes if one["treeids"] == tree]
    node = of_tree[0]
    while node["modes"] != "LEAF":
        x = row[node["featureids"]]
        way = MODES[node["modes"]](x, node["values"])
        if x != x:
            way = node["missing_value_tracks_true"]
        node = of_tree[node["truenodeids" if way else "falsenodeids"]]
    return node["nodeids"]


@pytest.mark.parametrize("seed", range(12))
def test_forests_are_walked(seed, wording):
    draw = np.random.default_rng(seed)
    nodes: list[dict] = []
    for tree in range(4):
        grown(draw, tree, 4, nodes)
    # Each leaf has two votes, and target 0 has one at every leaf.
    votes = [
        (one["treeids"], one["nodeids"], target, float(draw.integers(-40, 40)) / 8)
        for one in nodes
        if one["modes"] == "LEAF"
        for target in (0, int(draw.integers(3)))
    ]
    x = draw.integers(-2, 3, (31, 3)).astype(np.float32)
    x[draw.random(x.shape) < 0.1] = np.nan
    want = np.zeros((31, 3))
    for n, row in enumerate(x.tolist()):
        at = {(tree, walked(nodes, tree, row)) for tree in range(4)}
        for tree, node, target, weight in votes:
            want[n, target] += weight * ((tree, node) in at)
    attrs = {f"nodes_{name}": tuple(one[name] for one in nodes) for name in nodes[0]}
    columns = [*zip(*votes, strict=True)]
    names = ("treeids", "nodeids", "ids", "weights")
    of_targets = {f"target_{n}": one for n, one in zip(names, columns, strict=True)}
    regressor, classifier = (
        describe(ML, f"TreeEnsemble{n}", 3).op for n in ("Regressor", "Classifier")
    )
    [y] = evaluate(regressor, [x], attrs | of_targets | {"n_targets": 3, "base_values": (1, 0, -1)})
    np.testing.assert_array_equal(y - [1, 0, -1], want)
    of_classes = {f"class_{n}": one for n, one in zip(names, columns, strict=True)}
    labels = {"classlabels_strings": ("a", "b", "c"), "base_values": (0.01, 0.02, 0.03)}
    top, z = evaluate(classifier, [x], attrs | of_classes | labels, 2)
    want += [0.01, 0.02, 0.03]
    np.testing.assert_allclose(z, want, 1e-6, 1e-6)
    assert top.tolist() == [*np.array(["a", "b", "c"])[want.argmax(axis=1)]]
    with pytest.raises(InvalidNode) as raised:
        evaluate(
            regressor,
            [x],
            attrs
            | of_targets
            | {
                "n_targets": 3,
                "nodes_modes": ("BRANCH_LT",) * len(nodes),
                "nodes_truenodeids": (99,) * len(nodes),
            },
        )
    assert raised.value == wording


#: A node of TreeEnsemble with two leaves, of which the first is taken for at most 1.
NODE = {
    "tree_roots": (0,),
    "nodes_featureids": (0,),
    "nodes_modes": np.zeros(1, np.uint8),
    "nodes_splits": np.ones(1, "f"),
    "nodes_truenodeids": (0,),
    "nodes_trueleafs": (1,),
    "nodes_falsenodeids": (1,),
    "nodes_falseleafs": (1,),
    "leaf_targetids": (0, 0),
    "leaf_weights": np.ones(2, "f"),
    "n_targets": 1,
}


def test_weights_of_float16_are_added_up_in_float32():
    """2048 + 1 + 1 is 2050; in float16 each 1 alone is half a step, and lost."""
    of_nodes = {
        name: np.tile(one, 3) if isinstance(one, np.ndarray) else one * 3
        for name, one in NODE.items()
        if name.startswith("nodes_")
    }
    attrs = (
        NODE
        | of_nodes
        | {
            "tree_roots": (0, 1, 2),
            "nodes_truenodeids": (0, 1, 2),
            "leaf_targetids": (0, 0, 0),
            "nodes_falsenodeids": (0, 1, 2),
            "nodes_splits": np.ones(3, np.float16),
            "leaf_weights": np.array([2048, 1, 1], np.float16),
            "n_targets": 2,
        }
    )
    node = Node(describe(ML, "TreeEnsemble", 5).op, [np.ones((1, 1), np.float16)], attrs)
    [y] = evaluated(node)
    assert y.tolist() == [[2050, 0]]


@pytest.mark.parametrize(
    "other",
    [
        {"tree_roots": ()},
        {"nodes_splits": np.array(2, "f")},
        {"nodes_splits": np.ones((1, 1), "f")},
        {"leaf_weights": np.ones((2, 2), "f")},
        {"membership_values": np.full((1, 1), np.nan, "f")},
        {"nodes_hitrates": np.array(1, "f")},
        {"nodes_modes": np.zeros((1, 1), np.uint8)},
    ],
)
def test_tensors_of_other_ranks_and_no_trees_are_not_answered(other, wording):
    with pytest.raises(NotSupported) as raised:
        evaluate(describe(ML, "TreeEnsemble", 5).op, [np.ones((1, 1), "f")], NODE | other)
    assert raised.value == wording


@pytest.mark.parametrize("targets", [2**31, 2**62])
def test_more_targets_than_memory_holds_are_not_computed_of_no_rows(targets):
    attrs = NODE | {"n_targets": targets}
    with pytest.raises(MemoryError):
        evaluate(describe(ML, "TreeEnsemble", 5).op, [np.ones((0, 1), "f")], attrs)


def test_no_modes_for_a_node_are_refused():
    attrs = NODE | {"nodes_modes": np.zeros(0, np.uint8)}
    with pytest.raises(InvalidNode):
        evaluate(describe(ML, "TreeEnsemble", 5).op, [np.ones((1, 1), "f")], attrs)


@pytest.mark.parametrize("power", [24, 53, 62, 63])
def test_integers_and_thresholds_compare_as_they_exactly_do(power):
    integers = [sign * (2**power + n) for sign in (-1, 1) for n in range(-3, 4)]
    integers = [n for n in integers if -(2**63) <= n < 2**63]
    splits = [float(n) for n in integers] + [np.inf, -np.inf, np.nan, 0.5, 2.0**63]
    for split in splits:
        a, b = comparable(np.array(integers), np.full(len(integers), split))
        for compare in (operator.lt, operator.le, operator.eq, operator.ne):
            # Python compares an integer with a float exactly.
            assert compare(a, b).tolist() == [compare(n, split) for n in integers], split

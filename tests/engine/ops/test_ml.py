"""Linear models and trees of ai.onnx.ml, by hand: they have no shipped cases yet."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import evaluate
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion
from opcheck.opset import ML

X = np.array([[1, 2], [3, 4]], np.float32)
#: Two trees of a root and two leaves: the first asks if feature 0 is at most 1.5, the second if
#: feature 1 is at least 2.5.
NODES: dict[str, Any] = {
    "nodes_treeids": (0, 0, 0, 1, 1, 1), "nodes_nodeids": (0, 1, 2) * 2,
    "nodes_featureids": (0, 0, 0, 1, 0, 0), "nodes_values": (1.5, 0.0, 0.0, 2.5, 0.0, 0.0),
    "nodes_modes": ("BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GTE", "LEAF", "LEAF"),
    "nodes_truenodeids": (1, 0, 0) * 2, "nodes_falsenodeids": (2, 0, 0) * 2,
}  # fmt: skip
#: 1 or 2 of the first tree, 10 or 20 of the second, for ids 0 and 1.
VOTES: dict[str, Any] = {
    "treeids": (0, 0, 1, 1), "nodeids": (1, 2, 1, 2), "weights": (1.0, 2.0, 10.0, 20.0),
}  # fmt: skip


def voting(prefix: str, ids: tuple[int, ...]) -> dict[str, Any]:
    return NODES | {f"{prefix}_{name}": value for name, value in (VOTES | {"ids": ids}).items()}


def answers(op: str, since: int, x: Any, **attrs: Any) -> list[Any]:
    return [y.tolist() for y in evaluate(OpVersion(ML, op, since), [x], attrs)]


LINEAR = {"coefficients": (1.0, 2.0, -1.0, 0.5), "intercepts": (1.0, 10.0)}


def test_lines_are_sums_of_products() -> None:
    # 1 + 4 + 1, -1 + 1 + 10; 3 + 8 + 1, -3 + 2 + 10.
    scores = [[6, 10], [12, 9]]
    assert answers("LinearRegressor", 1, X, targets=2, **LINEAR) == [scores]
    labels = {"classlabels_strings": ("a", "b")}
    assert answers("LinearClassifier", 1, X, **labels, **LINEAR) == [["b", "a"], scores]
    (row,) = answers(
        "LinearRegressor", 1, X[:1], coefficients=(2.0, -1.0), post_transform="LOGISTIC"
    )
    assert row == [[0.5]]


@pytest.mark.parametrize(
    ("more", "want"),
    [
        # 1 and 20 votes, then 2 and 10.
        ({}, [[21], [12]]),
        ({"aggregate_function": "AVERAGE"}, [[10.5], [6]]),
        ({"aggregate_function": "MIN"}, [[1], [2]]),
        ({"aggregate_function": "MAX", "base_values": (0.5,)}, [[20.5], [10.5]]),
    ],
)
@pytest.mark.parametrize("since", [1, 3])
def test_trees_are_walked_and_their_votes_aggregated(since: int, more: Any, want: Any) -> None:
    attrs = voting("target", (0, 0, 0, 0)) | {"n_targets": 1} | more
    assert answers("TreeEnsembleRegressor", since, X, **attrs) == [want]


def test_what_is_missing_goes_where_the_node_says() -> None:
    attrs = voting("target", (0, 0, 0, 0)) | {"n_targets": 1}
    nan = np.array([[np.nan, np.nan]], np.float32)
    assert answers("TreeEnsembleRegressor", 3, nan, **attrs) == [[[22]]]
    tracks = {"nodes_missing_value_tracks_true": (1, 0, 0, 0, 0, 0)}
    assert answers("TreeEnsembleRegressor", 3, nan, **attrs, **tracks) == [[[21]]]


@pytest.mark.parametrize("since", [1, 3])
def test_classes_are_voted_for(since: int) -> None:
    attrs = voting("class", (0, 1, 0, 1)) | {"classlabels_int64s": (5, 6)}
    # Class 0 has 1 and class 1 has 20; then class 1 has 2 and class 0 has 10.
    assert answers("TreeEnsembleClassifier", since, X, **attrs) == [[6, 5], [[1, 20], [10, 2]]]


def test_what_the_text_leaves_open_is_not_judged_and_what_it_forbids_is_refused() -> None:
    for transform in ("PROBIT", "SOFTMAX_ZERO"):
        with pytest.raises(NotSupported, match=f"what {transform} is"):
            answers("LinearRegressor", 1, X, targets=2, post_transform=transform, **LINEAR)
    with pytest.raises(NotSupported, match="equal scores"):
        answers("LinearClassifier", 1, X * 0, classlabels_ints=(1, 2), coefficients=(1.0,) * 4)
    with pytest.raises(NotSupported, match="two labels of one score"):
        answers("LinearClassifier", 1, X, classlabels_ints=(1, 2), coefficients=(1.0, 2.0))
    with pytest.raises(InvalidNode, match="4 coefficients; allowed: 6"):
        answers("LinearRegressor", 1, X, targets=3, **LINEAR)
    circle = voting("target", (0, 0, 0, 0)) | {"n_targets": 1, "nodes_truenodeids": (7, 0, 0) * 2}
    with pytest.raises(InvalidNode, match="tree 0 has no node 7"):
        answers("TreeEnsembleRegressor", 1, X, **circle)

"""LinearRegressor and LinearClassifier against scores in exact arithmetic."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from opcheck.engine.ops.linear_models import label_of_largest
from opcheck.engine.readings import each_reading
from opcheck.errors import InvalidNode, NotSupported
from opcheck.opset import ML, describe
from tests.computed import evaluate

REGRESSOR, CLASSIFIER = (
    describe(ML, name, 1).op for name in ("LinearRegressor", "LinearClassifier")
)


def scores(x, coefficients, intercepts):
    """Whole numbers of eighths, so that float32 has them exactly."""
    rows = np.array(coefficients).reshape(len(intercepts), -1)
    return [
        [
            float(
                sum(Fraction(a) * Fraction(b) for a, b in zip(features, row, strict=True))
                + Fraction(add)
            )
            for row, add in zip(rows.tolist(), intercepts, strict=True)
        ]
        for features in x.tolist()
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(("rows", "features", "targets"), [(7, 3, 1), (5, 4, 3), (2, 1, 6)])
def test_scores_and_the_label_of_the_largest(dtype, rows, features, targets):
    draw = np.random.default_rng(rows).integers
    x = draw(-99, 99, (rows, features)).astype(dtype)
    coefficients, intercepts = (
        (draw(-99, 99, n) / 8).tolist() for n in (features * targets, targets)
    )
    # No two are equal.
    intercepts = [add + n / 64 for n, add in enumerate(intercepts)]
    attrs = {"coefficients": tuple(coefficients), "intercepts": tuple(intercepts)}
    want = scores(x, coefficients, intercepts)
    [y] = evaluate(REGRESSOR, [x], attrs | {"targets": targets})
    np.testing.assert_array_equal(y, np.float32(want))
    labels = tuple(f"class {n}" for n in range(targets))
    top, z = evaluate(CLASSIFIER, [x], attrs | {"classlabels_strings": labels}, 2)
    np.testing.assert_array_equal(z, np.float32(want))
    assert top.tolist() == [labels[row.index(max(row))] for row in want]


@pytest.mark.parametrize(
    ("name", "transform"),
    [
        ("LOGISTIC", lambda row: [1 / (1 + exp(-x)) for x in row]),
        ("SOFTMAX", lambda row: [exp(x) / sum(map(exp, row)) for x in row]),
    ],
)
def test_transforms_in_double(name, transform):
    x, attrs = np.float32([[1, 2], [-3, 0.5]]), {"coefficients": (0.5, -0.25, 2.0, 1.0)}
    [y] = evaluate(REGRESSOR, [x], attrs | {"targets": 2, "post_transform": name})
    want = [transform(row) for row in scores(x, attrs["coefficients"], (0.0, 0.0))]
    np.testing.assert_allclose(y, want, 1e-6)


@pytest.mark.parametrize(
    ("op", "attrs", "error"),
    [
        (REGRESSOR, {"coefficients": (1.0, 2.0), "post_transform": "PROBIT"}, NotSupported),
        (REGRESSOR, {"coefficients": (1.0,)}, InvalidNode),
        (CLASSIFIER, {"coefficients": (1.0, 2.0), "classlabels_ints": (0, 1)}, NotSupported),
    ],
)
def test_what_the_text_does_not_state_is_not_computed(op, attrs, error):
    with pytest.raises(error):
        evaluate(op, [np.float32([[1, 2]])], attrs, 2)


@pytest.mark.parametrize(
    ("op", "shape", "attrs", "error"),
    [
        (REGRESSOR, (3, 0), {"coefficients": (1.0,)}, InvalidNode),
        (REGRESSOR, (0, 0), {"coefficients": (1.0,)}, InvalidNode),
        (REGRESSOR, (), {"coefficients": (1.0,)}, NotSupported),
        (CLASSIFIER, (0,), {"coefficients": (1.0,), "classlabels_ints": (4,)}, InvalidNode),
        (CLASSIFIER, (), {"coefficients": (1.0, 2.0), "classlabels_ints": (4, 5)}, InvalidNode),
        (CLASSIFIER, (2, 3), {"coefficients": (), "classlabels_ints": ()}, NotSupported),
    ],
)
def test_no_features_no_classes_and_a_scalar_are_refused_or_left_open(op, shape, attrs, error):
    with pytest.raises(error):
        evaluate(op, [np.ones(shape, np.float32)], attrs, 2 if op is CLASSIFIER else 1)


def test_without_features_the_scores_are_the_intercepts():
    attrs = {"coefficients": (), "intercepts": (0.5, 2.0), "targets": 2}
    [y] = evaluate(REGRESSOR, [np.empty((3, 0), np.float32)], attrs)
    assert y.tolist() == [[0.5, 2.0]] * 3


@pytest.mark.parametrize("labels", [(3, 8, 5), ("a", "b", "c")])
def test_of_equal_scores_the_first_or_the_last_is_the_top_one(labels):
    scores = np.float32([[1, 2, 2], [-1, -2, -2], [0, 0, 0]])
    found = each_reading(lambda: label_of_largest(scores, np.array(labels)))
    tops = {reading.chosen["top-of-equal-scores"]: reading.answer.tolist() for reading in found}
    first, second, third = labels
    assert tops == {"first": [second, first, first], "last": [third, first, third]}


def test_nan_is_the_top_or_below_all_or_the_top_where_it_comes_first():
    scores = np.float32([[1, np.nan, 2], [np.nan, 1, 2], [3, 1, 2]])
    found = each_reading(lambda: label_of_largest(scores, np.array([5, 6, 7])))
    tops = {reading.chosen["nan-in-order"]: reading.answer.tolist() for reading in found}
    assert tops == {"largest": [6, 5, 5], "smallest": [7, 7, 5], "never_exceeded": [7, 5, 5]}

"""LinearRegressor and LinearClassifier of ai.onnx.ml, all versions; and what is made of scores.

A model gives each row of features a score for each target or class. A transform is applied to the
scores of a row, and a classifier returns the label of the largest one. Ensembles of trees do the
same with their scores, and import these functions: see `tree_ensembles`.

Scores are float32, as the numbers of attributes are. The texts do not state in what type to compute
with doubles and large integers: the formulas round them to float32 first.

The parts of the file: scores; transforms; the top class; the operators; their mutants.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp
from opcheck.engine.operators import (
    check_one_of,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.activations import sigmoid
from opcheck.engine.ops.preprocessing import in_float32, only_list
from opcheck.engine.ops.softmax import softmax
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import NAN_IN_ORDER, has_nan
from opcheck.errors import decline, reject
from opcheck.numbers import Tensor
from opcheck.numbers.bounded.choice import Choices
from opcheck.numbers.faulty import seen
from opcheck.opset import ML

NAMES = """LinearClassifier LinearRegressor"""

#: Makes a matrix [features, targets] of a list of coefficients and the number of targets.
WeightsFunction: TypeAlias = Callable[[Sequence[float], int], NDArray[np.float32]]
#: Makes scores of scores and the name of a transform.
Transform: TypeAlias = Callable[[Tensor, str], Tensor]
#: Returns a label for each row of scores, [N, E], from the labels of the E classes.
Top: TypeAlias = Callable[[Tensor, NDArray[Any]], Any]

#: What post_transform may name. The texts have no formula of SOFTMAX_ZERO and PROBIT.
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

TOP_OF_EQUAL_SCORES = Ruling(
    "top-of-equal-scores",
    "The text does not state which of several classes with the largest score is the top one.",
    ("first", "last"),
    by_element=True,
)

LINEAR_CLASSIFIER = operator("LinearClassifier", ML, of_integers=True, ignores=("multi_class",))
LINEAR_REGRESSOR = operator("LinearRegressor", ML, of_integers=True)


# ── scores ────────────────────────────────────────────────────────────────────────────────────


def weights_by_target(coefficients: Sequence[float], targets: int) -> NDArray[np.float32]:
    """Return the weights as a matrix, [features, targets].

    "The coefficients for each target are contiguous". The number of coefficients must be a multiple
    of `targets`, which is 1 or more; `linear_scores` checks that before.
    """
    return np.array(coefficients, np.float32).reshape(targets, -1).T


def rows_of_features(X: Tensor) -> Tensor:
    """Return features [N, F] as they are, and [F] as [1, F].

    Raises InvalidNode for another rank than 1 and 2. N and F may be 0.
    """
    reject(X.ndim not in (1, 2), f"rank {X.ndim}; allowed: 1, 2")
    return X if X.ndim == 2 else xp.reshape(X, (1, X.shape[0]))


def linear_scores(
    weights_of: WeightsFunction,
    X: Tensor,
    coefficients: Sequence[float],
    intercepts: Sequence[float] | None,
    targets: int,
) -> Tensor:
    """Return X · weights + intercepts of each row in float32, [N, targets].

    X: features of any numeric type, rounded to float32, [N, F], or [F], which is taken for [1, F].
    weights_of: makes the matrix [F, targets] of `coefficients`. intercepts: one for each target, or
    None for no addend.

    Raises InvalidNode for another rank than 1 and 2, and for another number than targets · F of
    coefficients, or than `targets` of intercepts.
    """
    X = rows_of_features(X)
    features = X.shape[1]
    count = len(coefficients)
    reject(count != targets * features, f"{count} coefficients for {targets} x {features} features")
    scores = xp.matmul(in_float32(X), in_float32(weights_of(coefficients, targets)))
    if intercepts is None:
        return scores
    reject(len(intercepts) != targets, f"{len(intercepts)} intercepts for {targets}")
    shifted: Tensor = scores + in_float32(tuple(intercepts))
    return shifted


# ── transforms ────────────────────────────────────────────────────────────────────────────────


def transformed(
    scores: Tensor, name: str, *, logistic: Callable[[Tensor], Tensor] = sigmoid, axis: int = -1
) -> Tensor:
    """Return scores, [N, E], after the transform of this name, in their shape.

    NONE leaves them as they are, LOGISTIC applies `logistic` to each of them, and SOFTMAX goes
    along `axis`: over each row by default. Raises InvalidNode for a name that is not of TRANSFORMS,
    and NotSupported for SOFTMAX_ZERO and PROBIT, for which no text has a formula.
    """
    check_one_of("post_transform", name, *TRANSFORMS)
    if name in ("SOFTMAX_ZERO", "PROBIT"):
        raise_unspecified(f"{name}, of which there is no formula")
    if name == "SOFTMAX":
        shares: Tensor = softmax(scores, axis)
        return shares
    return logistic(scores) if name == "LOGISTIC" else scores


def logistic_from_either_side(x: Tensor) -> Tensor:
    """Return 1 / (1 + e^−x), for a negative x as 1 − 1 / (1 + e^x); NaN stays NaN."""
    of_magnitude = sigmoid(xp.abs(x))
    # NaN is not negative, and the function of it is NaN on either side.
    return xp.where(seen(x) < 0, 1 - of_magnitude, of_magnitude)


def transformed_from_either_side(scores: Tensor, name: str) -> Tensor:
    """Return transformed scores, the logistic function of a negative one as 1 less another.

    Raises as `transformed`: InvalidNode for an unknown name, NotSupported for SOFTMAX_ZERO and
    PROBIT.
    """
    return transformed(scores, name, logistic=logistic_from_either_side)


#: How this alternative computes.
FROM_EITHER_SIDE = "as 1 minus the logistic of the negative score"


# ── the top class ─────────────────────────────────────────────────────────────────────────────


def with_nan_in_order(scores: Tensor) -> Tensor:
    """Return scores, [N, E], with infinities for NaN, by its place in the order: NAN_IN_ORDER.

    If NaN is the largest number, it becomes +∞; if it is the smallest, −∞; and if it is never
    exceeded, +∞ in the first column and −∞ in the others.
    """
    reading = NAN_IN_ORDER.reading()
    is_nan = np.asarray(xp.isnan(scores))
    is_largest = is_nan if reading == "largest" else np.zeros(is_nan.shape, np.bool_)
    if reading == "never_exceeded":
        is_largest[:, 0] = is_nan[:, 0]
    infinity = np.where(is_largest, np.inf, -np.inf).astype(scores.dtype)
    return xp.where(is_nan, infinity, scores)


def label_of_largest(scores: Tensor, labels: NDArray[Any]) -> Any:
    """Return the label of the largest score in each row.

    scores: [N, E]; labels: [E]. Returns [N], in the type of `labels`. Of equal scores it is the
    first or the last: TOP_OF_EQUAL_SCORES. NaN stands in the order as NAN_IN_ORDER has it. Where
    rounding decides which score is the largest, `Choices` admit any of these labels.

    Raises NotSupported for no classes, and if rounding decides between labels that are texts.
    """
    if not len(labels):
        raise_unspecified("the top of no classes")
    if has_nan(scores):
        scores = with_nan_in_order(scores)
    plain = seen(scores)
    place = xp.argmax(scores, axis=1)
    if isinstance(place, Choices):
        decline(labels.dtype == object, "texts of scores that rounding decides between")
        return Choices(labels[place.v], labels[place.admitted])
    is_largest = plain == plain.max(axis=1, keepdims=True)
    has_several = is_largest.sum(axis=1) > 1
    if has_several.any() and TOP_OF_EQUAL_SCORES.reading() == "last":
        place_from_the_end = np.argmax(is_largest[:, ::-1], axis=1)
        place = np.where(has_several, plain.shape[1] - 1 - place_from_the_end, place)
    return labels[place]


# ── the operators ─────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(1, options=["transform"])
def regressed(
    weights_of: WeightsFunction,
    X: Tensor,
    *,
    coefficients: Sequence[float] | None,
    intercepts: Sequence[float] | None,
    post_transform: str,
    targets: int,
    transform: Transform = transformed,
) -> Tensor:
    """Return the transformed scores Y, [N, targets], in float32, of features X, [N, F].

    weights_of: makes a matrix of the coefficients. coefficients: F for each target. intercepts: one
    for each target, or None for no addend. transform: makes Y of the scores and post_transform.

    Raises InvalidNode for `targets` below 1, for other numbers of coefficients or intercepts, and
    for a post_transform that does not exist. Raises NotSupported without coefficients, for X of
    another rank than 2, and for SOFTMAX_ZERO and PROBIT: the text does not define them.
    """
    if coefficients is None:
        raise_unspecified("no coefficients")
    if X.ndim != 2:
        raise_unspecified(f"features of rank {X.ndim}")
    reject(targets < 1, f"{targets} targets")
    scores = linear_scores(weights_of, X, coefficients, intercepts, targets)
    return transform(scores, post_transform)


@formulas_of_versions(1, options=["transform", "top"])
def classified(
    weights_of: WeightsFunction,
    X: Tensor,
    *,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    coefficients: Sequence[float],
    intercepts: Sequence[float] | None,
    multi_class: int,
    post_transform: str,
    transform: Transform = transformed,
    top: Top = label_of_largest,
) -> tuple[Any, Tensor]:
    """Return the label of the top class Y, [N], and the transformed scores Z, [N, E], in float32.

    X: features, [N, F], or [F], which is taken for [1, F]. The E labels are integers or texts.
    coefficients: F for each class. intercepts: one for each class, or None. top: finds the labels
    by the transformed scores: of equal ones the first or last label, TOP_OF_EQUAL_SCORES; NaN is
    the largest, the smallest or never exceeded, NAN_IN_ORDER. weights_of: makes a matrix of the
    coefficients.

    Raises InvalidNode unless exactly one list of labels is given, for other ranks of X, for other
    numbers of coefficients or intercepts, and for a post_transform that does not exist. Raises
    NotSupported for no classes, for two of which one alone has coefficients, for SOFTMAX_ZERO and
    PROBIT, and for texts between which rounding decides; while judging, also for a `multi_class`
    other than 0, which is otherwise ignored.
    """
    given = {"classlabels_ints": classlabels_ints, "classlabels_strings": classlabels_strings}
    labels = only_list(given, "classlabels_")
    if multi_class != 0:
        leave_open("what is different in multinomial classification")
    X = rows_of_features(X)
    if not len(labels) and not len(coefficients):
        raise_unspecified("the top of no classes")
    if len(labels) == 2 and len(coefficients) == X.shape[1]:
        raise_unspecified("two classes with one score")
    scores = linear_scores(weights_of, X, coefficients, intercepts, len(labels))
    scores = transform(scores, post_transform)
    return top(scores, labels), scores


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def transformed_by_column(scores: Tensor, name: str) -> Tensor:
    """Mutant: a softmax goes over the rows of each class.

    Raises InvalidNode for a name that is not of TRANSFORMS, NotSupported for SOFTMAX_ZERO and
    PROBIT.
    """
    return transformed(scores, name, axis=0)


def weights_by_feature(coefficients: Sequence[float], targets: int) -> NDArray[np.float32]:
    """Mutant: the coefficients of each feature are contiguous."""
    return np.array(coefficients, np.float32).reshape(-1, targets)


def label_of_smallest(scores: Tensor, labels: NDArray[Any]) -> Any:
    """Mutant: the smallest score is the top one.

    Raises NotSupported for no classes, and if rounding decides between labels that are texts.
    """
    return label_of_largest(-scores, labels)


def label_from_the_back(scores: Tensor, labels: NDArray[Any]) -> Any:
    """Mutant: the first label is that of the last score.

    Raises NotSupported for no classes, and if rounding decides between labels that are texts.
    """
    return label_of_largest(scores, labels[::-1])


#: Wrong choices of a label, by the name of the mutant.
TOPS: dict[str, tuple[str, Top]] = {
    "smallest": ("the smallest score was the top one", label_of_smallest),
    "labels_reversed": ("the first label was that of the last score", label_from_the_back),
}

for _op, _build in ((LINEAR_REGRESSOR, regressed), (LINEAR_CLASSIFIER, classified)):
    _op.formula(build=_build)(weights_by_target)
    _op.alternative(
        FROM_EITHER_SIDE, build=partial(_build, transform=transformed_from_either_side)
    )(weights_by_target)
    _op.mutant(
        "the softmax went over rows",
        name="softmax_of_columns",
        build=partial(_build, transform=transformed_by_column),
    )(weights_by_target)
    _op.mutant("the coefficients of each feature were contiguous", name="by_feature", build=_build)(
        weights_by_feature
    )
for _name, (_text, _top) in TOPS.items():
    LINEAR_CLASSIFIER.mutant(_text, name=_name, build=partial(classified, top=_top))(
        weights_by_target
    )

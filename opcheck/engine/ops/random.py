"""Bernoulli, Dropout, Multinomial, RandomNormal, RandomUniform and their Likes, all versions.

An element of an output is made of a number u that is drawn for it from [0, 1), by
`opcheck.numbers.drawn`. It never falls as u rises, so that the formula gives the quantiles of its
distribution too, by which backends are judged. The draws are not those of any implementation: the
texts define nothing of the numbers that a seed gives.

The parts of the file: the distributions, as functions of u; the operators; their mutants, which
are wrong in the draws, in the distribution, or in Dropout's mask.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import dtypes, numbers as xp
from opcheck.dtypes import DType
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    Operator,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.errors import decline, reject
from opcheck.grouping import not_none
from opcheck.numbers import Tensor

NAMES = """Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform
RandomUniformLike"""

#: Values in float64: plain, as nothing is computed of drawn numbers that rounding could decide.
Floats: TypeAlias = NDArray[np.float64]
#: Whole numbers, as indices of classes.
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]
#: Makes elements of the draws, from the parameters that its operator has.
Distribution: TypeAlias = Callable[..., Any]
#: Returns the output and the mask of Dropout, from the draws, the data and the ratio.
Drop: TypeAlias = Callable[[Floats, Floats, float], tuple[Floats, Booleans]]


# ── distributions ─────────────────────────────────────────────────────────────────────────────


def normal(u: Floats, mean: float, scale: float) -> Floats:
    """Return numbers of a normal distribution in the shape of u.

    scale: its standard deviation. u: draws from [0, 1), of which the numbers are quantiles. Raises
    NotSupported for a `scale` that is negative, infinite or NaN, and for a `mean` that is infinite
    or NaN.
    """
    if not 0 <= scale < np.inf:
        raise_unspecified(f"a scale of {scale}")
    if not np.isfinite(mean):
        raise_unspecified(f"a mean of {mean}")
    return mean + scale * normal_quantiles(u)


def normal_quantiles(u: Floats) -> Floats:
    """Return the quantiles of mean 0 and scale 1 in the shape of u, all of them finite.

    0 and 1 have none: they, and what is next to them, count as the nearest number that has one.
    """
    quantile = NormalDist().inv_cdf
    inner = np.clip(u, 2.0**-54, 1 - 2.0**-53)
    if inner.size and (inner == inner.flat[0]).all():
        return np.full(u.shape, quantile(float(inner.flat[0])))
    return np.reshape([*map(quantile, inner.reshape(-1).tolist())], u.shape)


def uniform(u: Floats, low: float, high: float) -> Floats:
    """Return numbers from `low` on and below `high`, in the shape of u; `low` if both are equal.

    u: draws from [0, 1). Raises NotSupported unless both are finite, and `low` is not above `high`.
    """
    if not -np.inf < low <= high < np.inf:
        raise_unspecified(f"from {low} to {high}")
    return low + u * (high - low)


def is_one(u: Floats, p: Floats) -> Booleans:
    """Return True where 1 is produced: "with probability p", and 0 "with probability (1-p)".

    u: draws from [0, 1); p: the probabilities, from 0 to 1, in the shape of u.
    """
    return u >= 1 - p


def class_of(u: Floats, logarithms: Floats) -> Integers:
    """Return outcomes, by "the unnormalized log-probability of each corresponding outcome".

    u: [batch_size, sample_size], draws from [0, 1); logarithms: [batch_size, class_size], where -∞
    is impossible, and one of each batch is finite. Returns numbers of classes in the shape of u.
    """
    most_likely = logarithms.max(axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(logarithms - most_likely)
    return class_by_weights(u, weights)


def class_by_weights(u: Floats, weights: Floats) -> Integers:
    """Return outcomes, each as likely as its weight's share of all weights of its batch.

    u: [batch_size, sample_size], draws from [0, 1); weights: [batch_size, class_size], from 0 on,
    with a sum above 0. Returns numbers of classes in the shape of u.
    """
    ends = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    # The number of classes of its batch that end before the draw.
    outcomes: Integers = (ends[:, None, :] <= u[..., None]).sum(axis=-1)
    return outcomes


def dropped(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Return "output = scale * data * mask", where "scale = 1. / (1. - ratio)", and the mask.

    u: draws from [0, 1), in the shape of the data; below `ratio` an element is 0, its mask False. A
    dropped infinity or NaN is 0 here, not NaN as by the product. ratio: at least 0, below 1.
    """
    return np.where(u < ratio, 0, data / (1 - ratio)), u >= ratio


# ── the operators ─────────────────────────────────────────────────────────────────────────────


def random_operator(name: str, *, of_shapes: bool = False) -> Operator:
    """Declare and return an operator that is random whatever its inputs are.

    of_shapes: it reads the shapes of its inputs alone. Raises WrongOperator for a name that is
    none.
    """
    return operator(
        name,
        module=__name__,
        exact=True,
        random=True,
        of_shapes=of_shapes,
        ignores=("seed",),
    )


def contradicting(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Booleans:
    """Return True for elements that are dropped though the mask keeps them, or the contrary.

    outputs: the output and perhaps the mask; without it, [False]. An element of the data that is 0
    is the same either way, and never contradicts.
    """
    data = inputs[0]
    output = outputs[0]
    if len(outputs) == 1:
        return np.zeros(1, np.bool_)
    mask = outputs[1]
    contradicts: Booleans = ((output == 0) == mask) & (data != 0)
    return contradicts


BERNOULLI = random_operator("Bernoulli")
MULTINOMIAL = random_operator("Multinomial")
RANDOM_NORMAL = random_operator("RandomNormal")
RANDOM_NORMAL_LIKE = random_operator("RandomNormalLike", of_shapes=True)
RANDOM_UNIFORM = random_operator("RandomUniform")
RANDOM_UNIFORM_LIKE = random_operator("RandomUniformLike", of_shapes=True)
DROPOUT = operator(
    "Dropout", exact=True, related=contradicting, ignores=("consumed_inputs", "seed")
)


def output_type(input: Tensor, dtype: int | None) -> DType:
    """Return the output's type, by its number in ONNX's TensorProto.

    None: "if not specified, … the data type of the input tensor". The number must name a type.
    """
    if dtype is None:
        return not_none(dtypes.of(np.empty(0, input.dtype)))
    return not_none(dtypes.named(dtype))


@formulas_of_versions(1, 22)
def random_of_shape(
    distribution: Distribution,
    *,
    dtype: int | None,
    shape: Sequence[int],
    seed: float | None,
    **parameters: float,
) -> Floats:
    """Return an output of RandomNormal or RandomUniform, float64 in this shape.

    It is rounded to `dtype` later. distribution: makes elements of draws from `parameters`: mean
    and scale, or low and high. seed: the same seed gives the same output, None another one each
    time.

    Raises NotSupported for sizes below 0, for parameters that give no distribution (a scale below
    0, low above high, infinities and NaN), and in a graph, where other nodes would compute with
    draws; MemoryError for an output that is too large.
    """
    if min(shape, default=0) < 0:
        raise_unspecified("sizes below 0")
    check_size(shape)
    drawn: Floats = distribution(xp.drawn(shape, seed), **parameters)
    return drawn


@formulas_of_versions(1, 22)
def random_like(
    distribution: Distribution,
    input: Tensor,
    *,
    dtype: int | None,
    seed: float | None,
    **parameters: float,
) -> Floats:
    """Return an output of RandomNormalLike or RandomUniformLike, float64 in the input's shape.

    It is rounded later, to `dtype` or the input's type (None). distribution: makes elements of
    draws from `parameters`: mean and scale, or low and high. seed: None for another output each
    time.

    Raises InvalidNode for an output that is not of a floating type; NotSupported for parameters
    that give no distribution (a scale below 0, low above high, infinities and NaN), and in a graph,
    where other nodes would compute with draws.
    """
    named = output_type(input, dtype)
    reject(named.kind != "float", f"an output of {named}; allowed: floats")
    drawn: Floats = distribution(xp.drawn(input.shape, seed), **parameters)
    return drawn


@formulas_of_versions(15, 22)
def bernoulli(
    ones: Distribution, input: Tensor, *, dtype: int | None, seed: float | None
) -> Tensor:
    """Return 0 and 1 in the shape of the input, whose elements are probabilities.

    ones: decides from draws and probabilities which elements are 1. dtype: a number that names the
    output's type, None for the input's. seed: the same gives the same output, None another one
    each time.

    "All values in input have to be in the range:[0, 1]": raises NotSupported for other values and
    NaN. It raises NotSupported, too, in a graph, where other nodes would compute with draws.
    """
    probabilities = xp.values_of(input)
    # Of NaN neither comparison is true.
    is_probability = (probabilities >= 0) & (probabilities <= 1)
    if not is_probability.all():
        raise_unspecified("such probabilities")
    output = ones(xp.drawn(input.shape, seed), probabilities)
    typed: Tensor = output.astype(output_type(input, dtype).numpy)
    return typed


@formulas_of_versions(7, 22)
def multinomial(
    classes: Distribution,
    input: Tensor,
    *,
    dtype: int,
    sample_size: int,
    seed: float | None,
) -> Integers:
    """Return outcomes, [batch_size, sample_size]: numbers of classes, from 0 on, in int64.

    They get the type `dtype` later. input: log-probabilities that need not add up, [batch_size,
    class_size]; -∞ is impossible. classes: makes outcomes of draws and these. seed: None for others
    each time.

    Raises InvalidNode for another rank than 2; NotSupported for less than one sample, for a batch
    of which no outcome is possible, or one is infinitely likely or NaN, and in a graph, where other
    nodes would compute with draws; MemoryError for an output that is too large.
    """
    reject(input.ndim != 2, f"input of rank {input.ndim}; allowed: 2")
    logarithms = xp.values_of(input)
    # The maximum of NaN and a number is NaN here, which is not finite.
    most_likely = logarithms.max(axis=1, initial=-np.inf)
    if sample_size < 1 or not np.isfinite(most_likely).all():
        raise_unspecified("such samples, or such probabilities")
    shape = (len(logarithms), sample_size)
    check_size(shape)
    outcomes: Integers = classes(xp.drawn(shape, seed), logarithms)
    return outcomes


@formulas_of_versions(1, 6)
def dropout_1(drop: Drop, data: Tensor, *, is_test: int, ratio: float, outputs: int = 1) -> Tensor:
    """Return the output of versions 1 and 6, in the shape and type of the data.

    "If nonzero, run dropout in test mode": with `is_test` or a ratio of 0 it is the data. drop:
    makes output and mask of draws, data and ratio.

    Raises NotSupported if the mask is asked for, which has no type that it could be compared in; in
    training for a ratio that is not at least 0 and below 1, for infinities, NaN and overflow in
    what is dropped, for types of 8 bits that cannot hold the output, and in a graph, where other
    nodes would compute with draws.
    """
    if outputs > 1:
        raise_unspecified("the mask")
    if not is_test and not 0 <= ratio < 1:
        raise_unspecified(f"a ratio of {ratio}")
    if is_test or not ratio:
        return data
    output, _ = output_and_mask(drop, data, ratio, None)
    return output


@DROPOUT.formula(7, 10)
def dropout_7(data: Tensor, *, ratio: float, outputs: int = 1) -> Tensor:
    """Return the data, as versions 7 and 10 have no training.

    Raises NotSupported if the mask is asked for, which is not defined where nothing is dropped.
    """
    if outputs > 1:
        raise_unspecified("the mask where nothing is dropped")
    return data


@formulas_of_versions(each={12: True, 13: True, 22: False})
def dropout(
    drop: Drop,
    is_copied_without_ratio: bool,
    data: Tensor,
    ratio: Tensor | None = None,
    training_mode: Tensor | None = None,
    *,
    seed: float | None,
) -> tuple[Tensor, Tensor]:
    """Return the output, in the shape and type of the data, and the mask, booleans in its shape.

    ratio and training_mode: scalars, by default 0.5 and False. Without training, or with a ratio of
    0, they are the data and a mask of True. drop: makes both of draws, data and ratio. seed: None
    for other draws each time. is_copied_without_ratio: versions 12 and 13 say of a ratio that is
    left out that the output is a copy then, and that it "will default to 0.5".

    Raises InvalidNode for a ratio beyond [0, 1) or NaN in training, and for a ratio or
    training_mode of other than one element, or of rank 1 and more by ONE_ELEMENT_AS_A_SCALAR.
    Raises NotSupported for such a ratio without training; and in training without a ratio in
    versions 12 and 13, if the scale is rounded differently in the ratio's type, for infinities, NaN
    and overflow in what is dropped, for types of 8 bits that cannot hold the output, and in a
    graph.
    """
    ratio_value = 0.5 if ratio is None else scalar("ratio", ratio)
    is_training = training_mode is not None and scalar("training_mode", training_mode)
    # NaN is not in [0, 1) either.
    if not 0 <= ratio_value < 1:
        message = f"ratio {ratio_value}; allowed: at least 0 and below 1"
        reject(is_training, message)
        # "value in [0, 1)", and "ignored". A ruling would let reruns draw such ratios.
        decline(True, message)
    if is_copied_without_ratio and is_training and ratio is None:
        raise_unspecified("a ratio that is left out")
    if not is_training or not ratio_value:
        return data, np.ones(data.shape, np.bool_)
    type_of_ratio = data.dtype if ratio is None else ratio.dtype
    check_scale(ratio_value, data.dtype, type_of_ratio)
    return output_and_mask(drop, data, ratio_value, seed)


def check_scale(ratio: float, type_of_data: np.dtype[Any], type_of_ratio: np.dtype[Any]) -> None:
    """Raise NotSupported if 1 / (1 - ratio) is another number in the type of the ratio.

    A type that is as wide as that of the data does no harm. ratio: below 1.
    """
    scale = 1 / (1 - ratio)
    is_as_wide = type_of_ratio.itemsize >= type_of_data.itemsize
    if not is_as_wide and float(type_of_ratio.type(scale)) != scale:
        raise_unspecified("the type that the scale is rounded to")


def output_and_mask(
    drop: Drop, data: Tensor, ratio: float, seed: float | None
) -> tuple[Tensor, Booleans]:
    """Return the output, in the shape and type of the data, and the mask, booleans in its shape.

    drop: makes both of draws, the data and the ratio. ratio: at least 0, below 1. seed: None for
    other draws each time. Raises NotSupported for infinities and NaN in the data, whose product
    with 0 is NaN, and in the rounded output; for types of 8 bits if they cannot hold the output;
    and in a graph, where other nodes would compute with draws.
    """
    values = xp.values_of(data)
    with np.errstate(over="ignore"):
        output, mask = drop(xp.drawn(data.shape, seed), values, ratio)
        rounded = output.astype(data.dtype)
    is_finite = np.isfinite(rounded.astype(np.float64)).all()
    if not is_finite or not np.isfinite(values).all():
        raise_unspecified("what is dropped of infinities and NaN")
    if data.dtype.itemsize == 1 and (rounded.astype(np.float64) != output).any():
        raise_unspecified("how so few bits are rounded")
    return rounded, mask


# ── mutants of the draws ──────────────────────────────────────────────────────────────────────


def repeated(u: Floats, elements: Floats) -> Floats:
    """Return draws of the shape of `u`: these `elements`, over and over.

    elements: not empty, unless u is.
    """
    return np.resize(elements, u.shape) if u.size else u


def rows_alike(u: Floats) -> Floats:
    """Mutant: the first row of a matrix stands for all of its rows."""
    first = u[..., :1, :] if u.ndim > 1 else u
    return np.broadcast_to(first, u.shape)


def halves_alike(u: Floats) -> Floats:
    """Mutant: the first half of the elements stands for the second, too."""
    return repeated(u, u.reshape(-1)[: (u.size + 1) // 2])


def one_draw_for_all(u: Floats) -> Floats:
    """Mutant: the first element stands for all."""
    return repeated(u, u.reshape(-1)[:1])


def each_drawn_twice(u: Floats) -> Floats:
    """Mutant: every second element is the one before it."""
    return repeated(u, np.repeat(u.reshape(-1)[::2], 2))


def three_digits(u: Floats) -> Floats:
    """Mutant: u has three binary digits."""
    return np.floor(8 * u) / 8


DRAWS: Mapping[str, tuple[str, Callable[[Floats], Floats]]] = {
    "rows_alike": ("all rows were drawn alike", rows_alike),
    "halves_alike": ("one half was drawn like the other", halves_alike),
    "one_draw_for_all": ("all elements came of one number drawn", one_draw_for_all),
    "each_drawn_twice": ("each number that was drawn was used twice", each_drawn_twice),
    "three_digits": ("three binary digits were drawn", three_digits),
}


def of_other_draws(
    distribution: Distribution,
    change: Callable[[Floats], Floats],
    u: Floats,
    *inputs: Any,
    **parameters: float,
) -> Any:
    """Return what a distribution makes of draws that `change` changes.

    u: draws from [0, 1). Raises NotSupported for parameters that give no distribution.
    """
    return distribution(change(u), *inputs, **parameters)


# ── mutants of the distributions ──────────────────────────────────────────────────────────────


def scale_is_a_variance(u: Floats, mean: float, scale: float) -> Floats:
    """Mutant of `normal`: the standard deviation is the root of `scale`.

    scale: from 0 on. Raises NotSupported if it is infinite or NaN, or if `mean` is.
    """
    return normal(u, mean, scale**0.5)


def mean_scaled(u: Floats, mean: float, scale: float) -> Floats:
    """Mutant of `normal`: the mean is multiplied by `scale`, too.

    Raises NotSupported for a `scale` that is negative, infinite or NaN, and for a `mean` that is
    infinite or NaN.
    """
    return normal(u, mean * scale, scale)


def uniform_for_normal(u: Floats, mean: float, scale: float) -> Floats:
    """Mutant of `normal`: a uniform distribution of the same mean and standard deviation."""
    return mean + scale * (u - 0.5) * 12**0.5


def cut_off(u: Floats, mean: float, scale: float) -> Floats:
    """Mutant of `normal`: numbers beyond two standard deviations lie there."""
    return mean + scale * np.clip(normal_quantiles(u), -2, 2)


def high_is_a_width(u: Floats, low: float, high: float) -> Floats:
    """Mutant of `uniform`: `high` is the distance of the boundaries."""
    return low + u * high


def normal_for_uniform(u: Floats, low: float, high: float) -> Floats:
    """Mutant of `uniform`: a normal distribution of the same mean and standard deviation."""
    return (low + high) / 2 + (high - low) / 12**0.5 * normal_quantiles(u)


def whole_numbers(u: Floats, low: float, high: float) -> Floats:
    """Mutant of `uniform`: numbers are rounded down.

    Raises NotSupported unless both ends are finite, and `low` is not above `high`.
    """
    return np.floor(uniform(u, low, high))


def zero_with_probability(u: Floats, p: Floats) -> Booleans:
    """Mutant of `is_one`: 0 has the probability p."""
    return u < p


def probability_rounded(u: Floats, p: Floats) -> Booleans:
    """Mutant of `is_one`: 1 is certain where p is one half or more, and else impossible."""
    return p + 0 * u >= 0.5


def probability_of_the_first(u: Floats, p: Floats) -> Booleans:
    """Mutant of `is_one`: the first probability stands for all."""
    return is_one(u, repeated(p, p.reshape(-1)[:1]))


def probability_of_the_row(u: Floats, p: Floats) -> Booleans:
    """Mutant of `is_one`: the first probability of a row stands for all of it."""
    return is_one(u, p[..., :1] + 0 * p if p.ndim else p)


def fair(u: Floats, p: Floats) -> Booleans:
    """Mutant of `is_one`: all probabilities are one half."""
    return is_one(u, np.full_like(p, 0.5))


def input_is_weights(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the input is taken for weights, not for logarithms of them.

    If it has negative numbers, all are raised until the least is 0.
    """
    return class_by_weights(u, logarithms - logarithms.min(initial=0))


def most_likely(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the outcome is always the most likely one."""
    if not logarithms.size:
        return class_of(u, logarithms)
    classes: Integers = logarithms.argmax(axis=1)
    return classes[:, None] + np.zeros(u.shape, np.int64)


def equally_likely(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: all outcomes are equally likely."""
    return class_of(u, 0 * logarithms)


def first_batch(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the first batch's probabilities stand for all batches'."""
    return class_of(u, np.broadcast_to(logarithms[:1], logarithms.shape))


def counted_from_one(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the first outcome is number 1."""
    return 1 + class_of(u, logarithms)


def last_class_left_out(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the last of several outcomes does not come out."""
    return class_of(u, logarithms[:, :-1] if logarithms.shape[1] > 1 else logarithms)


def binary_logarithms(u: Floats, logarithms: Floats) -> Integers:
    """Mutant of `class_of`: the input is of logarithms to base 2."""
    return class_of(u, logarithms * np.log(2))


def not_scaled(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: scale = 1."""
    return data * (u >= ratio), u >= ratio


def scaled_by_the_ratio(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: scale = 1 / ratio."""
    return np.where(u < ratio, 0, data / ratio), u >= ratio


def ratio_is_kept(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: the ratio is that of the elements that are kept."""
    return dropped(u, data, 1 - ratio)


def fair_dropout(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: one half is dropped, with the scale of the ratio."""
    return np.where(u < 0.5, 0, data / (1 - ratio)), u >= 0.5


def nothing_dropped(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: the output is a copy, in training too."""
    return data, u >= 0


Mutants: TypeAlias = NamedMutants[Distribution]

NORMAL_MUTANTS: Mutants = {
    "scale_is_a_variance": ("scale was the variance", scale_is_a_variance),
    "mean_scaled": ("the mean was scaled too", mean_scaled),
    "uniform": ("the distribution was uniform", uniform_for_normal),
    "cut_off": ("no number was farther from the mean than twice the scale", cut_off),
}
UNIFORM_MUTANTS: Mutants = {
    "high_is_a_width": ("high was added to low", high_is_a_width),
    "normal": ("the distribution was normal", normal_for_uniform),
    "whole_numbers": ("only whole numbers were drawn", whole_numbers),
}
BERNOULLI_MUTANTS: Mutants = {
    "zero_with_probability": ("0 had the probability of 1", zero_with_probability),
    "probability_rounded": ("1 came of probabilities of one half or more", probability_rounded),
    "probability_of_the_first": (
        "all elements had the first one's probability",
        probability_of_the_first,
    ),
    "probability_of_the_row": (
        "all of a row had its first probability",
        probability_of_the_row,
    ),
    "fair": ("0 and 1 were equally likely", fair),
}
MULTINOMIAL_MUTANTS: Mutants = {
    "input_is_weights": ("the input was no logarithms", input_is_weights),
    "most_likely": ("always the most likely class was drawn", most_likely),
    "equally_likely": ("all classes were equally likely", equally_likely),
    "first_batch": ("all batches had the probabilities of the first", first_batch),
    "counted_from_one": ("classes were counted from 1", counted_from_one),
    "last_class_left_out": ("the last class was never drawn", last_class_left_out),
    "binary_logarithms": ("logarithms were to base 2", binary_logarithms),
}
DROPOUT_MUTANTS: Mutants = {
    "not_scaled": ("nothing was scaled", not_scaled),
    "scaled_by_the_ratio": ("what is kept was divided by the ratio", scaled_by_the_ratio),
    "ratio_is_kept": ("the ratio was the part that is kept", ratio_is_kept),
    "fair_dropout": ("one half was dropped", fair_dropout),
    "nothing_dropped": ("nothing was dropped", nothing_dropped),
}


# ── mutants of Dropout's mask ─────────────────────────────────────────────────────────────────


def mask_inverted(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: the mask is true for what is dropped."""
    output, mask = dropped(u, data, ratio)
    return output, ~mask


def mask_drawn_apart(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: the mask is of draws of its own."""
    output, _ = dropped(u, data, ratio)
    return output, xp.drawn(u.shape, None) >= ratio


def mask_of_ones(u: Floats, data: Floats, ratio: float) -> tuple[Floats, Booleans]:
    """Mutant of `dropped`: the mask is all ones, as it is without training."""
    output, mask = dropped(u, data, ratio)
    return output, np.ones_like(mask)


MASK_MUTANTS: Mutants = {
    "mask_inverted": ("the mask was true where an element is dropped", mask_inverted),
    "mask_drawn_apart": ("the mask was drawn apart from the output", mask_drawn_apart),
    "mask_of_ones": ("the mask was all ones in training too", mask_of_ones),
}


# ── declarations ──────────────────────────────────────────────────────────────────────────────


def declare(
    op: Operator,
    versions: Callable[..., Mapping[int, Formula]],
    distribution: Distribution,
    mutants: Mutants,
) -> None:
    """Declare the formula of an operator, and its mutants: of the draws, and `mutants`.

    versions: makes the formulas of a distribution. Raises WrongOperator for what contradicts the
    schema.
    """
    op.formula(build=versions)(distribution)
    of_draws = {
        name: (text, partial(of_other_draws, distribution, change))
        for name, (text, change) in DRAWS.items()
    }
    op.mutant_table({**of_draws, **mutants}, build=versions)


declare(RANDOM_NORMAL, random_of_shape, normal, NORMAL_MUTANTS)
declare(RANDOM_NORMAL_LIKE, random_like, normal, NORMAL_MUTANTS)
declare(RANDOM_UNIFORM, random_of_shape, uniform, UNIFORM_MUTANTS)
declare(RANDOM_UNIFORM_LIKE, random_like, uniform, UNIFORM_MUTANTS)
declare(BERNOULLI, bernoulli, is_one, BERNOULLI_MUTANTS)
declare(MULTINOMIAL, multinomial, class_of, MULTINOMIAL_MUTANTS)
declare(DROPOUT, dropout_1, dropped, DROPOUT_MUTANTS)
declare(DROPOUT, dropout, dropped, DROPOUT_MUTANTS)
DROPOUT.mutant_table(MASK_MUTANTS, build=dropout)

"""Numbers drawn at random: normal, uniform, 0 or 1 with a probability, of classes, and Dropout.

A formula makes an element of a number that is drawn for it from [0, 1), and rises with it, so that
it gives the quantiles too, by which backends are judged.
"""

from statistics import NormalDist
from typing import Any

import numpy as np

from opcheck import dtypes, numbers as xp
from opcheck.engine.axes import check_size, scalar
from opcheck.engine.operators import formula_builder, operator, raise_unspecified
from opcheck.errors import InvalidNode, NotSupported, reject

NAMES = """Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform
RandomUniformLike"""

BERNOULLI, MULTINOMIAL, NORMAL, NORMAL_LIKE, UNIFORM, UNIFORM_LIKE = (
    operator(name, exact=True, random=True, of_shapes=name.endswith("Like"), ignores=("seed",))
    for name in NAMES.split()
    if name != "Dropout"
)


@formula_builder(1, 22)
def _of_shape(draw, *, dtype, shape, seed, **parameters):
    """The formula from `draw(u, **parameters)`, where `u` is drawn from [0, 1)."""
    if min(shape, default=0) < 0:
        raise_unspecified("sizes below 0")
    check_size(shape)
    return draw(xp.drawn(shape, seed), **parameters)


def _named(input, dtype):
    """The type of the output: that of the input, where none is stated."""
    return dtypes.of(np.empty(0, input.dtype)) if dtype is None else dtypes.named(dtype)


@formula_builder(1, 22)
def _of_input(draw, input, *, dtype, seed, **parameters):
    if (named := _named(input, dtype)).kind != "float":
        raise InvalidNode(f"an output of {named}; allowed: floats")
    return draw(xp.drawn(input.shape, seed), **parameters)


def _normal(u, mean, scale):
    if not 0 <= scale < np.inf:
        raise_unspecified(f"a scale of {scale}")
    return mean + scale * _normal_quantiles(u)


def _normal_quantiles(u):
    quantile = NormalDist().inv_cdf
    inner = np.clip(u, 2.0**-54, 1 - 2.0**-53)  # 0 and 1 have none.
    if inner.size and (inner == inner.flat[0]).all():
        return np.full(u.shape, quantile(float(inner.flat[0])))
    return np.reshape([*map(quantile, inner.reshape(-1).tolist())], u.shape)


def _uniform(u, low, high):
    if not -np.inf < low <= high < np.inf:
        raise_unspecified(f"from {low} to {high}")
    return low + u * (high - low)


@formula_builder(15, 22)
def _by_probability(draw, input, *, dtype, seed):
    """The formula from `draw(u, probabilities)`, which says where 1 comes out."""
    probabilities = xp.values_of(input)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise_unspecified("such probabilities")
    return draw(xp.drawn(input.shape, seed), probabilities).astype(_named(input, dtype).numpy)


def _is_one(u, p):
    return u >= 1 - p


@formula_builder(7, 22)
def _by_class(draw, input, *, dtype, sample_size, seed):
    """The formula from `draw(u, logarithms)`, of shapes (batches, samples), (batches, classes)."""
    reject(input.ndim != 2, f"input of rank {input.ndim}; allowed: 2")
    logarithms = xp.values_of(input)
    likely = logarithms.max(axis=1, initial=-np.inf)
    if sample_size < 1 or not np.isfinite(likely).all():
        raise_unspecified("such samples, or such probabilities")
    check_size(shape := (len(logarithms), sample_size))
    return draw(xp.drawn(shape, seed), logarithms)


def _class(u, logarithms):
    return _of_weights(u, np.exp(logarithms - logarithms.max(axis=1, keepdims=True)))


def _of_weights(u, weights):
    ends = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    # So many classes of its batch end before the draw.
    return (ends[:, None, :] <= u[..., None]).sum(axis=-1)


def _contradicting(inputs, outputs):
    """The elements that are dropped though the mask keeps them, or the other way round."""
    [data, *_], [output, *mask] = inputs, outputs
    return ((output == 0) == mask[0]) & (data != 0) if mask else np.zeros(1, np.bool_)


_IDLE = ("consumed_inputs", "seed")
DROPOUT = operator("Dropout", exact=True, related=_contradicting, ignores=_IDLE)


@formula_builder(1, 6)
def _dropout_of_test(drop, data, *, is_test, ratio, outputs=1):
    if outputs > 1:
        raise_unspecified("the mask")
    if not is_test and not 0 <= ratio < 1:
        raise_unspecified(f"a ratio of {ratio}")
    return data if is_test or not ratio else _masked(drop, data, ratio, None)[0]


@DROPOUT.formula(7, 10)
def _dropout_in_inference(data, *, ratio, outputs=1):
    if outputs > 1:
        raise_unspecified("the mask where nothing is dropped")
    return data


@formula_builder(each={12: True, 13: True, 22: False})
def _dropout(drop, or_copied, data, ratio=None, training_mode=None, *, seed):
    share = 0.5 if ratio is None else scalar("ratio", ratio)
    trains = training_mode is not None and scalar("training_mode", training_mode)
    if not 0 <= share < 1:
        # "value in [0, 1)", and without training "ratio is ignored".
        kind = InvalidNode if trains else NotSupported
        raise kind(f"ratio {share}; allowed: at least 0 and below 1")
    if or_copied and trains and ratio is None:
        raise_unspecified("a ratio that is left out")
    if trains and share:
        scale, of_ratio = 1 / (1 - share), data.dtype if ratio is None else ratio.dtype
        is_exact = of_ratio.itemsize >= data.dtype.itemsize or float(of_ratio.type(scale)) == scale
        if not is_exact:
            raise_unspecified("the type that the scale is rounded to")
        return _masked(drop, data, share, seed)
    return data, np.ones(data.shape, np.bool_)


def _masked(drop, data, ratio, seed):
    """The output and the mask from `drop(u, values, ratio)`, which has them in float64."""
    values = xp.values_of(data)
    with np.errstate(over="ignore"):
        output, mask = drop(xp.drawn(data.shape, seed), values, ratio)
        made = output.astype(data.dtype)
    finite = np.isfinite(made.astype(np.float64)).all()
    if not finite or not np.isfinite(values).all():
        raise_unspecified("what is dropped of infinities and NaN")
    few = data.dtype.itemsize == 1 and (made.astype(np.float64) != output).any()
    if few:
        raise_unspecified("how so few bits are rounded")
    return made, mask


def _drop(u, values, ratio):
    return np.where(u < ratio, 0, values / (1 - ratio)), u >= ratio


def _repeated(u, some):
    return np.resize(some, u.shape) if u.size else u


#: What can go wrong with the numbers that are drawn, whatever is made of them.
_SOURCES = {
    "rows_alike": (
        "all rows were drawn alike",
        lambda u: np.broadcast_to(u[..., :1, :] if u.ndim > 1 else u, u.shape),
    ),
    "halves_alike": (
        "one half was drawn like the other",
        lambda u: _repeated(u, u.reshape(-1)[: (u.size + 1) // 2]),
    ),
    "one_draw_for_all": (
        "all elements came of one number drawn",
        lambda u: _repeated(u, u.reshape(-1)[:1]),
    ),
    "each_drawn_twice": (
        "each number that was drawn was used twice",
        lambda u: _repeated(u, np.repeat(u.reshape(-1)[::2], 2)),
    ),
    "three_digits": ("three binary digits were drawn", lambda u: np.floor(8 * u) / 8),
}

#: Mistakes in the use of draws.
_STEPS: dict[Any, Any] = {
    _normal: {
        "scale_is_a_variance": (
            "scale was the variance",
            lambda u, mean, scale: _normal(u, mean, scale**0.5),
        ),
        "mean_scaled": (
            "the mean was scaled too",
            lambda u, mean, scale: _normal(u, mean * scale, scale),
        ),
        "uniform": (
            "the distribution was uniform",
            lambda u, mean, scale: mean + scale * (u - 0.5) * 12**0.5,
        ),
        "cut_off": (
            "no number was farther from the mean than twice the scale",
            lambda u, mean, scale: mean + scale * np.clip(_normal_quantiles(u), -2, 2),
        ),
    },
    _uniform: {
        "high_is_a_width": ("high was added to low", lambda u, low, high: low + u * high),
        "normal": (
            "the distribution was normal",
            lambda u, low, high: (low + high) / 2 + (high - low) / 12**0.5 * _normal_quantiles(u),
        ),
        "whole_numbers": (
            "only whole numbers were drawn",
            lambda u, **of: np.floor(_uniform(u, **of)),
        ),
    },
    _is_one: {
        "zero_with_probability": ("0 had the probability of 1", lambda u, p: u < p),
        "probability_rounded": (
            "1 came of probabilities of one half or more",
            lambda u, p: p + 0 * u >= 0.5,
        ),
        "probability_of_the_first": (
            "all elements had the first one's probability",
            lambda u, p: _is_one(u, _repeated(p, p.reshape(-1)[:1])),
        ),
        "probability_of_the_row": (
            "all of a row had its first probability",
            lambda u, p: _is_one(u, p[..., :1] + 0 * p if p.ndim else p),
        ),
        "fair": ("0 and 1 were equally likely", lambda u, p: _is_one(u, 0.5)),
    },
    _class: {
        "input_is_weights": (
            "the input was no logarithms",
            lambda u, x: _of_weights(u, x - x.min(initial=0)),
        ),
        "most_likely": (
            "always the most likely class was drawn",
            lambda u, x: x.argmax(axis=1)[:, None] + np.zeros(u.shape, np.int64),
        ),
        "equally_likely": ("all classes were equally likely", lambda u, x: _class(u, 0 * x)),
        "first_batch": (
            "all batches had the probabilities of the first",
            lambda u, x: _class(u, np.broadcast_to(x[:1], x.shape)),
        ),
        "counted_from_one": ("classes were counted from 1", lambda u, x: 1 + _class(u, x)),
        "last_class_left_out": (
            "the last class was never drawn",
            lambda u, x: _class(u, x[:, :-1] if x.shape[1] > 1 else x),
        ),
        "binary_logarithms": ("logarithms were to base 2", lambda u, x: _class(u, x * np.log(2))),
    },
    _drop: {
        "not_scaled": ("nothing was scaled", lambda u, x, ratio: (x * (u >= ratio), u >= ratio)),
        "scaled_by_the_ratio": (
            "what is kept was divided by the ratio",
            lambda u, x, ratio: (np.where(u < ratio, 0, x / ratio), u >= ratio),
        ),
        "ratio_is_kept": (
            "the ratio was the part that is kept",
            lambda u, x, ratio: _drop(u, x, 1 - ratio),
        ),
        "fair_dropout": (
            "one half was dropped",
            lambda u, x, ratio: (np.where(u < 0.5, 0, x / (1 - ratio)), u >= 0.5),
        ),
        "nothing_dropped": ("nothing was dropped", lambda u, x, ratio: (x, u >= 0)),
    },
}

for _one, _by, _of in (
    (NORMAL, _of_shape, _normal),
    (NORMAL_LIKE, _of_input, _normal),
    (UNIFORM, _of_shape, _uniform),
    (UNIFORM_LIKE, _of_input, _uniform),
    (BERNOULLI, _by_probability, _is_one),
    (MULTINOMIAL, _by_class, _class),
    (DROPOUT, _dropout_of_test, _drop),
    (DROPOUT, _dropout, _drop),
):
    _one.formula(build=_by)(_of)
    _one.mutant_table(
        {
            name: (
                text,
                lambda u, *more, _of=_of, change=change, **how: _of(change(u), *more, **how),
            )
            for name, (text, change) in _SOURCES.items()
        }
        | _STEPS[_of],
        build=_by,
    )

DROPOUT.mutant_table(
    {
        "mask_inverted": (
            "the mask was true where an element is dropped",
            lambda u, x, ratio: (_drop(u, x, ratio)[0], u < ratio),
        ),
        "mask_drawn_apart": (
            "the mask was drawn apart from the output",
            lambda u, x, ratio: (_drop(u, x, ratio)[0], xp.drawn(u.shape, None) >= ratio),
        ),
        "mask_of_ones": (
            "the mask was all ones in training too",
            lambda u, x, ratio: (_drop(u, x, ratio)[0], u >= 0),
        ),
    },
    build=_dropout,
)

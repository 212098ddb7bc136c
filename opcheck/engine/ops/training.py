"""ai.onnx.preview.training: a step of Adagrad, Adam and Momentum, of each tensor by itself."""

from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import (
    check_one_of,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.errors import reject
from opcheck.numbers.faulty import seen
from opcheck.opset import TRAINING

NAMES = """Adagrad Adam Momentum"""
ADAGRAD, ADAM, MOMENTUM = (operator(name, TRAINING) for name in NAMES.split())


def _in_turn(tensors, count):
    """Every `count`-th one from each of the first: all values come first, then all gradients …"""
    return [tensors[n::count] for n in range(count)]


def _neighbours(tensors, count):
    size = len(tensors) // count
    return [tensors[n * size : (n + 1) * size] for n in range(count)]


@formula_builder(1, options=["order", "back"])
def of_each(step, R, T, *inputs, order=_in_turn, back=_in_turn, **attrs):
    """The formula from `step(r, t, x, g, …, **attrs)`, which returns the new tensors of one."""
    kinds = 4 if "norm_coefficient_post" in attrs else 3  # Adam has averages of two powers
    reject(len(inputs) % kinds, f"{len(inputs)} tensors; allowed: {kinds} each")
    check_one_of("mode", attrs.get("mode", "standard"), "standard", "nesterov")
    if R.ndim or T.ndim:
        raise_unspecified("R and T that are no scalars")
    if len({one.dtype for one in (R, *inputs)}) > 1:
        leave_open("the type of numbers of two types")
    found = []
    for x, *others in order(inputs, len(inputs) // kinds):
        if any(one.shape != x.shape for one in others):
            raise_unspecified("tensors of several shapes")
        zero = attrs["norm_coefficient"] == 0 and not xp.isfinite(x).all()
        if zero:
            leave_open("if infinite values are regularized by a coefficient of 0")
        r, t = (xp.astype(one, x.dtype) for one in (R, T))
        given = {n: v if n == "mode" else xp.astype(np.array(v), x.dtype) for n, v in attrs.items()}
        found.append(step(r, t, x, *others, **given))
    outputs = [*chain.from_iterable(found)]
    return tuple(chain.from_iterable(back(outputs, len(outputs) // len(found))))


def _declare(op, step):
    """Declare the formula and the mutants of the order of tensors."""
    op.formula(build=of_each)(step)
    for name, text, order in (
        ("inputs_by_tensor", "the inputs of each tensor came one after the other", "order"),
        ("outputs_by_tensor", "the outputs of each tensor came one after the other", "back"),
    ):
        op.mutant(text, name=name, build=partial(of_each, **{order: _neighbours}))(step)


def _root(h, epsilon):
    return xp.sqrt(h) + epsilon


#: What can go wrong with the squares of gradients, and their root.
SQUARES: dict[str, tuple[str, dict[str, Any]]] = {
    "epsilon_under_the_root": (
        "epsilon was added under the root",
        {"root": lambda h, epsilon: xp.sqrt(h + epsilon)},
    ),
    "epsilon_as_floor": (
        "epsilon was the least that the root could be",
        {"root": lambda h, epsilon: xp.maximum(xp.sqrt(h), epsilon)},
    ),
    "no_root": ("the square root was left out", {"root": lambda h, epsilon: h + epsilon}),
    "squares_without_regularization": (
        "the squares were of the gradient without regularization",
        {"plain": True},
    ),
}


def adagrad(
    r,
    t,
    x,
    g,
    h,
    *,
    norm_coefficient,
    decay_factor,
    epsilon,
    root=_root,
    old=False,
    plain=False,
    first=0,
):
    regularized = norm_coefficient * x + g
    new = h + (g * g if plain else regularized * regularized)
    rate = r / (1 + (t - first) * decay_factor)
    return x - rate * regularized / root(h if old else new, epsilon), new


_declare(ADAGRAD, adagrad)
ADAGRAD.mutant_table(
    {
        **{name: (text, partial(adagrad, **how)) for name, (text, how) in SQUARES.items()},
        "old_squares": (
            "the step was divided by the root of the old squares",
            partial(adagrad, old=True),
        ),
        "counted_from_one": ("the rate decayed by T - 1", partial(adagrad, first=1)),
    },
    build=of_each,
)


def adam(
    r,
    t,
    x,
    g,
    v,
    h,
    *,
    norm_coefficient,
    norm_coefficient_post,
    alpha,
    beta,
    epsilon,
    root=_root,
    since=1,
    plain=False,
    corrected=lambda r, a, b: r * xp.sqrt(1 - b) / (1 - a),
):
    regularized = norm_coefficient * x + g
    v = alpha * v + (1 - alpha) * regularized
    h = beta * h + (1 - beta) * (g * g if plain else regularized * regularized)
    if seen(t) >= since:
        r = corrected(r, xp.pow(alpha, t), xp.pow(beta, t))
    return (1 - norm_coefficient_post) * (x - r * v / root(h, epsilon)), v, h


def _corrected_root(r, t, *state, beta, **attrs):
    # The root is divided before epsilon is added, as in the paper.
    late = xp.sqrt(1 - xp.pow(beta, t)) if seen(t) > 0 else 1
    return adam(r, t, *state, beta=beta, root=lambda h, e: _root(h, e * late), **attrs)


_declare(ADAM, adam)
ADAM.mutant_table(
    {
        **{name: (text, partial(adam, **how)) for name, (text, how) in SQUARES.items()},
        "never_corrected": (
            "the learning rate was R in later steps too",
            partial(adam, since=np.inf),
        ),
        "corrected_late": (
            "the learning rate was R in the step with T = 1 too",
            partial(adam, since=2),
        ),
        "corrected_without_root": (
            "1 - beta**T was taken without its root",
            partial(adam, corrected=lambda r, a, b: r * (1 - b) / (1 - a)),
        ),
        "first_average_uncorrected": (
            "the learning rate was not divided by 1 - alpha**T",
            partial(adam, corrected=lambda r, a, b: r * xp.sqrt(1 - b)),
        ),
        "second_average_uncorrected": (
            "the learning rate was only divided by 1 - alpha**T",
            partial(adam, corrected=lambda r, a, b: r / (1 - a)),
        ),
        "epsilon_corrected": (
            "epsilon was added to the corrected root, as the paper has it",
            _corrected_root,
        ),
        "regularized_before": (
            "norm_coefficient_post made X smaller before the step",
            lambda r, t, x, *state, norm_coefficient_post, **attrs: adam(
                r, t, (1 - norm_coefficient_post) * x, *state, norm_coefficient_post=0, **attrs
            ),
        ),
    },
    build=of_each,
)


def momentum(
    r,
    t,
    x,
    g,
    v,
    *,
    norm_coefficient,
    alpha,
    beta,
    mode,
    since=1,
    ahead=lambda g, alpha, v, new: g + alpha * new,
):
    """`ahead` makes Nesterov's direction."""
    g = norm_coefficient * x + g
    new = alpha * v + (beta if seen(t) >= since else 1) * g
    return x - r * (new if mode == "standard" else ahead(g, alpha, v, new)), new


_declare(MOMENTUM, momentum)
MOMENTUM.mutant_table(
    {
        **{
            f"{old}_is_{new}": (
                f"{old} was taken for {new}",
                lambda *tensors, mode, new=new, **attrs: momentum(*tensors, mode=new, **attrs),
            )
            for old, new in (("nesterov", "standard"), ("standard", "nesterov"))
        },
        "beta_in_the_first_step": (
            "beta was as stated for T = 0",
            partial(momentum, since=-np.inf),
        ),
        "beta_late": ("beta was 1 for T = 1 too", partial(momentum, since=2)),
        "dampened": (
            "gradients counted by 1 - beta",
            lambda *tensors, beta, **attrs: momentum(*tensors, beta=1 - beta, **attrs),
        ),
        "old_direction": (
            "Nesterov's direction was of the old momentum",
            partial(momentum, ahead=lambda g, alpha, v, new: g + alpha * v),
        ),
        "direction_without_gradient": (
            "Nesterov's direction was the new momentum by alpha",
            partial(momentum, ahead=lambda g, alpha, v, new: alpha * new),
        ),
    },
    build=of_each,
)

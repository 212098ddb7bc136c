"""Adagrad, Adam and Momentum of ai.onnx.preview.training: one step of each tensor by itself.

A step takes the learning rate R, the update count T, a tensor X, its gradient G, and what earlier
steps have accumulated of it. It returns the new X and the new accumulations. The formulas have the
symbols of the texts' pseudo code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from typing import Any, TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.operators import (
    Operator,
    check_one_of,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.rulings import ZERO_TIMES_NO_NUMBER
from opcheck.errors import reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import seen
from opcheck.opset import TRAINING

NAMES = """Adagrad Adam Momentum"""

#: Makes the new tensors of R, T, X, G and the accumulations of X, and of the attributes.
Step: TypeAlias = Callable[..., tuple[Array, ...]]
#: A denominator of a root and epsilon.
Root: TypeAlias = Callable[[Array, Array], Array]
#: From tensors and a count, groups of them.
Grouping: TypeAlias = Callable[[Sequence[Array], int], Sequence[Sequence[Array]]]


# ── all tensors ───────────────────────────────────────────────────────────────────────────────


def by_kind(tensors: Sequence[Array], count: int) -> Sequence[Sequence[Array]]:
    """Return `count` groups of tensors that come in turns: X_1, X_2, G_1, G_2, …"""
    return [tensors[n::count] for n in range(count)]


def by_tensor(tensors: Sequence[Array], count: int) -> Sequence[Sequence[Array]]:
    """Mutant: the groups come one after the other: X_1, G_1, …, X_2, G_2, …"""
    size = len(tensors) // count
    return [tensors[n * size : (n + 1) * size] for n in range(count)]


@dataclass(frozen=True)
class Method:
    """An optimization method; the last two fields are what mutants do otherwise.

    Attributes:
        step: One step of one tensor.
        tensors: The number of tensors that a step takes for each X, that included.
        of_inputs: The tensors of each X, from all inputs behind T and the number of Xs.
        of_outputs: All outputs in their order, from those of one X after the other, and the number
            of outputs of each.
    """

    step: Step
    tensors: int
    of_inputs: Grouping = by_kind
    of_outputs: Grouping = by_kind


def typed_attributes(attributes: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Return the attributes in a type of tensors; a mode stays a text."""
    return {
        name: value if name == "mode" else xp.astype(np.array(value), dtype)
        for name, value in attributes.items()
    }


def check_operands(method: Method, R: Array, T: Array, inputs: Sequence[Array]) -> None:
    """Raise InvalidNode for a number of tensors that does not fit.

    Raises NotSupported for R and T that are no scalars; several types of numbers are left open.
    """
    count = len(inputs)
    reject(count % method.tensors, f"{count} tensors; allowed: {method.tensors} each")
    if R.ndim or T.ndim:
        raise_unspecified("R and T that are no scalars")
    if len({tensor.dtype for tensor in (R, *inputs)}) > 1:
        leave_open("the type of numbers of two types")


@formula_builder(1)
def of_each(
    method: Method, R: Array, T: Array, *inputs: Array, **attributes: Any
) -> tuple[Array, ...]:
    """Return the outputs of all tensors: the new X_1, X_2, …, then their new accumulations.

    Raises what `check_operands` raises, InvalidNode for another mode, and NotSupported where the
    tensors of one X have several shapes.
    """
    check_one_of("mode", attributes.get("mode", "standard"), "standard", "nesterov")
    check_operands(method, R, T, inputs)
    found: list[tuple[Array, ...]] = []
    for X, *others in method.of_inputs(inputs, len(inputs) // method.tensors):
        if any(tensor.shape != X.shape for tensor in others):
            raise_unspecified("tensors of several shapes")
        scalars = (xp.astype(scalar, X.dtype) for scalar in (R, T))
        found.append(method.step(*scalars, X, *others, **typed_attributes(attributes, X.dtype)))
    outputs = list(chain.from_iterable(found))
    return tuple(chain.from_iterable(method.of_outputs(outputs, len(outputs) // len(found))))


def regularized(norm_coefficient: Array, X: Array, G: Array) -> Array:
    """Return G_regularized = norm_coefficient * X + G; 0 times infinity: ZERO_TIMES_NO_NUMBER."""
    has_no_number = seen(norm_coefficient) == 0 and not xp.isfinite(X).all()
    if has_no_number and ZERO_TIMES_NO_NUMBER.reading() == "left_out":
        return G
    return norm_coefficient * X + G


def root_and_epsilon(H: Array, epsilon: Array) -> Array:
    """Return Sqrt(H) + epsilon."""
    return xp.sqrt(H) + epsilon


# What can go wrong with squared gradients, and with their root.


def root_of_sum(H: Array, epsilon: Array) -> Array:
    """Mutant: Sqrt(H + epsilon)."""
    return xp.sqrt(H + epsilon)


def root_of_at_least_epsilon(H: Array, epsilon: Array) -> Array:
    """Mutant: Sqrt(H), but no less than epsilon; a NaN stays one."""
    return xp.maximum(xp.sqrt(H), epsilon)


def no_root(H: Array, epsilon: Array) -> Array:
    """Mutant: H + epsilon."""
    return H + epsilon


#: A text, and the keywords of a step.
MUTANTS_OF_SQUARES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "epsilon_under_the_root": ("epsilon was added under the root", {"root": root_of_sum}),
    "epsilon_as_floor": (
        "epsilon was the least that the root could be",
        {"root": root_of_at_least_epsilon},
    ),
    "no_root": ("the square root was left out", {"root": no_root}),
    "squares_without_regularization": (
        "the squares were of the gradient without regularization",
        {"squares_are_plain": True},
    ),
}


def declare(op: Operator, method: Method, mutants: Mapping[str, tuple[str, Step]]) -> None:
    """Declare the formula of an operator, and mutants: of its step, and of the order of tensors."""
    op.formula(build=of_each)(method)
    of_order = {
        "inputs_by_tensor": (
            "the inputs of each tensor came one after the other",
            replace(method, of_inputs=by_tensor),
        ),
        "outputs_by_tensor": (
            "the outputs of each tensor came one after the other",
            replace(method, of_outputs=by_tensor),
        ),
    }
    of_step = {name: (text, replace(method, step=step)) for name, (text, step) in mutants.items()}
    op.mutant_table({**of_order, **of_step}, build=of_each)


def mutants_of_squares(step: Step) -> dict[str, tuple[str, Step]]:
    """Return the mutants of a step that divides by a root of squared gradients."""
    return {
        name: (text, partial(step, **options))
        for name, (text, options) in MUTANTS_OF_SQUARES.items()
    }


# ── Adagrad ───────────────────────────────────────────────────────────────────────────────────


def adagrad(
    R: Array,
    T: Array,
    X: Array,
    G: Array,
    H: Array,
    *,
    norm_coefficient: Array,
    decay_factor: Array,
    epsilon: Array,
    root: Root = root_and_epsilon,
    divides_by_old_squares: bool = False,
    squares_are_plain: bool = False,
    first_count: int = 0,
) -> tuple[Array, Array]:
    """Return X_new and H_new; the keywords behind `epsilon` are what mutants do otherwise."""
    G_regularized = regularized(norm_coefficient, X, G)
    H_new = H + (G * G if squares_are_plain else G_regularized * G_regularized)
    r = R / (1 + (T - first_count) * decay_factor)
    H_adaptive = root(H if divides_by_old_squares else H_new, epsilon)
    X_new = X - r * G_regularized / H_adaptive
    return X_new, H_new


declare(
    operator("Adagrad", TRAINING),
    Method(adagrad, tensors=3),
    {
        **mutants_of_squares(adagrad),
        "old_squares": (
            "the step was divided by the root of the old squares",
            partial(adagrad, divides_by_old_squares=True),
        ),
        "counted_from_one": ("the rate decayed by T - 1", partial(adagrad, first_count=1)),
    },
)


# ── Adam ──────────────────────────────────────────────────────────────────────────────────────


def corrected(R: Array, alpha_T: Array, beta_T: Array) -> Array:
    """Return R * Sqrt(1 - beta**T) / (1 - alpha**T)."""
    return R * xp.sqrt(1 - beta_T) / (1 - alpha_T)


def adam(
    R: Array,
    T: Array,
    X: Array,
    G: Array,
    V: Array,
    H: Array,
    *,
    norm_coefficient: Array,
    norm_coefficient_post: Array,
    alpha: Array,
    beta: Array,
    epsilon: Array,
    root: Root = root_and_epsilon,
    corrected_since: float = 1,
    squares_are_plain: bool = False,
    correction: Callable[[Array, Array, Array], Array] = corrected,
) -> tuple[Array, Array, Array]:
    """Return X_final, V_new and H_new; the keywords behind `epsilon` are for mutants."""
    G_regularized = regularized(norm_coefficient, X, G)
    V_new = alpha * V + (1 - alpha) * G_regularized
    squares = G * G if squares_are_plain else G_regularized * G_regularized
    H_new = beta * H + (1 - beta) * squares
    R_adjusted = R
    if seen(T) >= corrected_since:
        R_adjusted = correction(R, xp.pow(alpha, T), xp.pow(beta, T))
    X_new = X - R_adjusted * V_new / root(H_new, epsilon)
    return (1 - norm_coefficient_post) * X_new, V_new, H_new


def corrected_without_root(R: Array, alpha_T: Array, beta_T: Array) -> Array:
    """Mutant: R * (1 - beta**T) / (1 - alpha**T)."""
    return R * (1 - beta_T) / (1 - alpha_T)


def second_average_corrected(R: Array, alpha_T: Array, beta_T: Array) -> Array:
    """Mutant: R * Sqrt(1 - beta**T)."""
    return R * xp.sqrt(1 - beta_T)


def first_average_corrected(R: Array, alpha_T: Array, beta_T: Array) -> Array:
    """Mutant: R / (1 - alpha**T)."""
    return R / (1 - alpha_T)


def adam_of_the_paper(
    R: Array, T: Array, *tensors: Array, beta: Array, **attributes: Array
) -> tuple[Array, ...]:
    """Mutant: the root is corrected before epsilon is added, as in the paper."""
    late = xp.sqrt(1 - xp.pow(beta, T)) if seen(T) > 0 else 1

    def root(H: Array, epsilon: Array) -> Array:
        return root_and_epsilon(H, epsilon * late)

    return adam(R, T, *tensors, beta=beta, root=root, **attributes)


def regularized_before(
    R: Array,
    T: Array,
    X: Array,
    *others: Array,
    norm_coefficient_post: Array,
    **attributes: Array,
) -> tuple[Array, ...]:
    """Mutant: norm_coefficient_post makes X smaller before the step."""
    smaller = (1 - norm_coefficient_post) * X
    return adam(R, T, smaller, *others, norm_coefficient_post=0, **attributes)


declare(
    operator("Adam", TRAINING),
    Method(adam, tensors=4),
    {
        **mutants_of_squares(adam),
        "never_corrected": (
            "the learning rate was R in later steps too",
            partial(adam, corrected_since=inf),
        ),
        "corrected_late": (
            "the learning rate was R in the step with T = 1 too",
            partial(adam, corrected_since=2),
        ),
        "corrected_without_root": (
            "1 - beta**T was taken without its root",
            partial(adam, correction=corrected_without_root),
        ),
        "first_average_uncorrected": (
            "the learning rate was not divided by 1 - alpha**T",
            partial(adam, correction=second_average_corrected),
        ),
        "second_average_uncorrected": (
            "the learning rate was only divided by 1 - alpha**T",
            partial(adam, correction=first_average_corrected),
        ),
        "epsilon_corrected": (
            "epsilon was added to the corrected root, as the paper has it",
            adam_of_the_paper,
        ),
        "regularized_before": (
            "norm_coefficient_post made X smaller before the step",
            regularized_before,
        ),
    },
)


# ── Momentum ──────────────────────────────────────────────────────────────────────────────────

#: Makes Nesterov's direction of G_regularized, alpha, V and V_new.
Direction: TypeAlias = Callable[[Array, Array, Array, Array], Array]


def nesterov_direction(G_regularized: Array, alpha: Array, V: Array, V_new: Array) -> Array:
    """Return G_regularized + alpha * V_new."""
    return G_regularized + alpha * V_new


def momentum(
    R: Array,
    T: Array,
    X: Array,
    G: Array,
    V: Array,
    *,
    norm_coefficient: Array,
    alpha: Array,
    beta: Array,
    mode: str,
    beta_since: float = 1,
    direction: Direction = nesterov_direction,
) -> tuple[Array, Array]:
    """Return X_new and V_new; the keywords behind `mode` are what mutants do otherwise."""
    G_regularized = regularized(norm_coefficient, X, G)
    beta_adjusted = beta if seen(T) >= beta_since else 1
    V_new = alpha * V + beta_adjusted * G_regularized
    if mode == "standard":
        return X - R * V_new, V_new
    return X - R * direction(G_regularized, alpha, V, V_new), V_new


def in_mode(always: str, *tensors: Array, mode: str, **attributes: Array) -> tuple[Array, ...]:
    """Mutant: the mode is always the same."""
    return momentum(*tensors, mode=always, **attributes)


def dampened(*tensors: Array, beta: Array, mode: str, **attributes: Array) -> tuple[Array, ...]:
    """Mutant: beta is the part of a gradient that does not count."""
    return momentum(*tensors, beta=1 - beta, mode=mode, **attributes)


def old_direction(G_regularized: Array, alpha: Array, V: Array, V_new: Array) -> Array:
    """Mutant: G_regularized + alpha * V."""
    return G_regularized + alpha * V


def direction_without_gradient(G_regularized: Array, alpha: Array, V: Array, V_new: Array) -> Array:
    """Mutant: alpha * V_new."""
    return alpha * V_new


declare(
    operator("Momentum", TRAINING),
    Method(momentum, tensors=3),
    {
        "nesterov_is_standard": (
            "nesterov was taken for standard",
            partial(in_mode, "standard"),
        ),
        "standard_is_nesterov": (
            "standard was taken for nesterov",
            partial(in_mode, "nesterov"),
        ),
        "beta_in_the_first_step": (
            "beta was as stated for T = 0",
            partial(momentum, beta_since=-inf),
        ),
        "beta_late": ("beta was 1 for T = 1 too", partial(momentum, beta_since=2)),
        "dampened": ("gradients counted by 1 - beta", dampened),
        "old_direction": (
            "Nesterov's direction was of the old momentum",
            partial(momentum, direction=old_direction),
        ),
        "direction_without_gradient": (
            "Nesterov's direction was the new momentum by alpha",
            partial(momentum, direction=direction_without_gradient),
        ),
    },
)

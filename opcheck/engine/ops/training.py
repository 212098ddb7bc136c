"""Adagrad, Adam and Momentum of ai.onnx.preview.training: one step of each tensor by itself.

A step takes the learning rate R, the update count T, a tensor X, its gradient G, and what earlier
steps have accumulated of it. It returns the new X and the new accumulations. The formulas have the
symbols of the texts' pseudo code.

The parts of the file: what the three share; each operator, with its mutants.
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
    NamedMutants,
    Operator,
    check_one_of,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.rulings import ZERO_TIMES_NO_NUMBER
from opcheck.errors import reject
from opcheck.numbers import Operand, Tensor
from opcheck.numbers.faulty import seen
from opcheck.opset import TRAINING

NAMES = """Adagrad Adam Momentum"""

#: Makes the new tensors of R, T, X, G, the accumulations of X, and the operator's attributes.
Step: TypeAlias = Callable[..., tuple[Tensor, ...]]
#: Makes a denominator of squared gradients and epsilon.
Root: TypeAlias = Callable[[Tensor, Tensor], Tensor]
#: From tensors and a count, groups of them.
Grouping: TypeAlias = Callable[[Sequence[Tensor], int], Sequence[Sequence[Tensor]]]


# ── all tensors ───────────────────────────────────────────────────────────────────────────────


def by_kind(tensors: Sequence[Tensor], count: int) -> Sequence[Sequence[Tensor]]:
    """Return the groups [X_1, G_1, …], [X_2, G_2, …] of tensors in the order X_1, X_2, G_1, G_2, …

    `count` is the number of groups; the n-th has every `count`-th tensor from the n-th on.
    """
    return [tensors[n::count] for n in range(count)]


def by_tensor(tensors: Sequence[Tensor], count: int) -> Sequence[Sequence[Tensor]]:
    """Mutant: the groups come one after the other: X_1, G_1, …, X_2, G_2, …"""
    size = len(tensors) // count
    return [tensors[n * size : (n + 1) * size] for n in range(count)]


@dataclass(frozen=True)
class Method:
    """An optimization method; the last two fields are what mutants do otherwise.

    Attributes:
        step: One step of one tensor.
        attributes: Holds the operator's attributes for a step.
        tensors: The number of tensors that a step takes for each X, that included.
        of_inputs: The tensors of each X, from all inputs behind T and the number of Xs.
        of_outputs: All outputs in their order, from those of one X after the other, and the number
            of outputs of each.
    """

    step: Step
    attributes: Callable[..., Any]
    tensors: int
    of_inputs: Grouping = by_kind
    of_outputs: Grouping = by_kind


def typed_attributes(attributes: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Return the attributes in a type of tensors, as arrays of rank 0; a mode stays a text."""
    return {
        name: value if name == "mode" else xp.astype(np.array(value), dtype)
        for name, value in attributes.items()
    }


def check_operands(method: Method, R: Tensor, T: Tensor, inputs: Sequence[Tensor]) -> None:
    """Raise InvalidNode for a number of tensors that does not fit.

    `inputs` are those behind T, `method.tensors` for each X. Raises NotSupported for R and T that
    are no scalars; for a judge, also if R and the tensors are of several types.
    """
    count = len(inputs)
    reject(count % method.tensors, f"{count} tensors; allowed: {method.tensors} each")
    if R.ndim or T.ndim:
        raise_unspecified("R and T that are no scalars")
    if len({tensor.dtype for tensor in (R, *inputs)}) > 1:
        leave_open("the type of numbers of two types")


@formulas_of_versions(1)
def of_each(
    method: Method, R: Tensor, T: Tensor, *inputs: Tensor, **attributes: Any
) -> tuple[Tensor, ...]:
    """Return the outputs of all tensors: the new X_1, X_2, …, then their new accumulations.

    R and T are scalars, and each X comes with its gradient and accumulations, in one shape. Outputs
    have the shape and type of their X. With a norm_coefficient of 0 an infinity or NaN in X makes
    NaN, or is left out: ZERO_TIMES_NO_NUMBER. method: the steps, which mutants change.

    Raises InvalidNode for a number of inputs that does not fit, and a mode other than standard and
    nesterov. Raises NotSupported for R and T that are no scalars, and where the tensors of one X
    have several shapes; for a judge, also for several types of numbers.
    """
    check_one_of("mode", attributes.get("mode", "standard"), "standard", "nesterov")
    check_operands(method, R, T, inputs)
    results: list[tuple[Tensor, ...]] = []
    for X, *others in method.of_inputs(inputs, len(inputs) // method.tensors):
        if any(tensor.shape != X.shape for tensor in others):
            raise_unspecified("tensors of several shapes")
        typed_R = xp.astype(R, X.dtype)
        typed_T = xp.astype(T, X.dtype)
        typed = method.attributes(**typed_attributes(attributes, X.dtype))
        results.append(method.step(typed_R, typed_T, X, *others, typed))
    outputs = list(chain.from_iterable(results))
    return tuple(chain.from_iterable(method.of_outputs(outputs, len(outputs) // len(results))))


def regularized(norm_coefficient: Tensor, X: Tensor, G: Tensor) -> Tensor:
    """Return G_regularized = norm_coefficient * X + G.

    If the coefficient is 0 and X has NaN or infinity, that is NaN there, or G:
    ZERO_TIMES_NO_NUMBER.
    """
    has_no_number = seen(norm_coefficient) == 0 and not xp.isfinite(X).all()
    if has_no_number and ZERO_TIMES_NO_NUMBER.reading() == "left_out":
        return G
    return norm_coefficient * X + G


def root_and_epsilon(H: Tensor, epsilon: Tensor) -> Tensor:
    """Return Sqrt(H) + epsilon."""
    return xp.sqrt(H) + epsilon


# What can go wrong with squared gradients, and with their root.


def root_of_sum(H: Tensor, epsilon: Tensor) -> Tensor:
    """Mutant of `root_and_epsilon`: Sqrt(H + epsilon)."""
    return xp.sqrt(H + epsilon)


def root_of_at_least_epsilon(H: Tensor, epsilon: Tensor) -> Tensor:
    """Mutant of `root_and_epsilon`: Sqrt(H), but no less than epsilon; a NaN stays one."""
    return xp.maximum(xp.sqrt(H), epsilon)


def no_root(H: Tensor, epsilon: Tensor) -> Tensor:
    """Mutant of `root_and_epsilon`: H + epsilon."""
    return H + epsilon


@dataclass(frozen=True)
class Squares:
    """How squared gradients are made, and a denominator of them.

    Attributes:
        root: Makes the denominator.
        are_plain: Mutant: the squares are those of the gradient without regularization.
    """

    root: Root = root_and_epsilon
    are_plain: bool = False

    def of(self, G: Tensor, G_regularized: Tensor) -> Tensor:
        """Return G_regularized * G_regularized."""
        return G * G if self.are_plain else G_regularized * G_regularized


#: A text, and the squares of Adagrad or Adam.
MUTANTS_OF_SQUARES: NamedMutants[Squares] = {
    "epsilon_under_the_root": ("epsilon was added under the root", Squares(root_of_sum)),
    "epsilon_as_floor": (
        "epsilon was the least that the root could be",
        Squares(root_of_at_least_epsilon),
    ),
    "no_root": ("the square root was left out", Squares(no_root)),
    "squares_without_regularization": (
        "the squares were of the gradient without regularization",
        Squares(are_plain=True),
    ),
}


def declare(op: Operator, method: Method, mutants: NamedMutants[Step]) -> None:
    """Declare the formula of an operator, and mutants: of its step, and of the order of tensors.

    `mutants` has a text and a wrong step for each name. Raises WrongOperator for a formula that
    contradicts the operator's schema.
    """
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


# ── Adagrad ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class AdagradAttributes:
    """The attributes of Adagrad, scalars in the type of X."""

    norm_coefficient: Tensor
    decay_factor: Tensor
    epsilon: Tensor


@dataclass(frozen=True)
class Adagrad:
    """One step of Adagrad; the fields are what mutants do otherwise.

    Attributes:
        squares: The squared gradients, and their root.
        divides_by_old_squares: H_adaptive is the root of H.
        first_count: The rate decays by T less this.
    """

    squares: Squares = Squares()
    divides_by_old_squares: bool = False
    first_count: int = 0

    def __call__(
        self, R: Tensor, T: Tensor, X: Tensor, G: Tensor, H: Tensor, attributes: AdagradAttributes
    ) -> tuple[Tensor, Tensor]:
        """Return X_new and H_new, in the shape of X.

        R and T are scalars; H is the accumulated squared gradient. The rate is R / (1 + T *
        decay_factor). With a norm_coefficient of 0 an infinity or NaN in X makes NaN, or is left
        out: ZERO_TIMES_NO_NUMBER. Where G_regularized, H_new and epsilon are 0, X_new is NaN.
        """
        G_regularized = regularized(attributes.norm_coefficient, X, G)
        H_new = H + self.squares.of(G, G_regularized)
        r = R / (1 + (T - self.first_count) * attributes.decay_factor)
        divisor = H if self.divides_by_old_squares else H_new
        H_adaptive = self.squares.root(divisor, attributes.epsilon)
        X_new = X - r * G_regularized / H_adaptive
        return X_new, H_new


declare(
    operator("Adagrad", TRAINING),
    Method(Adagrad(), AdagradAttributes, tensors=3),
    {
        **{
            name: (text, Adagrad(squares=squares))
            for name, (text, squares) in MUTANTS_OF_SQUARES.items()
        },
        "old_squares": (
            "the step was divided by the root of the old squares",
            Adagrad(divides_by_old_squares=True),
        ),
        "counted_from_one": ("the rate decayed by T - 1", Adagrad(first_count=1)),
    },
)


# ── Adam ──────────────────────────────────────────────────────────────────────────────────────

#: Makes R_adjusted of R, alpha**T and beta**T.
Correction: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class AdamAttributes:
    """The attributes of Adam, scalars in the type of X."""

    norm_coefficient: Tensor
    norm_coefficient_post: Tensor
    alpha: Tensor
    beta: Tensor
    epsilon: Tensor


def corrected(R: Tensor, alpha_T: Tensor, beta_T: Tensor) -> Tensor:
    """Return R * Sqrt(1 - beta**T) / (1 - alpha**T)."""
    return R * xp.sqrt(1 - beta_T) / (1 - alpha_T)


@dataclass(frozen=True)
class Adam:
    """One step of Adam; the fields are what mutants do otherwise.

    Attributes:
        squares: The squared gradients, and their root.
        correction: Makes R_adjusted.
        corrected_since: The T from which on R is adjusted.
    """

    squares: Squares = Squares()
    correction: Correction = corrected
    corrected_since: float = 1

    def __call__(
        self,
        R: Tensor,
        T: Tensor,
        X: Tensor,
        G: Tensor,
        V: Tensor,
        H: Tensor,
        attributes: AdamAttributes,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return X_final, V_new and H_new, in the shape of X.

        R and T are scalars; V and H are the averages of the gradient and its square. R is adjusted
        from T = 1 on. With a norm_coefficient of 0 an infinity or NaN in X makes NaN, or is left
        out: ZERO_TIMES_NO_NUMBER. Where V_new, H_new and epsilon are 0, X_final is NaN.
        """
        alpha = attributes.alpha
        beta = attributes.beta
        G_regularized = regularized(attributes.norm_coefficient, X, G)
        V_new = alpha * V + (1 - alpha) * G_regularized
        H_new = beta * H + (1 - beta) * self.squares.of(G, G_regularized)
        H_sqrt = self.squares.root(H_new, attributes.epsilon)
        R_adjusted = R
        if seen(T) >= self.corrected_since:
            R_adjusted = self.correction(R, xp.pow(alpha, T), xp.pow(beta, T))
        X_new = X - R_adjusted * V_new / H_sqrt
        X_final = (1 - attributes.norm_coefficient_post) * X_new
        return X_final, V_new, H_new


ADAM = Adam()


def corrected_without_root(R: Tensor, alpha_T: Tensor, beta_T: Tensor) -> Tensor:
    """Mutant of `corrected`: R * (1 - beta**T) / (1 - alpha**T)."""
    return R * (1 - beta_T) / (1 - alpha_T)


def second_average_corrected(R: Tensor, alpha_T: Tensor, beta_T: Tensor) -> Tensor:
    """Mutant of `corrected`: R * Sqrt(1 - beta**T)."""
    return R * xp.sqrt(1 - beta_T)


def first_average_corrected(R: Tensor, alpha_T: Tensor, beta_T: Tensor) -> Tensor:
    """Mutant of `corrected`: R / (1 - alpha**T)."""
    return R / (1 - alpha_T)


def adam_of_the_paper(
    R: Tensor,
    T: Tensor,
    X: Tensor,
    G: Tensor,
    V: Tensor,
    H: Tensor,
    attributes: AdamAttributes,
) -> tuple[Tensor, ...]:
    """Mutant: the root is corrected before epsilon is added, as in the paper.

    With c = Sqrt(1 - beta**T), by which ADAM multiplies the rate, Sqrt(H) / c + epsilon is
    (Sqrt(H) + epsilon * c) / c: so epsilon is multiplied by c. T of 0 or less corrects nothing.
    """
    correction_of_root: Operand = 1
    if seen(T) > 0:
        correction_of_root = xp.sqrt(1 - xp.pow(attributes.beta, T))
    of_the_paper = replace(attributes, epsilon=attributes.epsilon * correction_of_root)
    return ADAM(R, T, X, G, V, H, of_the_paper)


def regularized_before(
    R: Tensor,
    T: Tensor,
    X: Tensor,
    G: Tensor,
    V: Tensor,
    H: Tensor,
    attributes: AdamAttributes,
) -> tuple[Tensor, ...]:
    """Mutant: X is multiplied by 1 - norm_coefficient_post before the step, not after it."""
    post = attributes.norm_coefficient_post
    without_post = replace(attributes, norm_coefficient_post=xp.zeros_like(post))
    return ADAM(R, T, (1 - post) * X, G, V, H, without_post)


declare(
    operator("Adam", TRAINING),
    Method(ADAM, AdamAttributes, tensors=4),
    {
        **{
            name: (text, Adam(squares=squares))
            for name, (text, squares) in MUTANTS_OF_SQUARES.items()
        },
        "never_corrected": (
            "the learning rate was R in later steps too",
            Adam(corrected_since=inf),
        ),
        "corrected_late": (
            "the learning rate was R in the step with T = 1 too",
            Adam(corrected_since=2),
        ),
        "corrected_without_root": (
            "1 - beta**T was taken without its root",
            Adam(correction=corrected_without_root),
        ),
        "first_average_uncorrected": (
            "the learning rate was not divided by 1 - alpha**T",
            Adam(correction=second_average_corrected),
        ),
        "second_average_uncorrected": (
            "the learning rate was only divided by 1 - alpha**T",
            Adam(correction=first_average_corrected),
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
Direction: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class MomentumAttributes:
    """The attributes of Momentum, scalars in the type of X; mode is standard or nesterov."""

    norm_coefficient: Tensor
    alpha: Tensor
    beta: Tensor
    mode: str


def nesterov_direction(G_regularized: Tensor, alpha: Tensor, V: Tensor, V_new: Tensor) -> Tensor:
    """Return G_regularized + alpha * V_new."""
    return G_regularized + alpha * V_new


@dataclass(frozen=True)
class Momentum:
    """One step of Momentum; the fields are what mutants do otherwise.

    Attributes:
        direction: Makes Nesterov's direction.
        beta_since: The T from which on beta_adjusted is beta, and 1 before.
    """

    direction: Direction = nesterov_direction
    beta_since: float = 1

    def __call__(
        self,
        R: Tensor,
        T: Tensor,
        X: Tensor,
        G: Tensor,
        V: Tensor,
        attributes: MomentumAttributes,
    ) -> tuple[Tensor, Tensor]:
        """Return X_new and V_new, in the shape of X.

        R and T are scalars; V is the momentum. The gradient counts by beta, but by 1 for T below 1.
        The step is V_new in the mode standard, else Nesterov's direction. With a norm_coefficient
        of 0 an infinity or NaN in X makes NaN, or is left out: ZERO_TIMES_NO_NUMBER.
        """
        alpha = attributes.alpha
        G_regularized = regularized(attributes.norm_coefficient, X, G)
        beta_adjusted: Operand = attributes.beta if seen(T) >= self.beta_since else 1
        V_new = alpha * V + beta_adjusted * G_regularized
        if attributes.mode == "standard":
            return X - R * V_new, V_new
        return X - R * self.direction(G_regularized, alpha, V, V_new), V_new


MOMENTUM = Momentum()


def in_mode(
    always: str,
    R: Tensor,
    T: Tensor,
    X: Tensor,
    G: Tensor,
    V: Tensor,
    attributes: MomentumAttributes,
) -> tuple[Tensor, ...]:
    """Mutant: the mode is always the same."""
    return MOMENTUM(R, T, X, G, V, replace(attributes, mode=always))


def dampened(
    R: Tensor, T: Tensor, X: Tensor, G: Tensor, V: Tensor, attributes: MomentumAttributes
) -> tuple[Tensor, ...]:
    """Mutant: the gradient counts by 1 - beta, as by the dampening of other libraries."""
    return MOMENTUM(R, T, X, G, V, replace(attributes, beta=1 - attributes.beta))


def old_direction(G_regularized: Tensor, alpha: Tensor, V: Tensor, V_new: Tensor) -> Tensor:
    """Mutant of `nesterov_direction`: G_regularized + alpha * V."""
    return G_regularized + alpha * V


def direction_without_gradient(
    G_regularized: Tensor, alpha: Tensor, V: Tensor, V_new: Tensor
) -> Tensor:
    """Mutant of `nesterov_direction`: alpha * V_new."""
    return alpha * V_new


declare(
    operator("Momentum", TRAINING),
    Method(MOMENTUM, MomentumAttributes, tensors=3),
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
            Momentum(beta_since=-inf),
        ),
        "beta_late": ("beta was 1 for T = 1 too", Momentum(beta_since=2)),
        "dampened": ("gradients counted by 1 - beta", dampened),
        "old_direction": (
            "Nesterov's direction was of the old momentum",
            Momentum(direction=old_direction),
        ),
        "direction_without_gradient": (
            "Nesterov's direction was the new momentum by alpha",
            Momentum(direction=direction_without_gradient),
        ),
    },
)

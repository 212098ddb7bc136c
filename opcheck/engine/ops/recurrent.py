"""LSTM, GRU and RNN, all versions: a layer's states, each made of the one before.

The texts write a gate as f(Xt*(Wi^T) + Ht-1*(Ri^T) + Wbi + Rbi). Here it is one sum of products:
the row [X_t, H_{t-1}, 1, 1] times the columns of [W, R, Wb, Rb] that belong to the gate. A sum of
products has one error bound, whatever the order in which an implementation adds its terms up.

The parts of the file: the activations; one step of each operator, under the text's symbols; a
layer, which is what the three have in common; the operators; their mutants.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck import numbers as xp, opset
from opcheck.engine.operators import (
    Formula,
    NamedMutants,
    Operator,
    check_one_of,
    check_shape,
    formulas_of_versions,
    keywords,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops import activations as activation_operators, functions, unary
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag, maximum, minimum
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Tensor
from opcheck.numbers.faulty import bare

NAMES = """GRU LSTM RNN"""

#: A function of a tensor's elements; it may have the keywords alpha and beta.
Function: TypeAlias = Callable[..., Tensor]
#: Times of elements: [seq_length, batch_size, 1].
Times: TypeAlias = NDArray[np.intp]

matmul = xp.primitive(xp.plain.matmul)

PLACE_OF_A_SCALE = Ruling(
    "place-of-a-scale",
    "The text does not state whether a function without a scale has a place in its list.",
    ("by_use", "by_place"),
)
ACTIVATIONS_TOO_MANY = Ruling(
    "activations-too-many",
    "The text does not define an activation for a direction that the node does not have.",
    ("first", "refused"),
)
COUPLED_GATES = Ruling(
    "coupled-gates",
    "The text does not state which of two coupled gates is 1 less the other.",
    ("forget_is_the_rest", "input_is_the_rest"),
)
NO_STEPS = Ruling(
    "last-of-no-steps",
    "The text does not define the last output of a sequence without steps.",
    ("initial", "zero", "refused"),
)
TRANSPOSED_WEIGHTS = Ruling(
    "transposed-recurrent-weights",
    "The first versions do not transpose recurrent weights, and later ones do.",
    ("transposed", "as_written"),
)
LEFT_OUT_PEEPHOLES = Ruling(
    "left-out-peepholes",
    "Peepholes that are left out are no term, or a product with 0, of which infinity makes NaN.",
    ("without_peepholes", "peepholes_of_0"),
)


# ── activations ───────────────────────────────────────────────────────────────────────────────


def affine(x: Tensor, *, alpha: float, beta: float) -> Tensor:
    """Return Affine(x) = alpha*x + beta."""
    return alpha * x + beta


def thresholded_relu(x: Tensor, *, alpha: float) -> Tensor:
    """Return ThresholdedRelu(x): x if x >= alpha else 0; the operator so named has x > alpha.

    NaN stays NaN.
    """
    return xp.where(xp.less(x, alpha), xp.zeros_like(x), x)


def scaled_tanh(x: Tensor, *, alpha: float, beta: float) -> Tensor:
    """Return ScaledTanh(x) = alpha*Tanh(beta*x)."""
    return alpha * xp.tanh(beta * x)


def literal_tanh(x: Tensor) -> Tensor:
    """Return Tanh(x) = (1 - e^{-2x})/(1 + e^{-2x}), which cancels near 0.

    It overflows to NaN for x far below 0.
    """
    return (1 - xp.exp(-2 * x)) / (1 + xp.exp(-2 * x))


def literal_scaled_tanh(x: Tensor, *, alpha: float, beta: float) -> Tensor:
    """Return ScaledTanh(x) = alpha*Tanh(beta*x), with Tanh as `literal_tanh` has it."""
    return alpha * literal_tanh(beta * x)


def literal_softplus(x: Tensor) -> Tensor:
    """Return Softplus(x) = log(1 + e^x), which overflows to infinity."""
    return xp.log(1 + xp.exp(x))


def operator_function(name: str) -> Function:
    """Return the newest formula of the operator of this name; raises KeyError for another name."""
    for operators in (unary.OPERATORS, functions.OPERATORS, activation_operators.OPERATORS):
        if name in operators:
            formulas = operators[name].formulas
            return formulas[max(formulas)]
    raise KeyError(name)


#: The activations that are operators too, by the operator's formula.
OPERATORS: Mapping[str, Function] = {
    name: operator_function(name)
    for name in (
        "Relu",
        "Tanh",
        "Sigmoid",
        "LeakyRelu",
        "ThresholdedRelu",
        "HardSigmoid",
        "Elu",
        "Softsign",
        "Softplus",
    )
}
ACTIVATIONS: Mapping[str, Function] = {
    **OPERATORS,
    "Affine": affine,
    "ThresholdedRelu": thresholded_relu,
    "ScaledTanh": scaled_tanh,
}
#: The same in the very words of the text.
LITERAL: Mapping[str, Function] = {
    **ACTIVATIONS,
    "Tanh": literal_tanh,
    "ScaledTanh": literal_scaled_tanh,
    "Softplus": literal_softplus,
}


def has_scale(name: str, scale: str) -> bool:
    """Return True if the activation of this name takes `scale`, alpha or beta.

    Raises KeyError for a name that ACTIVATIONS lacks.
    """
    return scale in keywords(ACTIVATIONS[name])[0]


def default_scale(name: str, scale: str) -> float | None:
    """Return the default of a scale in the newest operator of this name.

    None if there is no such operator, or no default. Raises KeyError if the operator lacks the
    scale.
    """
    versions = opset.versions("", name)
    if not versions:
        return None
    default: Any = versions[max(versions)].attributes[scale].default
    return None if default is None else float(default)


def scales_by_use(names: Sequence[str], values: Sequence[float], scale: str) -> dict[int, float]:
    """Return the scale of each activation, where only those that take one consume a value.

    The keys are places in `names`, which ACTIVATIONS has. Activations for which no value is left
    are not in it; values that are left over are not used.
    """
    takers = [k for k, name in enumerate(names) if has_scale(name, scale)]
    return dict(zip(takers, values, strict=False))


def scales_by_place(names: Sequence[str], values: Sequence[float], scale: str) -> dict[int, float]:
    """Return the scale of each activation, where every activation consumes a value.

    names: of ACTIVATIONS. The keys are places in `names`, of activations that take a scale and have
    a value. Raises InvalidNode if a value is left over, or missing for one without a default.
    """
    reject(len(values) > len(names), f"{len(values)} values of {scale} for {len(names)} functions")
    value_by_place = {k: value for k, value in enumerate(values) if has_scale(names[k], scale)}
    for k, name in enumerate(names):
        is_missing = has_scale(name, scale) and k not in value_by_place
        if is_missing and default_scale(name, scale) is None:
            raise InvalidNode(f"{name} has no {scale}: its place in the list is missing")
    return value_by_place


def scales_of(
    names: Sequence[str], values: tuple[float, ...], scale: str, *, has_defaults: bool
) -> list[dict[str, float]]:
    """Return the value of alpha or of beta for each activation, as a keyword: {"alpha": 0.1}.

    It is {} for an activation that takes none. names: of ACTIVATIONS; scale: alpha or beta. The
    values are consumed in the order of the activations, by all or by those that take one:
    PLACE_OF_A_SCALE; by use, values that are left over do not count. Where none is left, the scale
    is the default of the operator so named, if the version `has_defaults`, as all but GRU-1 have.

    Raises NotSupported for a scale without a value and a default. Raises InvalidNode, where each
    activation consumes a value, for values left over and for one that is missing without a default.
    """
    takers = [k for k, name in enumerate(names) if has_scale(name, scale)]
    value_by_place = scales_by_use(names, values, scale)
    is_same_by_place = all(values[k : k + 1] == (x,) for k, x in value_by_place.items())
    is_open = len(values) > len(takers) or not is_same_by_place
    if is_open and PLACE_OF_A_SCALE.reading() == "by_place":
        value_by_place = scales_by_place(names, values, scale)
    keyword_of_each: list[dict[str, float]] = []
    for k, name in enumerate(names):
        if k not in takers:
            keyword_of_each.append({})
            continue
        value = value_by_place.get(k, default_scale(name, scale) if has_defaults else None)
        if value is None:
            raise_unspecified("the default of a scale")
        keyword_of_each.append({scale: value})
    return keyword_of_each


def clipped(x: Tensor, clip: float | None) -> Tensor:
    """Return the input of an activation in the range of [-threshold, +threshold].

    clip: the threshold, from 0 on; None for no limit. NaN stays NaN, or becomes a limit:
    NAN_IN_MAXIMUM, NAN_IN_MINIMUM.
    """
    return x if clip is None else minimum(maximum(x, -clip), clip)


# ── one step of each operator ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Step:
    """What one step of one direction computes with.

    Attributes:
        X_t: The input, [batch_size, input_size].
        states: H_{t-1} and, of LSTM, C_{t-1}, each [batch_size, hidden_size].
        weights: For each gate the columns of [W, R, Wb, Rb], transposed:
            [input_size + hidden_size + 2, hidden_size], or without the last two rows.
        peepholes: P_i, P_o and P_f of LSTM, each [hidden_size]; empty if they are left out.
        activations: f, g and h, each a function of one tensor.
        flag: The attribute that only this operator has: input_forget or linear_before_reset.
    """

    X_t: Tensor
    states: Sequence[Tensor]
    weights: Sequence[Tensor]
    peepholes: Sequence[Tensor]
    activations: Sequence[Function]
    flag: int

    def gate(self, k: int, H: Tensor, addend: Tensor | None = None) -> Tensor:
        """Return Xt*(W^T) + H*(R^T) + Wb + Rb of gate `k`, [batch_size, hidden_size].

        H: the state, [batch_size, hidden_size]. addend: is added as another term; None for nothing.
        """
        return sum_of_products([self.X_t, H], self.weights[k], addend)

    def gate_with_scaled_state(self, k: int, H: Tensor, r_t: Tensor) -> Tensor:
        """Return Xt*(W^T) + r_t (.) (H*(R^T) + Rb) + Wb of gate `k`, [batch_size, hidden_size].

        H, r_t: the state and the reset gate, both of this shape.
        """
        weights = self.weights[k]
        rows = np.arange(weights.shape[0])
        input_size = self.X_t.shape[1]
        # The biases come last: Wb, then Rb.
        row_of_Wb = input_size + H.shape[1]
        is_of_state = (rows >= input_size) & (rows != row_of_Wb)
        of_state = sum_of_products([H], xp.take(weights, rows[is_of_state], axis=0))
        of_input = xp.take(weights, rows[~is_of_state], axis=0)
        return sum_of_products([self.X_t], of_input, r_t * of_state)

    def peephole(self, k: int, C: Tensor) -> Tensor | None:
        """Return P (.) C of peephole `k`, in the shape of C, [batch_size, hidden_size].

        Without peepholes it is None, no term; or, if C has an infinity, 0 (.) C by the other
        reading of LEFT_OUT_PEEPHOLES, with NaN there.
        """
        if self.peepholes:
            return self.peepholes[k] * C
        if np.any(xp.isinf(C)) and LEFT_OUT_PEEPHOLES.reading() == "peepholes_of_0":
            return xp.zeros_like(C) * C
        return None


#: From a step to the next states: H_t and, of LSTM, C_t.
Cell: TypeAlias = Callable[[Step], tuple[Tensor, ...]]


def sum_of_products(
    parts: Sequence[Tensor], weights: Tensor, addend: Tensor | None = None
) -> Tensor:
    """Return [x, 1, …, 1] @ `weights` plus an addend, as one sum of products with one error bound.

    parts: x, cut along its columns, each part [batch_size, its columns], together n; weights:
    [n + m, hidden_size], where the last m rows are biases, which the ones multiply; addend: of the
    result's shape, [batch_size, hidden_size], or None for nothing.
    """
    first = parts[0]
    number_of_biases = weights.shape[0] - sum(part.shape[1] for part in parts)
    ones = xp.astype(np.ones((first.shape[0], number_of_biases), np.float32), first.dtype)
    # Joined once: a layer does this for each gate of each step.
    x = xp.concat([*parts, ones], axis=1)
    return xp.bilinear(x, weights, matmul, x.shape[1], addend)


def lstm_step(step: Step) -> tuple[Tensor, Tensor]:
    """Return H_t and C_t: Ct = ft (.) Ct-1 + it (.) ct, Ht = ot (.) h(Ct).

    Both are [batch_size, hidden_size]. With input_forget ft is 1 - it, or it is 1 - ft:
    COUPLED_GATES. Without peepholes an infinite C_{t-1} has no effect on gates, or makes NaN:
    LEFT_OUT_PEEPHOLES.
    """
    return lstm_with(step)


def lstm_with(
    step: Step,
    *,
    i_P: int = 0,
    o_P: int = 1,
    f_P: int = 2,
    output_sees_the_old_cell: bool = False,
    exchanges_gates: bool = False,
    output_activation: Function | None = None,
) -> tuple[Tensor, Tensor]:
    """Return H_t and C_t, each [batch_size, hidden_size].

    The options are what mutants do otherwise. The gates stand in the order i, o, f, c in W and R,
    the peepholes in the order i, o, f, at the places i_P, o_P and f_P. With input_forget, the flag,
    f is 1 less i, or i is 1 less f: COUPLED_GATES. Peepholes that are left out are no term, or 0
    times the cell, which makes NaN of infinity: LEFT_OUT_PEEPHOLES. output_activation: h unless it
    is given.
    """
    f, g, h = step.activations
    H, C = step.states
    i_t = f(step.gate(0, H, step.peephole(i_P, C)))
    if not step.flag:
        f_t = f(step.gate(2, H, step.peephole(f_P, C)))
    elif COUPLED_GATES.reading() == "forget_is_the_rest":
        f_t = 1 - i_t
    else:
        f_t = f(step.gate(2, H, step.peephole(f_P, C)))
        i_t = 1 - f_t
    c_t = g(step.gate(3, H))
    C_t = i_t * C + f_t * c_t if exchanges_gates else f_t * C + i_t * c_t
    o_t = f(step.gate(1, H, step.peephole(o_P, C if output_sees_the_old_cell else C_t)))
    H_t = o_t * (output_activation or h)(C_t)
    return H_t, C_t


def gru_step(step: Step) -> tuple[Tensor]:
    """Return (H_t,) = (1 - zt) (.) ht + zt (.) Ht-1; the gates stand in the order z, r, h."""
    return gru_with(step)


def weighted(z_t: Tensor, h_t: Tensor, H: Tensor) -> Tensor:
    """Return (1 - zt) (.) ht + zt (.) Ht-1, as the text writes it."""
    return (1 - z_t) * h_t + z_t * H


def interpolated(z_t: Tensor, h_t: Tensor, H: Tensor) -> Tensor:
    """Return (1 - zt) (.) ht + zt (.) Ht-1 with one product: ht + zt (.) (Ht-1 - ht)."""
    return h_t + z_t * (H - h_t)


def gru_with(
    step: Step,
    *,
    update: Callable[[Tensor, Tensor, Tensor], Tensor] = weighted,
    is_linear: Callable[[int], bool] = bool,
) -> tuple[Tensor]:
    """Return (H_t,), [batch_size, hidden_size].

    update: makes H_t of the update gate z_t, h_t and the state. is_linear: returns True for values
    of linear_before_reset by which the reset gate acts behind the product with R.
    """
    f, g = step.activations
    (H,) = step.states
    z_t = f(step.gate(0, H))
    r_t = f(step.gate(1, H))
    if is_linear(step.flag):
        h_t = g(step.gate_with_scaled_state(2, H, r_t))
    else:
        h_t = g(step.gate(2, r_t * H))
    return (update(z_t, h_t, H),)


def rnn_step(step: Step) -> tuple[Tensor]:
    """Return (H_t,) = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Wbi + Rbi), [batch_size, hidden_size]."""
    (f,) = step.activations
    (H,) = step.states
    return (f(step.gate(0, H)),)


# ── a layer ───────────────────────────────────────────────────────────────────────────────────


def times_of_steps(
    attributes: "Attributes", k: int, steps: int, lengths: NDArray[np.int64]
) -> Times:
    """Return which element of X each step of each sequence reads, [steps, batch_size, 1].

    k: the direction, 0 or 1; steps: those of X; lengths: of the sequences, [batch_size], from 0 to
    `steps`. Forwards step t reads element t. In reverse a sequence begins with its last element,
    and the padding behind its end is still read last, in its order.
    """
    t = np.arange(steps).reshape(-1, 1)
    is_turned = (t < lengths) & attributes.is_reverse(k)
    return np.where(is_turned, lengths - 1 - t, t)[:, :, np.newaxis]


def joined_weights(W: Tensor, R: Tensor, *biases: Tensor) -> Tensor:
    """Return [W, R, Wb, Rb] of one direction, a row for each gate and hidden unit.

    W: [gates*hidden_size, input_size]; R: [gates*hidden_size, hidden_size]; biases: none, or both,
    each [gates*hidden_size, 1].
    """
    return xp.concat([W, R, *biases], axis=1)


def own_weights(direction: int) -> int:
    """Return which direction's weights a direction computes with: its own."""
    return direction


def last_states(states: Sequence[Tensor], Y: Tensor) -> Sequence[Tensor]:
    """Return Y_h and, of LSTM, Y_c of one direction: the states after its last step.

    Y is for mutants, which take them from it.
    """
    return states


@dataclass(frozen=True)
class Layer:
    """A recurrent operator; the fields after `activations` are what mutants do otherwise.

    Attributes:
        cell: One step.
        gates: The number of gates.
        states: The number of states: 1, or 2 of LSTM.
        defaults: The names of the activations of a direction, unless the node names others.
        activations: The activations by name.
        weights_of: Which direction's weights a direction computes with.
        join_weights: Puts W, R and the biases of a direction side by side.
        times: The time of each step; see `times_of_steps`.
        last: The states that come out, from the last ones and from Y.
        stops: States stay what they are behind the end of a sequence.
        restores_order: Y is in the order of time, in reverse too.
        hides_padding: Y may be anything behind the end of a sequence.
    """

    cell: Cell
    gates: int
    states: int
    defaults: tuple[str, ...]
    activations: Mapping[str, Function]
    weights_of: Callable[[int], int] = own_weights
    join_weights: Callable[..., Tensor] = joined_weights
    times: Callable[["Attributes", int, int, NDArray[np.int64]], Times] = times_of_steps
    last: Callable[[Sequence[Tensor], Tensor], Sequence[Tensor]] = last_states
    stops: bool = True
    restores_order: bool = True
    hides_padding: bool = True


@dataclass(frozen=True)
class Tensors:
    """The inputs of a node, each under the schema's name, None if it is left out.

    X: [seq_length, batch_size, input_size]; W: [num_directions, gates*hidden_size, input_size];
    R: [num_directions, gates*hidden_size, hidden_size]; B: [num_directions, 2*gates*hidden_size];
    sequence_lens: [batch_size]; initial_h and initial_c: [num_directions, batch_size,
    hidden_size]; P: [num_directions, 3*hidden_size]. With `layout` 1 batch_size comes first.
    """

    X: Tensor
    W: Tensor
    R: Tensor
    B: Tensor | None = None
    sequence_lens: Tensor | None = None
    initial_h: Tensor | None = None
    initial_c: Tensor | None = None
    P: Tensor | None = None


@dataclass(frozen=True)
class Attributes:
    """The attributes of a node, under the schema's names; those it lacks have the defaults here.

    flag: input_forget of LSTM, linear_before_reset of GRU.
    """

    activation_alpha: Sequence[float] | None
    activation_beta: Sequence[float] | None
    activations: Sequence[str] | None
    clip: float | None
    direction: str
    hidden_size: int | None
    layout: int = 0
    flag: int = 0

    @property
    def num_directions(self) -> int:
        """2 if direction == bidirectional else 1."""
        return 2 if self.direction == "bidirectional" else 1

    def is_reverse(self, k: int) -> bool:
        """Return True if direction `k` begins at the end: the second, or one of reverse."""
        return k == 1 or self.direction == "reverse"


def run(layer: Layer, since: int, tensors: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    """Return Y, Y_h and, of LSTM, Y_c.

    Y: [seq_length, num_directions, batch_size, hidden_size]; the others: [num_directions,
    batch_size, hidden_size]. With `layout` 1 batch_size comes first. Behind the end of a sequence Y
    may be anything. since: the version; before 7 R is transposed or not, TRANSPOSED_WEIGHTS. The
    last states after 0 steps are the initial ones, 0 or refused, NO_STEPS.

    Raises InvalidNode for a direction, layout or activation that does not exist, tensors of another
    rank, shapes that contradict each other or hidden_size, sequence_lens beyond [0, seq_length],
    another number of activations, and by readings that refuse: NO_STEPS, ACTIVATIONS_TOO_MANY,
    PLACE_OF_A_SCALE. Raises NotSupported for a clip that is negative or NaN, and an alpha or beta
    without a value and a default.
    """
    attributes = checked_attributes(layer, since, attributes)
    tensors = time_first(checked_ranks(tensors), attributes.layout)
    check_shapes(layer, tensors, attributes)
    lengths = lengths_of(tensors)
    activations = activations_of(layer, since, attributes)
    if since < 7:
        tensors = replace(tensors, R=as_first_texts_read(tensors.R, layer.gates))
    of_direction = [
        run_direction(
            layer,
            k,
            tensors=tensors,
            attributes=attributes,
            lengths=lengths,
            activations=activations[k * len(layer.defaults) : (k + 1) * len(layer.defaults)],
        )
        for k in range(attributes.num_directions)
    ]
    Y = xp.stack([Y for Y, _ in of_direction], axis=1)
    last = [
        xp.stack(each, axis=0) for each in zip(*(ends for _, ends in of_direction), strict=True)
    ]
    if attributes.layout:
        Y = xp.permute_dims(Y, (2, 0, 1, 3))
        last = [batch_and_time_exchanged(state) for state in last]
    return (Y, *last)


def checked_attributes(layer: Layer, since: int, attributes: Attributes) -> Attributes:
    """Return the attributes with the default of GRU-1, `foward`, spelled rightly.

    Raises InvalidNode for a direction or a layout that does not exist; NotSupported for a `clip`
    that is negative or NaN, a range without numbers.
    """
    is_first_gru = layer.gates == 3 and since == 1
    if is_first_gru and attributes.direction == "foward":
        attributes = replace(attributes, direction="forward")
    check_one_of("direction", attributes.direction, "forward", "reverse", "bidirectional")
    # "The shape format of inputs", of which there are two.
    check_one_of("layout", attributes.layout, 0, 1)
    if attributes.clip is not None and not attributes.clip >= 0:
        raise_unspecified("a range without numbers")
    return attributes


def checked_ranks(tensors: Tensors) -> Tensors:
    """Return the tensors as they are; raises InvalidNode unless X and R have three axes."""
    X, R = tensors.X, tensors.R
    reject(X.ndim != 3 or R.ndim != 3, f"X of {X.ndim} and R of {R.ndim} axes; allowed: 3")
    return tensors


def batch_and_time_exchanged(x: Tensor) -> Tensor:
    """Return a tensor of two or more axes with its first two exchanged."""
    return xp.permute_dims(x, (1, 0, *range(2, x.ndim)))


def time_first(tensors: Tensors, layout: int) -> Tensors:
    """Return the tensors as they are with `layout` 0, seq_length before batch_size.

    X has three axes. Raises InvalidNode for an initial state that has not, if `layout` is 1.
    """
    if not layout:
        return tensors
    return replace(
        tensors,
        X=batch_and_time_exchanged(tensors.X),
        initial_h=time_first_state("initial_h", tensors.initial_h),
        initial_c=time_first_state("initial_c", tensors.initial_c),
    )


def time_first_state(name: str, state: Tensor | None) -> Tensor | None:
    """Return an initial state, given as with `layout` 1, as it is with `layout` 0; None stays None.

    name: its input's, in the message. Raises InvalidNode if it has not three axes.
    """
    if state is None:
        return None
    reject(state.ndim != 3, f"{name} of shape {list(state.shape)}; allowed: three axes")
    return batch_and_time_exchanged(state)


def check_shapes(layer: Layer, tensors: Tensors, attributes: Attributes) -> None:
    """Raise InvalidNode where a tensor's shape contradicts the others', or hidden_size.

    X and R have three axes. batch_size and input_size are those of X, hidden_size is R's last axis;
    the shapes of all others follow. Tensors that are left out (None) are not checked.
    """
    _, batch_size, input_size = tensors.X.shape
    hidden_size = tensors.R.shape[2]
    count, gates = attributes.num_directions, layer.gates
    state = (count, batch_size, hidden_size)
    check_shape("W", tensors.W, (count, gates * hidden_size, input_size))
    check_shape("R", tensors.R, (count, gates * hidden_size, hidden_size))
    check_shape("B", tensors.B, (count, 2 * gates * hidden_size))
    check_shape("P", tensors.P, (count, 3 * hidden_size))
    check_shape("sequence_lens", tensors.sequence_lens, (batch_size,))
    check_shape("initial_h", tensors.initial_h, state)
    check_shape("initial_c", tensors.initial_c, state)
    if attributes.hidden_size not in (None, hidden_size):
        raise InvalidNode(f"hidden_size {attributes.hidden_size}, and R has {hidden_size}")


def lengths_of(tensors: Tensors) -> NDArray[np.int64]:
    """Return the number of steps of each sequence, [batch_size].

    Without `sequence_lens` that is seq_length. Raises InvalidNode for a length below 0 or beyond
    the steps of X, and for 0 by one of the readings of NO_STEPS.
    """
    steps, batch_size, _ = tensors.X.shape
    if tensors.sequence_lens is None:
        lengths = np.full(batch_size, steps)
    else:
        lengths = bare(tensors.sequence_lens).astype(np.int64)
    if batch_size and not 0 <= lengths.min() <= lengths.max() <= steps:
        raise InvalidNode(f"a sequence of {lengths} of {steps} steps")
    if (lengths == 0).any() and NO_STEPS.reading() == "refused":
        raise InvalidNode("a sequence without steps")
    return lengths


def activations_of(layer: Layer, since: int, attributes: Attributes) -> list[Function]:
    """Return the activations of all directions, applied to what `clip` leaves of their inputs.

    There are `layer.defaults` for each direction, unless the node names others. Of RNN there may be
    more names than directions, which are not used, or refused: ACTIVATIONS_TOO_MANY. Tanh twice,
    which is RNN's default, is never refused.

    Raises InvalidNode for a name that is none, for too few or too many names, and by the readings
    of ACTIVATIONS_TOO_MANY and, for alpha and beta, PLACE_OF_A_SCALE. Raises NotSupported for an
    alpha or beta that has neither a value nor a default, as in GRU-1.
    """
    if attributes.activations is None:
        names = layer.defaults * attributes.num_directions
    else:
        names = tuple(attributes.activations)
    if unknown := sorted({*names} - {*ACTIVATIONS}):
        raise InvalidNode(f"activation {unknown[0]!r}")
    wanted = len(layer.defaults) * attributes.num_directions
    is_rnn = layer.gates == 1
    if len(names) < wanted or (len(names) > wanted and not is_rnn):
        raise InvalidNode(f"{len(names)} activations; allowed: {wanted}")
    # RNN's default is Tanh twice, whatever the direction.
    is_open = len(names) > wanted and names != ("Tanh", "Tanh")
    if is_open and ACTIVATIONS_TOO_MANY.reading() == "refused":
        raise InvalidNode(f"{len(names)} activations; allowed: {wanted}")
    names = names[:wanted]
    has_defaults = not (layer.gates == 3 and since == 1)
    alphas = scales_of(
        names, tuple(attributes.activation_alpha or ()), "alpha", has_defaults=has_defaults
    )
    betas = scales_of(
        names, tuple(attributes.activation_beta or ()), "beta", has_defaults=has_defaults
    )
    return [
        partial(activated, layer.activations[name], attributes.clip, {**alpha, **beta})
        for name, alpha, beta in zip(names, alphas, betas, strict=True)
    ]


def activated(
    function: Function, clip: float | None, scales: Mapping[str, float], x: Tensor
) -> Tensor:
    """Return an activation of what `clip` leaves of its input.

    scales: alpha and beta, where the function takes them. clip: the threshold on either side of 0,
    None for none; NaN stays NaN, or becomes a limit: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.
    """
    return function(clipped(x, clip), **scales)


def as_first_texts_read(R: Tensor, gates: int) -> Tensor:
    """Return R as the text of versions 1 to 6 reads it: as it is, or with each gate transposed.

    R: [num_directions, gates*hidden_size, hidden_size]; its transpose is multiplied by later.
    "Ht-1*Ri" in versions 1 to 6 is not transposed, and "Ht-1*(Ri^T)" in later ones is:
    TRANSPOSED_WEIGHTS decides which holds. If each gate's matrix is symmetric, nothing depends on
    it.
    """
    count, _, hidden_size = R.shape
    squares = xp.values_of(R).reshape(count, gates, hidden_size, hidden_size)
    if np.array_equal(squares, squares.swapaxes(2, 3), equal_nan=True):
        return R
    if TRANSPOSED_WEIGHTS.reading() == "transposed":
        return R
    split = xp.reshape(R, (count, gates, hidden_size, hidden_size))
    return xp.reshape(xp.permute_dims(split, (0, 1, 3, 2)), R.shape)


def run_direction(
    layer: Layer,
    k: int,
    *,
    tensors: Tensors,
    attributes: Attributes,
    lengths: NDArray[np.int64],
    activations: Sequence[Function],
) -> tuple[Tensor, Sequence[Tensor]]:
    """Return Y, [seq_length, batch_size, hidden_size], and the last states of direction `k`.

    The states are Y_h and, of LSTM, Y_c, each [batch_size, hidden_size]. tensors: with seq_length
    first; lengths: the steps of each sequence, [batch_size]; activations: those of this direction.
    Behind the end of a sequence the states stay, and Y may be anything: see `anything_like`. The
    last states of a sequence without steps are the initial ones, or 0: NO_STEPS.
    """
    X = tensors.X
    steps, batch_size, _ = X.shape
    hidden_size = tensors.R.shape[2]
    weights = weights_by_gate(layer, tensors, layer.weights_of(k))
    peepholes = peepholes_of(tensors, layer.weights_of(k))
    states = initial_states(layer, tensors, k)
    times = layer.times(attributes, k, steps, lengths)
    # A mask of the steps before the end of each sequence, [steps, batch_size, 1].
    is_within = (np.arange(steps).reshape(-1, 1) < lengths)[:, :, np.newaxis]
    X = xp.take_along_axis(X, times, axis=0)
    outputs = []
    for t in range(steps):
        step = Step(X[t], states, weights, peepholes, activations, attributes.flag)
        next_states = layer.cell(step)
        output = next_states[0]
        if layer.stops and not is_within[t].all():
            pairs = zip(next_states, states, strict=True)
            next_states = tuple(xp.where(is_within[t], after, before) for after, before in pairs)
            output = xp.where(is_within[t], output, xp.zeros_like(output))
        states = next_states
        outputs.append(output)
    if outputs:
        Y = xp.stack(outputs, axis=0)
    else:
        Y = xp.astype(np.zeros((0, batch_size, hidden_size)), X.dtype)
    if layer.restores_order:
        # Turning a sequence around twice restores it.
        Y = xp.take_along_axis(Y, times, axis=0)
    if layer.hides_padding and not is_within.all():
        Y = xp.where(is_within, Y, anything_like(Y))
    return Y, layer.last(without_steps(states, lengths), Y)


def weights_by_gate(layer: Layer, tensors: Tensors, k: int) -> list[Tensor]:
    """Return [W, R, Wb, Rb] of direction `k`, transposed, for each gate in the order of W.

    Each is [input_size + hidden_size + 2, hidden_size]; the last two rows are biases, and are
    missing without B.
    """
    hidden_size = tensors.R.shape[2]
    biases: list[Tensor] = []
    if tensors.B is not None:
        both = xp.reshape(tensors.B[k], (2, -1, 1))
        biases = [both[0], both[1]]
    joined = layer.join_weights(tensors.W[k], tensors.R[k], *biases)
    rows_of_gates = np.arange(layer.gates * hidden_size).reshape(layer.gates, hidden_size)
    return [xp.permute_dims(xp.take(joined, rows, axis=0), (1, 0)) for rows in rows_of_gates]


def peepholes_of(tensors: Tensors, k: int) -> list[Tensor]:
    """Return P[i], P[o] and P[f] of direction `k`, each [hidden_size]; [] if P is left out."""
    if tensors.P is None:
        return []
    hidden_size = tensors.R.shape[2]
    return [tensors.P[k, n * hidden_size : (n + 1) * hidden_size] for n in range(3)]


def initial_states(layer: Layer, tensors: Tensors, k: int) -> tuple[Tensor, ...]:
    """Return the initial states of direction `k`, each [batch_size, hidden_size].

    "If not specified - assumed to be 0"; LSTM has two.
    """
    given = (tensors.initial_h, tensors.initial_c)[: layer.states]
    shape = (tensors.X.shape[1], tensors.R.shape[2])
    zeros = xp.astype(np.zeros(shape, np.float32), tensors.X.dtype)
    return tuple(zeros if state is None else state[k] for state in given)


def without_steps(states: Sequence[Tensor], lengths: NDArray[np.int64]) -> Sequence[Tensor]:
    """Return the last states of all sequences, of those without steps the initial states or 0.

    NO_STEPS decides which. states: [batch_size, hidden_size] each, the initial ones where no step
    was made. lengths: [batch_size].
    """
    is_empty = (lengths == 0)[:, np.newaxis]
    if not is_empty.any() or NO_STEPS.reading() != "zero":
        return states
    return tuple(xp.where(is_empty, xp.zeros_like(state), state) for state in states)


def anything_like(Y: Tensor) -> Tensor:
    """Return 2^-200 in the shape of Y, off by 2^70 unit roundoffs: numbers up to that size pass.

    Larger ones do not, nor infinity and NaN. It stands where the text defines no number. Most types
    round it to 0; it is not 0, as a 0 with an error is computed again in wider numbers, which takes
    long.
    """
    return xp.inexact(xp.full_like(Y, 2.0**-200), 2.0**270)


# ── the operators ─────────────────────────────────────────────────────────────────────────────

LSTM, GRU, RNN = map(operator, ("LSTM", "GRU", "RNN"))
LSTM_LAYER = Layer(lstm_step, 4, 2, ("Sigmoid", "Tanh", "Tanh"), ACTIVATIONS)
GRU_LAYER = Layer(gru_step, 3, 1, ("Sigmoid", "Tanh"), ACTIVATIONS)
RNN_LAYER = Layer(rnn_step, 1, 1, ("Tanh",), ACTIVATIONS)


def each_version(name: str) -> Mapping[int, int]:
    """Return the versions of an operator, each by itself: all have a formula of their own."""
    return {since: since for since in opset.versions("", name)}


@formulas_of_versions(each=each_version("LSTM"))
def lstm(
    layer: Layer,
    since: int,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    P: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return Y, Y_h and Y_c of an LSTM.

    Y: [seq_length, num_directions, batch_size, hidden_size]; Y_h, Y_c: without seq_length; with
    `layout` 1 batch_size comes first. Behind the end of a sequence Y may be anything. The shapes of
    the inputs are those of `Tensors`; without hidden_size R decides. layer: the steps, which
    mutants change; since: the version; before 7 R counts transposed or not, TRANSPOSED_WEIGHTS.
    input_forget: if 1, the input and the forget gate add up to 1, COUPLED_GATES. clip: limits what
    activations are applied to; NaN stays, or becomes a limit: NAN_IN_MAXIMUM, NAN_IN_MINIMUM.
    `output_sequence` decides nothing.

    Raises:
        InvalidNode: If shapes, sequence_lens or hidden_size do not fit, for a direction, layout
            or activation that does not exist, for another number of activations than three for
            each direction, and by readings that refuse: NO_STEPS, PLACE_OF_A_SCALE,
            FLAG_OF_ANOTHER_NUMBER (of input_forget).
        NotSupported: For a clip that is negative or NaN, and for an alpha or beta without a value
            and a default.
    """
    tensors = Tensors(X, W, R, B, sequence_lens, initial_h, initial_c, P)
    attributes = Attributes(
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
        flag=int(flag("input_forget", input_forget)),
    )
    return run(layer, since, tensors, attributes)


@formulas_of_versions(each=each_version("GRU"))
def gru(
    layer: Layer,
    since: int,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return Y and Y_h of a GRU.

    Y: [seq_length, num_directions, batch_size, hidden_size]; Y_h: without seq_length; with `layout`
    1 batch_size comes first. Behind the end of a sequence Y may be anything. The shapes of the
    inputs are those of `Tensors`; without hidden_size R decides. layer: the steps, which mutants
    change; since: the version; before 7 R counts transposed or not, TRANSPOSED_WEIGHTS.
    With a linear_before_reset other than 0 the reset gate acts behind the product with R. clip:
    limits what activations are applied to; NaN stays, or becomes a limit: NAN_IN_MAXIMUM,
    NAN_IN_MINIMUM. `output_sequence` decides nothing.

    Raises:
        InvalidNode: If shapes, sequence_lens or hidden_size do not fit, for a direction, layout
            or activation that does not exist, for another number of activations than two for
            each direction, and by readings that refuse: NO_STEPS and PLACE_OF_A_SCALE.
        NotSupported: For a clip that is negative or NaN, and for an alpha or beta without a value
            and a default; version 1 has no defaults.
    """
    tensors = Tensors(X, W, R, B, sequence_lens, initial_h)
    attributes = Attributes(
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
        flag=linear_before_reset,
    )
    return run(layer, since, tensors, attributes)


@formulas_of_versions(each=each_version("RNN"))
def rnn(
    layer: Layer,
    since: int,
    X: Tensor,
    W: Tensor,
    R: Tensor,
    B: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return Y and Y_h of an RNN.

    Y: [seq_length, num_directions, batch_size, hidden_size]; Y_h: without seq_length; with `layout`
    1 batch_size comes first. Behind the end of a sequence Y may be anything. The shapes of the
    inputs are those of `Tensors`; without hidden_size R decides. layer: the steps, which mutants
    change; since: the version; before 7 R counts transposed or not, TRANSPOSED_WEIGHTS. clip:
    limits what activations are applied to; NaN stays, or becomes a limit: NAN_IN_MAXIMUM,
    NAN_IN_MINIMUM. `output_sequence` decides nothing.

    Raises:
        InvalidNode: If shapes, sequence_lens or hidden_size do not fit, for a direction, layout
            or activation that does not exist, for fewer activations than directions, and by
            readings that refuse: NO_STEPS, PLACE_OF_A_SCALE and ACTIVATIONS_TOO_MANY.
        NotSupported: For a clip that is negative or NaN, and for an alpha or beta without a value
            and a default.
    """
    tensors = Tensors(X, W, R, B, sequence_lens, initial_h)
    attributes = Attributes(
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        layout=layout,
    )
    return run(layer, since, tensors, attributes)


RECURRENT: Sequence[tuple[Operator, Callable[..., Mapping[int, Formula]], Layer]] = (
    (LSTM, lstm, LSTM_LAYER),
    (GRU, gru, GRU_LAYER),
    (RNN, rnn, RNN_LAYER),
)
for _operator, _versions, _layer in RECURRENT:
    _operator.formula(build=_versions)(_layer)
    _operator.alternative("", build=_versions)(replace(_layer, activations=LITERAL))
GRU.alternative("", build=gru)(replace(GRU_LAYER, cell=partial(gru_with, update=interpolated)))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def padding_first(attributes: Attributes, k: int, steps: int, lengths: NDArray[np.int64]) -> Times:
    """Mutant: in reverse a sequence begins behind its end, with the last element of X."""
    return times_of_steps(attributes, k, steps, np.full_like(lengths, steps))


def padding_first_alone(
    attributes: Attributes, k: int, steps: int, lengths: NDArray[np.int64]
) -> Times:
    """Mutant: in reverse a sequence begins behind its end, unless the node has both directions."""
    if attributes.num_directions == 2:
        return times_of_steps(attributes, k, steps, lengths)
    return padding_first(attributes, k, steps, lengths)


def last_of_Y(states: Sequence[Tensor], Y: Tensor) -> Sequence[Tensor]:
    """Mutant: Y_h is the last time of Y, which is the first step in reverse."""
    return (Y[-1] if Y.shape[0] else states[0], *states[1:])


def weights_of_the_first(direction: int) -> int:
    """Mutant: one direction's weights serve for both."""
    return 0


def joined_without_Rb(W: Tensor, R: Tensor, *biases: Tensor) -> Tensor:
    """Mutant: of the biases only Wb is added."""
    return joined_weights(W, R, *biases[:1])


def joined_with_R_transposed(W: Tensor, R: Tensor, *biases: Tensor) -> Tensor:
    """Mutant: each gate's block of R is transposed; the shapes are those of `joined_weights`."""
    hidden_size = R.shape[1]
    blocks = xp.reshape(R, (-1, hidden_size, hidden_size))
    transposed = xp.reshape(xp.permute_dims(blocks, (0, 2, 1)), R.shape)
    return joined_weights(W, transposed, *biases)


def joined_in_order(order: Sequence[int], count: int, *parts: Tensor) -> Tensor:
    """Mutant: the gates stand in another order in the first `count` of W, R and the biases.

    order: for each place in the text's order, the place in `parts` where the gate is read. parts:
    as of `joined_weights`, which this replaces: a row for each gate and hidden unit.
    """
    gates = len(order)
    reordered = []
    for x in parts[:count]:
        blocks = xp.reshape(x, (gates, x.shape[0] // gates, x.shape[1]))
        reordered.append(xp.reshape(blocks[order], x.shape))
    return xp.concat([*reordered, *parts[count:]], axis=1)


def layer_mutants(layer: Layer) -> NamedMutants[Layer]:
    """Return the mutants that all three operators have, by name: a text, and the wrong layer.

    layer: the right one, of which each mutant changes a field or two.
    """
    return {
        "padding_read_first": (
            "what is behind a sequence was read first in reverse",
            replace(layer, hides_padding=False, times=padding_first),
        ),
        "padding_read_first_alone": (
            "what is behind a sequence was read first in reverse alone, not in both directions",
            replace(layer, hides_padding=False, times=padding_first_alone),
        ),
        "read_beyond_the_end": (
            "states went on behind the end of a sequence",
            replace(layer, stops=False),
        ),
        "reverse_stays_reversed": (
            "Y was in the order in which it was computed, in reverse too",
            replace(layer, restores_order=False),
        ),
        "last_of_Y": (
            "Y_h was the last step of Y, in reverse and behind a sequence too",
            replace(layer, last=last_of_Y),
        ),
        "first_weights_for_both": (
            "one direction's weights served for both",
            replace(layer, weights_of=weights_of_the_first),
        ),
        "recurrent_bias_ignored": (
            "of the biases the first half was added alone",
            replace(layer, join_weights=joined_without_Rb),
        ),
        "recurrent_weights_transposed": (
            "recurrent weights were transposed",
            replace(layer, join_weights=joined_with_R_transposed),
        ),
        "literal_threshold": (
            "ThresholdedRelu gave 0 at its threshold, as the operator so named",
            replace(layer, activations={**ACTIVATIONS, **OPERATORS}),
        ),
    }


def gate_order_mutants(
    layer: Layer, name: str, gates: str, order: Sequence[int]
) -> NamedMutants[Layer]:
    """Return three mutants that take the gates in another order: in all weights, W and R, or W.

    They are by name, which begins with `name`. gates: the order in words; order: for each place in
    the text's order, the place where the mutant reads the gate.
    """
    places = {"": (4, ""), "_in_W_and_R": (2, " in W and R, not in B"), "_in_W": (1, " in W alone")}
    return {
        f"{name}{suffix}": (
            f"gates were in the order {gates}{where}",
            replace(layer, join_weights=partial(joined_in_order, order, count)),
        )
        for suffix, (count, where) in places.items()
    }


def identity(x: Tensor) -> Tensor:
    """Mutant of an activation: none is applied."""
    return x


def lstm_with_g_for_h(step: Step) -> tuple[Tensor, Tensor]:
    """Mutant: the second activation serves for the third."""
    return lstm_with(step, output_activation=step.activations[1])


def weighted_the_other_way(z_t: Tensor, h_t: Tensor, H: Tensor) -> Tensor:
    """Mutant: zt (.) ht + (1 - zt) (.) Ht-1."""
    return z_t * h_t + (1 - z_t) * H


def is_1(flag: int) -> bool:
    """Mutant: linear_before_reset is 0 unless it is 1."""
    return flag == 1


def is_0(flag: int) -> bool:
    """Mutant: linear_before_reset means the contrary."""
    return flag == 0


def tanh_step(step: Step) -> tuple[Tensor]:
    """Mutant: the activation is Tanh, whatever its name."""
    (H,) = step.states
    return (xp.tanh(step.gate(0, H)),)


LSTM_CELLS: NamedMutants[Cell] = {
    "output_gate_sees_the_old_cell": (
        "the output gate's peephole saw the cell's state before",
        partial(lstm_with, output_sees_the_old_cell=True),
    ),
    "peepholes_ifo": (
        "peepholes were in the order input, forget, output",
        partial(lstm_with, o_P=2, f_P=1),
    ),
    "cell_comes_out": (
        "no activation was applied to the cell's state",
        partial(lstm_with, output_activation=identity),
    ),
    "gates_exchanged": (
        "the forget gate multiplied the new part, the input gate the state",
        partial(lstm_with, exchanges_gates=True),
    ),
    "g_serves_for_h": ("the second activation served for the third", lstm_with_g_for_h),
}
GRU_CELLS: NamedMutants[Cell] = {
    "update_exchanged": (
        "the update gate multiplied the new part, and not the state",
        partial(gru_with, update=weighted_the_other_way),
    ),
    "linear_by_1_alone": (
        "linear_before_reset was 0 unless it is 1",
        partial(gru_with, is_linear=is_1),
    ),
    "reset_exchanged": (
        "linear_before_reset said the contrary",
        partial(gru_with, is_linear=is_0),
    ),
}
RNN_CELLS: NamedMutants[Cell] = {
    "tanh_always": ("the activation was the tangent, whatever its name", tanh_step),
}


def declare_mutants(
    op: Operator,
    versions: Callable[..., Mapping[int, Formula]],
    layer: Layer,
    cells: NamedMutants[Cell],
    orders: NamedMutants[Layer],
) -> None:
    """Declare the mutants of an operator: of its cell, of every layer, of the order of gates.

    Raises WrongOperator for one that contradicts the schema.
    """
    of_cell = {name: (text, replace(layer, cell=cell)) for name, (text, cell) in cells.items()}
    op.mutant_table({**of_cell, **layer_mutants(layer), **orders}, build=versions)


IFGO = gate_order_mutants(LSTM_LAYER, "gates_ifgo", "input, forget, cell, output", [0, 3, 1, 2])
IFOG = gate_order_mutants(LSTM_LAYER, "gates_ifog", "input, forget, output, cell", [0, 2, 1, 3])
RZH = gate_order_mutants(GRU_LAYER, "gates_rzh", "reset, update, hidden", [1, 0, 2])
declare_mutants(LSTM, lstm, LSTM_LAYER, LSTM_CELLS, {**IFGO, **IFOG})
declare_mutants(GRU, gru, GRU_LAYER, GRU_CELLS, RZH)
declare_mutants(RNN, rnn, RNN_LAYER, RNN_CELLS, {})


def slice_mutants(layer: Layer, gates: Sequence[str]) -> NamedMutants[Layer]:
    """Return mutants in which one gate reads the weights of another, or two gates exchange them.

    There are two for each case: with the biases of the other gate, and with the right ones. gates:
    their names in the text's order.
    """
    mutants: dict[str, tuple[str, Layer]] = {}
    for (one, gate), (other, read) in permutations(enumerate(gates), 2):
        order = [*range(len(gates))]
        order[one] = other
        text = f"the {gate} gate read the {read} gate's slice of"
        mutants |= gate_slices(layer, order, f"{gate}_gate_reads_{read}", text)
    for (one, gate), (other, read) in combinations(enumerate(gates), 2):
        order = [*range(len(gates))]
        order[one], order[other] = other, one
        text = f"the {gate} and the {read} gate exchanged their slices of"
        mutants |= gate_slices(layer, order, f"{gate}_and_{read}_gates_exchanged", text)
    return mutants


def gate_slices(layer: Layer, order: Sequence[int], name: str, text: str) -> NamedMutants[Layer]:
    """Return two mutants that take the slices of gates in `order`, by name, each with a text.

    One takes those of W, R and the biases so, the other those of W and R alone. order: the place
    where each gate is read; name, text: the beginning of their names and texts, before the place.
    """
    return {
        f"{name}{suffix}": (
            f"{text} {where}",
            replace(layer, join_weights=partial(joined_in_order, order, count)),
        )
        for suffix, count, where in (("", 4, "W, R and B"), ("_in_W_and_R", 2, "W and R"))
    }


LSTM.mutant_table(
    slice_mutants(LSTM_LAYER, ("input", "output", "forget", "cell")), build=lstm, is_asked=False
)
GRU.mutant_table(slice_mutants(GRU_LAYER, ("update", "reset", "hidden")), build=gru, is_asked=False)

"""LSTM, GRU and RNN, all versions: a layer's states, step after step, each made of the one before.

A gate is an activation of one sum of products: of a step's input and weights, of the state before
and recurrent weights, and of biases and 1.
"""

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from opcheck import numbers as xp, opset
from opcheck.engine import operators
from opcheck.engine.operators import (
    check_shape,
    leave_open,
    operator,
    raise_unspecified,
    with_parameters,
)
from opcheck.engine.ops.elementwise import FAMILY
from opcheck.errors import InvalidNode, reject

NAMES = """GRU LSTM RNN"""
matmul = xp.primitive(xp.plain.matmul)


#: The operators that are activations too, but for one of which the text has another.
OPERATORS = {
    name: FAMILY[name].formulas[max(FAMILY[name].formulas)]
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
#: The activations, of an element and the scales alpha and beta that each has.
FUNCTIONS = {
    **OPERATORS,
    "Affine": lambda x, *, alpha, beta: alpha * x + beta,
    "ThresholdedRelu": lambda x, *, alpha: xp.where(xp.less(x, alpha), xp.zeros_like(x), x),
    "ScaledTanh": lambda x, *, alpha, beta: alpha * xp.tanh(beta * x),
}
#: As the text writes them, though the tangent cancels near 0, and large elements overflow.
LITERAL: dict[str, Any] = {
    **FUNCTIONS,
    "Softplus": lambda x: xp.log(1 + xp.exp(x)),
    "Tanh": lambda x: (1 - xp.exp(-2 * x)) / (1 + xp.exp(-2 * x)),
    "ScaledTanh": lambda x, *, alpha, beta: alpha * LITERAL["Tanh"](beta * x),
}
#: The functions that have each scale, with its default in the operator so named, if there is one.
SCALES = {
    scale: {
        name: schemas[max(schemas)].attributes[scale].default if schemas else None
        for name, function in FUNCTIONS.items()
        if scale in operators.keywords(function)[0]
        for schemas in (opset.versions("", name),)
    }
    for scale in ("alpha", "beta")
}


def activated(names, given, clip, functions, silent=False):
    """The activations of these names, applied to what `clip` leaves of their inputs."""
    scales = []
    for values, (scale, defaults) in zip(given, SCALES.items(), strict=True):
        takers, values = [k for k, name in enumerate(names) if name in defaults], values or ()
        used = dict(zip(takers, values, strict=False))
        if len(values) > len(takers) or any(values[k : k + 1] != (x,) for k, x in used.items()):
            leave_open("it is not said whether a function without a scale has a place in the list")
        if (silent and len(values) < len(takers)) or any(
            defaults[names[k]] is None for k in takers[len(values) :]
        ):
            raise_unspecified("the default of a scale")
        scales.append(
            [
                {scale: used.get(k, defaults[name])} if name in defaults else {}
                for k, name in enumerate(names)
            ]
        )
    if clip is not None and not clip >= 0:
        raise_unspecified("a range without numbers")

    def activation(name, alpha, beta, x):
        limited = x if clip is None else xp.minimum(xp.maximum(x, -clip), clip)
        return functions[name](limited, **alpha, **beta)

    return [partial(activation, *each) for each in zip(names, *scales, strict=True)]


class Step(NamedTuple):
    """The parts of the next states of one direction, each a function of its terms.

    `weights` has a matrix for each gate, `flag` is the attribute that only this operator has.
    """

    x: Any
    states: Sequence[Any]
    weights: Sequence[Any]
    peepholes: Sequence[Any]
    functions: Sequence[Any]
    flag: int

    def gate(self, k, h, more=None):
        """The sum before the activation of gate `k`, of the state `h` and a term `more`."""
        return total(xp.concat([self.x, h], axis=1), self.weights[k], more)

    def apart(self, k, h, scale):
        """The sum, with the part of the state and its bias times `scale`."""
        weights, size = self.weights[k], self.x.shape[1]
        rows = np.arange(weights.shape[0])
        # The biases come last: that of the input, then that of the state.
        recurrent = (rows >= size) & (rows != size + h.shape[1])
        inner = total(h, xp.take(weights, rows[recurrent], axis=0))
        return total(self.x, xp.take(weights, rows[~recurrent], axis=0), scale * inner)

    def seen(self, k, c):
        """The addend of peephole `k`, where there are any."""
        return self.peepholes[k] * c if self.peepholes else None


def total(x, weights, more=None):
    """The products of `x` and as many weights, with those that remain and `more` added."""
    ones = xp.astype(np.ones((x.shape[0], weights.shape[0] - x.shape[1]), np.float32), x.dtype)
    x = xp.concat([x, ones], axis=1)
    return xp.bilinear(x, weights, matmul, x.shape[1], more)


def places(backward, steps, lengths):
    """The time of each step of each sequence; steps behind its end stay where they are."""
    t = np.arange(steps).reshape(-1, 1)
    return np.where((t < lengths) & (backward > 0), lengths - 1 - t, t)[:, :, np.newaxis]


def run(
    cell,
    gates,
    kept,
    default,
    since,
    *tensors,
    functions=FUNCTIONS,
    places=places,
    stops=True,
    turns=True,
    silent=True,
    side=lambda k: k,
    joined=lambda *parts: xp.concat(parts, axis=1),
    last=lambda states, y: states,
    activations,
    activation_alpha,
    activation_beta,
    clip,
    direction,
    hidden_size,
    layout=0,
    output_sequence=0,
    input_forget=0,
    linear_before_reset=0,
):
    """The outputs, from `cell(step)`, the `kept` states after a step; the first comes out.

    The options from `functions` on are what mutants do otherwise.
    """
    given: Any = (*tensors, *repeat(None, kept + 6 - len(tensors)))
    X, W, R, B, lens, *states, P = given
    if input_forget:
        leave_open("it is not said which of the two gates is 1 less the other")
    if (since, gates, direction) == (1, 3, "foward"):
        direction = "forward"  # It is the default of GRU-1, misspelt.
    if direction not in ("forward", "reverse", "bidirectional") or layout not in (0, 1):
        raise InvalidNode(f"direction {direction!r}, layout {layout}")
    reject(X.ndim != 3 or R.ndim != 3, f"X of {X.ndim} and R of {R.ndim} axes; allowed: 3")
    turn = (lambda x: xp.permute_dims(x, (1, 0, *range(2, x.ndim)))) if layout else lambda x: x
    X, count, hidden = turn(X), 1 + (direction == "bidirectional"), R.shape[2]
    steps, batch, size = X.shape
    initial = (count, batch, hidden)
    for x, shape in (
        (W, (count, gates * hidden, size)),
        (R, (count, gates * hidden, hidden)),
        (B, (count, 2 * gates * hidden)),
        (P, (count, 3 * hidden)),
        (lens, (batch,)),
        *((x, (batch, count, hidden) if layout else initial) for x in states),
    ):
        check_shape("a tensor", x, shape)
    reject(hidden_size not in (None, hidden), f"hidden_size {hidden_size}, and R has {hidden}")
    lengths = np.full(batch, steps) if lens is None else lens.astype(np.int64)
    if batch and not 0 <= lengths.min() <= lengths.max() <= steps:
        raise InvalidNode(f"a sequence of {lengths} of {steps} steps")
    if (lengths == 0).any():
        leave_open("nothing is said of the last output of no steps")
    names = default * count if activations is None else activations
    if wrong := sorted({*names} - {*FUNCTIONS}):
        raise InvalidNode(f"activation {wrong[0]!r}")
    if len(names) < (wanted := len(default) * count) or (gates > 1 and len(names) > wanted):
        raise InvalidNode(f"{len(names)} activations; allowed: {wanted}")
    if len(names) > wanted and names != ("Tanh", "Tanh"):
        # That is the default of RNN, whatever the direction.
        leave_open("nothing is said of an activation for a direction that is not there")
    scaled = activated(
        names[:wanted],
        (activation_alpha, activation_beta),
        clip,
        functions,
        (since, gates) == (1, 3),
    )
    blocks = np.arange(gates * hidden).reshape(gates, hidden)
    if since < 7:
        square = xp.values_of(R).reshape(count, gates, hidden, hidden)
        if not np.array_equal(square, square.swapaxes(2, 3), equal_nan=True):
            leave_open("the first texts do not transpose recurrent weights, and later ones do")
    begin = [
        xp.astype(np.zeros(initial, np.float32), X.dtype) if x is None else turn(x) for x in states
    ]
    outputs, ends = [], []
    alive = (np.arange(steps).reshape(-1, 1) < lengths)[:, :, np.newaxis]
    for k in range(count):
        own = side(k)
        biases = [] if B is None else [xp.reshape(B[own], (2, -1, 1))[n] for n in (0, 1)]
        whole = joined(W[own], R[own], *biases)
        weights = [xp.permute_dims(xp.take(whole, rows, axis=0), (1, 0)) for rows in blocks]
        holes = [] if P is None else [P[own, n * hidden : (n + 1) * hidden] for n in range(3)]
        at = places(1 if direction == "reverse" else 2 * k, steps, lengths)
        x, now, seen = xp.take_along_axis(X, at, axis=0), [one[k] for one in begin], []
        mine = scaled[k * len(default) : (k + 1) * len(default)]
        for t in range(steps):
            new = cell(Step(x[t], now, weights, holes, mine, input_forget or linear_before_reset))
            ended = stops and not alive[t].all()
            now = [xp.where(alive[t], *two) for two in zip(new, now, strict=True)] if ended else new
            seen.append(xp.where(alive[t], now[0], xp.zeros_like(now[0])) if ended else now[0])
        y = xp.stack(seen, axis=0) if seen else xp.astype(np.zeros((0, batch, hidden)), X.dtype)
        y = xp.take_along_axis(y, at, axis=0) if turns else y
        if silent and not alive.all():
            # Behind a sequence any number is right. Next to 0, and a 0 in most types: a 0 that is
            # not exact is computed again in wider numbers, which take long.
            y = xp.where(alive, y, xp.inexact(xp.full_like(y, 2.0**-200), 2.0**270))
        outputs.append(y)
        ends.append(last(now, y))
    y = xp.stack(outputs, axis=1)
    y = xp.permute_dims(y, (2, 0, 1, 3)) if layout else y
    return y, *(turn(xp.stack(state, axis=0)) for state in zip(*ends, strict=True))


def of_layer(name, gates, kept, default, cell, **habits):
    """All versions of an operator, from `cell(step)`: the hidden state, and that of the cell."""
    formula = partial(run, cell, gates, kept, default, **habits)
    return {
        since: with_parameters(partial(formula, since), schema, schema.attributes)
        for since, schema in opset.versions("", name).items()
    }


LSTM, GRU, RNN = map(operator, ("LSTM", "GRU", "RNN"))
of_lstm = partial(of_layer, "LSTM", 4, 2, ("Sigmoid", "Tanh", "Tanh"))
of_gru = partial(of_layer, "GRU", 3, 1, ("Sigmoid", "Tanh"))
of_rnn = partial(of_layer, "RNN", 1, 1, ("Tanh",))


@LSTM.formula(build=of_lstm)
def lstm(
    step,
    early=False,
    mixed=lambda forget, c, i, new: forget * c + i * new,
    out=lambda h, c: h(c),
    holes=(0, 1, 2),
):
    (f, g, h), (hidden, c) = step.functions, step.states
    i = f(step.gate(0, hidden, step.seen(holes[0], c)))
    forget = 1 - i if step.flag else f(step.gate(2, hidden, step.seen(holes[2], c)))
    now = mixed(forget, c, i, g(step.gate(3, hidden)))
    return f(step.gate(1, hidden, step.seen(holes[1], c if early else now))) * out(h, now), now


#: Mutants of a layer: a text, and what `run` does otherwise.
HABITS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"padding_read_first{name}": (
            f"what is behind a sequence was read first in reverse{text}",
            {
                "silent": False,
                "places": lambda backward, steps, lengths, most=most: places(
                    backward, steps, 0 * lengths + steps if backward <= most else lengths
                ),
            },
        )
        for name, text, most in (("", "", 2), ("_alone", " alone, not in both directions", 1))
    },
    "read_beyond_the_end": ("states went on behind the end of a sequence", {"stops": False}),
    "reverse_stays_reversed": (
        "Y was in the order in which it was computed, in reverse too",
        {"turns": False},
    ),
    "last_of_Y": (
        "Y_h was the last step of Y, in reverse and behind a sequence too",
        {"last": lambda states, y: [y[-1] if len(y) else states[0], *states[1:]]},
    ),
    "first_weights_for_both": ("one direction's weights served for both", {"side": lambda k: 0}),
    "recurrent_bias_ignored": (
        "of the biases the first half was added alone",
        {"joined": lambda W, R, *biases: np.concat([W, R, *biases[:1]], axis=1)},
    ),
    "recurrent_weights_transposed": (
        "recurrent weights were transposed",
        {
            "joined": lambda W, R, *biases: np.concat(
                [W, R.reshape(-1, R.shape[1], R.shape[1]).swapaxes(1, 2).reshape(R.shape), *biases],
                axis=1,
            )
        },
    ),
    "literal_threshold": (
        "ThresholdedRelu gave 0 at its threshold, as the operator so named",
        {"functions": FUNCTIONS | OPERATORS},
    ),
}


def in_order(order, count, *parts):
    """The parts side by side, of the first `count` with the gates as `order` finds them."""
    gates = len(order)
    moved = [
        x.reshape(gates, len(x) // gates, x.shape[1])[order].reshape(x.shape) for x in parts[:count]
    ]
    return np.concat([*moved, *parts[count:]], axis=1)


def declare(op, by, cell, cells, **orders):
    """Declare the literal formula of a layer, its mutants, and those by `orders` of its gates."""
    op.alternative("", build=partial(by, functions=LITERAL))(cell)
    habits = {
        f"{name}{of}": (
            f"gates were in the order {gates}{where}",
            {"joined": partial(in_order, order, count)},
        )
        for name, (gates, order) in orders.items()
        for of, where, count in (
            ("", "", 4),
            ("_in_W_and_R", " in W and R, not in B", 2),
            ("_in_W", " in W alone", 1),
        )
    }
    op.mutant_table(cells, build=by)
    op.mutant_table(HABITS | habits, build=lambda habits: by(cell, **habits))


declare(
    LSTM,
    of_lstm,
    lstm,
    {
        "output_gate_sees_the_old_cell": (
            "the output gate's peephole saw the cell's state before",
            partial(lstm, early=True),
        ),
        "peepholes_ifo": (
            "peepholes were in the order input, forget, output",
            partial(lstm, holes=(0, 2, 1)),
        ),
        "cell_comes_out": (
            "no activation was applied to the cell's state",
            partial(lstm, out=lambda h, c: c),
        ),
        "gates_exchanged": (
            "the forget gate multiplied the new part, the input gate the state",
            partial(lstm, mixed=lambda forget, c, i, new: i * c + forget * new),
        ),
        "g_serves_for_h": (
            "the second activation served for the third",
            lambda step: lstm(step, out=lambda h, c: step.functions[1](c)),
        ),
    },
    gates_ifgo=("input, forget, cell, output", [0, 3, 1, 2]),
    gates_ifog=("input, forget, output, cell", [0, 2, 1, 3]),
)


@GRU.formula(build=of_gru)
def gru(step, mixed=lambda z, new, h: (1 - z) * new + z * h, linear=lambda flag: flag != 0):
    (f, g), (h,) = step.functions, step.states
    z, r = f(step.gate(0, h)), f(step.gate(1, h))
    return (mixed(z, g(step.apart(2, h, r) if linear(step.flag) else step.gate(2, r * h)), h),)


GRU.alternative("", build=of_gru)(partial(gru, mixed=lambda z, new, h: new + z * (h - new)))
declare(
    GRU,
    of_gru,
    gru,
    {
        "update_exchanged": (
            "the update gate multiplied the new part, and not the state",
            partial(gru, mixed=lambda z, new, h: z * new + (1 - z) * h),
        ),
        "linear_by_1_alone": (
            "linear_before_reset was 0 unless it is 1",
            partial(gru, linear=lambda flag: flag == 1),
        ),
        "reset_exchanged": (
            "linear_before_reset said the contrary",
            partial(gru, linear=lambda flag: flag == 0),
        ),
    },
    gates_rzh=("reset, update, hidden", [1, 0, 2]),
)


@RNN.formula(build=of_rnn)
def rnn(step):
    return (step.functions[0](step.gate(0, *step.states)),)


declare(
    RNN,
    of_rnn,
    rnn,
    {
        "tanh_always": (
            "the activation was the tangent, whatever its name",
            lambda step: (np.tanh(step.gate(0, *step.states)),),
        ),
    },
)

"""RNN, all versions: a layer's state, step after step, each made of the one before.

It is an activation of one sum of products: of a step's input and weights, of the state before and
recurrent weights, and of biases and 1.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from opcheck import numbers as xp
from opcheck import opset
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers import plain, primitive
from opcheck.numbers.faulty import bare

matmul = primitive(plain.matmul)


def sigmoid(x):
    return 1 / (1 + xp.exp(-x))


#: The activations, of an element and the scales alpha and beta.
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Relu": lambda x, a, b: xp.maximum(x, 0), "Tanh": lambda x, a, b: xp.tanh(x),
    "Sigmoid": lambda x, a, b: sigmoid(x), "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: xp.where(xp.less(x, 0), a * x, x),
    "ThresholdedRelu": lambda x, a, b: xp.where(xp.less(x, a), xp.zeros_like(x), x),
    "ScaledTanh": lambda x, a, b: a * xp.tanh(b * x),
    "HardSigmoid": lambda x, a, b: xp.minimum(xp.maximum(a * x + b, 0), 1),
    "Elu": lambda x, a, b: xp.where(xp.less(x, 0), a * (xp.exp(x) - 1), x),
    "Softsign": lambda x, a, b: x / (1 + xp.abs(x)),
    "Softplus": lambda x, a, b: xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))),
}  # fmt: skip
#: As the text writes them, though the tangent cancels near 0, and large elements overflow.
LITERAL = {
    **FUNCTIONS,
    "Softplus": lambda x, a, b: xp.log(1 + xp.exp(x)),
    "Tanh": lambda x, a, b: (1 - xp.exp(-2 * x)) / (1 + xp.exp(-2 * x)),
    "ScaledTanh": lambda x, a, b: a * ((1 - xp.exp(-2 * (b * x))) / (1 + xp.exp(-2 * (b * x)))),
}
#: The functions that have each scale, with its default in the operator so named, if there is one.
SCALES = [
    {
        name: schemas[max(schemas)].attributes[scale].default if schemas else None
        for name in takers
        for schemas in (opset.versions("", name),)
    }
    for scale, takers in (
        ("alpha", ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")),
        ("beta", ("Affine", "ScaledTanh", "HardSigmoid")),
    )
]


def activated(names, given, clip, functions):
    """The activations of these names, applied to what `clip` leaves of their inputs."""
    scales = []
    for values, defaults in zip(given, SCALES, strict=True):
        takers, values = [k for k, name in enumerate(names) if name in defaults], values or ()
        used = dict(zip(takers, values, strict=False))
        if len(values) > len(takers) or any(values[k : k + 1] != (x,) for k, x in used.items()):
            is_open("it is not said whether a function without a scale has a place in the list")
        if any(defaults[names[k]] is None for k in takers[len(values) :]):
            raise NotSupported("nothing is said of the default of a scale")
        scales.append([used.get(k, defaults.get(name)) for k, name in enumerate(names)])
    if clip is not None and not clip >= 0:
        raise NotSupported("nothing is said of a range without numbers")

    def made(name, alpha, beta):
        limited = (
            (lambda x: x) if clip is None else lambda x: xp.minimum(xp.maximum(x, -clip), clip)
        )
        return lambda x: functions[name](limited(x), alpha, beta)

    return [*map(made, names, *scales)]


def places(backward, steps, lengths):
    """The time of each step of each sequence; what is behind a sequence stays where it is."""
    t = np.arange(steps).reshape(-1, 1)
    return np.where((t < lengths) & backward, lengths - 1 - t, t)[:, :, np.newaxis]


def of_rnn(step, functions=FUNCTIONS, places=places, stops=True, turns=True, side=lambda k: k,
           joined=lambda *parts: xp.concat(parts, axis=1), last=lambda h, y: h):  # fmt: skip
    """All versions, from `step(total, function)`. The other options are what mutants change."""

    def formula(since, X, W, R, B=None, sequence_lens=None, initial_h=None, *, activation_alpha,
                activation_beta, activations, clip, direction, hidden_size, layout=0,
                output_sequence=0):  # fmt: skip
        if direction not in ("forward", "reverse", "bidirectional") or layout not in (0, 1):
            raise InvalidNode(f"direction {direction!r}, layout {layout}")
        if X.ndim != 3 or R.ndim != 3:
            raise InvalidNode(f"X of {X.ndim} and R of {R.ndim} axes; allowed: 3")
        turn = (lambda x: xp.permute_dims(x, (1, 0, 2))) if layout else lambda x: x
        X, count, hidden = turn(X), 1 + (direction == "bidirectional"), R.shape[2]
        steps, batch, size = X.shape
        initial = (count, batch, hidden)
        for x, shape in (
            (W, (count, hidden, size)), (R, (count, hidden, hidden)), (B, (count, 2 * hidden)),
            (sequence_lens, (batch,)),
            (initial_h, (batch, count, hidden) if layout else initial)):  # fmt: skip
            if x is not None and x.shape != shape:
                raise InvalidNode(f"shape {list(x.shape)}; allowed: {list(shape)}")
        if hidden_size not in (None, hidden):
            raise InvalidNode(f"hidden_size {hidden_size}, and R has {hidden}")
        lens = np.full(batch, steps) if sequence_lens is None else sequence_lens.astype(np.int64)
        if batch and not 0 <= lens.min() <= lens.max() <= steps:
            raise InvalidNode(f"a sequence of {lens} of {steps} steps")
        if (lens == 0).any():
            is_open("nothing is said of the last output of no steps")
        if wrong := sorted({*activations} - {*FUNCTIONS}):
            raise InvalidNode(f"activation {wrong[0]!r}")
        if len(activations) < count:
            raise InvalidNode(f"{len(activations)} activations; allowed: {count}")
        if len(activations) > count and activations != ("Tanh", "Tanh"):
            # That is the default, whatever the direction.
            is_open("nothing is said of an activation for a direction that is not there")
        scales = activation_alpha, activation_beta
        scaled = activated(activations[:count], scales, clip, functions)
        if since < 7:
            square = bare(xp.values_of(R))
            if not np.array_equal(square, square.swapaxes(1, 2), equal_nan=True):
                is_open("the first text does not transpose recurrent weights, and later ones do")
        begin = initial_h is None
        begin = xp.astype(np.zeros(initial, np.float32), X.dtype) if begin else turn(initial_h)
        outputs, ends = [], []
        alive = (np.arange(steps).reshape(-1, 1) < lens)[:, :, np.newaxis]
        biases = [] if B is None else [B[:, n : n + hidden] for n in (0, hidden)]
        ones = xp.astype(np.ones((batch, len(biases)), np.float32), X.dtype)
        for k in range(count):
            own = side(k)
            parts = W[own], R[own], *(xp.reshape(b[own], (hidden, 1)) for b in biases)
            weights = xp.permute_dims(joined(*parts), (1, 0))
            at = places(direction == "reverse" or k == 1, steps, lens)
            x, h, seen = xp.take_along_axis(X, at, axis=0), begin[k], []
            for t in range(steps):
                terms = xp.concat([x[t], h, ones], axis=1)[:, : weights.shape[0]]
                total = xp.bilinear(terms, weights, matmul, weights.shape[0], None)
                new = step(total, scaled[k])
                h = xp.where(alive[t], new, h) if stops and not alive[t].all() else new
                seen.append(h)
            y = xp.stack(seen, axis=0) if seen else xp.astype(np.zeros((0, batch, hidden)), X.dtype)
            y = xp.take_along_axis(y, at, axis=0) if turns else y
            if not alive.all():
                # Behind a sequence any number is right.
                y = xp.where(alive, y, xp.inexact(xp.full_like(y, 1), 2.0**70) - 1)
            outputs.append(y)
            ends.append(last(h, y))
        y = xp.stack(outputs, axis=1)
        return xp.permute_dims(y, (2, 0, 1, 3)) if layout else y, turn(xp.stack(ends, axis=0))

    return {since: partial(formula, since) for since in opset.versions("", "RNN")}


OP = operator("RNN")


@OP.formula(by=of_rnn)
def rnn(total, function):
    return function(total)


OP.also_honest("", by=partial(of_rnn, functions=LITERAL))(rnn)


@OP.mutant("the activation was the tangent, whatever its name", by=of_rnn)
def tanh_always(total, function):
    return np.tanh(total)


def padded_first(backward, steps, lengths):
    return places(backward, steps, np.full_like(lengths, steps))


#: Mutants: a text, and what `of_rnn` does otherwise.
HABITS: dict[str, tuple[str, dict[str, Any]]] = {
    "padding_read_first": ("what is behind a sequence was read first in reverse",
        {"places": padded_first}),
    "read_beyond_the_end": ("states went on behind the end of a sequence", {"stops": False}),
    "reverse_stays_reversed": ("Y was in the order in which it was computed, in reverse too",
        {"turns": False}),
    "last_of_Y": ("Y_h was the last step of Y, in reverse and behind a sequence too",
        {"last": lambda h, y: y[-1] if len(y) else h}),
    "first_weights_for_both": ("one direction's weights served for both", {"side": lambda k: 0}),
    "recurrent_bias_ignored": ("of the biases the first half was added alone",
        {"joined": lambda W, R, *biases: np.concat([W, R, *biases[:1]], axis=1)}),
    "recurrent_weights_transposed": ("recurrent weights were transposed",
        {"joined": lambda W, R, *biases: np.concat([W, R.T, *biases], axis=1)}),
    "literal_threshold": ("ThresholdedRelu gave 0 at its threshold, as the operator so named",
        {"functions": {**FUNCTIONS, "ThresholdedRelu": lambda x, a, b: np.where(
            x > a, x, np.zeros_like(x))}}),
}  # fmt: skip
for name, (text, habits) in HABITS.items():
    OP.mutant(text, name=name, by=partial(of_rnn, **habits))(rnn)

"""Recurrent networks, element of the batch by element, step by step."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.oracles import (
    ORACLES,
    Array,
    Random,
    Sample,
    chance,
    normal,
    one_of,
    sizes,
    trimmed,
    wide,
)

Function = Callable[[Array], Array]
FUNCTIONS: dict[str, Function] = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}
#: How many gates and functions each operator has, and the default functions.
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


class Cell(NamedTuple):
    """The weights of one direction, the functions, and the attributes."""

    w: Array
    r: Array
    wb: Array
    rb: Array
    peepholes: Array
    functions: list[Function]
    hidden: int
    clip: float
    linear_before_reset: bool
    input_forget: bool

    def clipped(self, x: Array) -> Array:
        return np.clip(x, -self.clip, self.clip)

    def gate(self, n: int) -> slice:
        return slice(n * self.hidden, (n + 1) * self.hidden)

    def of_input(self, n: int, x: Array) -> Array:
        return np.asarray(self.w[self.gate(n)] @ x + self.wb[self.gate(n)])

    def of_state(self, n: int, h: Array) -> Array:
        return np.asarray(self.r[self.gate(n)] @ h + self.rb[self.gate(n)])

    def both(self, n: int, x: Array, h: Array) -> Array:
        return self.of_input(n, x) + self.of_state(n, h)


def rnn(cell: Cell, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """H and C of a step of RNN, which has no C."""
    return cell.functions[0](cell.clipped(cell.both(0, x, h))), c


def gru(cell: Cell, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """H and C of a step of GRU, which has no C."""
    f, g = cell.functions
    z = f(cell.clipped(cell.both(0, x, h)))
    r = f(cell.clipped(cell.both(1, x, h)))
    state = r * cell.of_state(2, h) if cell.linear_before_reset else cell.of_state(2, r * h)
    hidden = g(cell.clipped(cell.of_input(2, x) + state))
    return (1 - z) * hidden + z * h, c


def lstm(cell: Cell, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """H and C of a step of LSTM, whose gates come in the order i, o, f, c."""
    f, g, last = cell.functions
    p_i, p_o, p_f = (cell.peepholes[cell.gate(n)] for n in range(3))
    i = f(cell.clipped(cell.both(0, x, h) + p_i * c))
    forget = f(cell.clipped(cell.both(2, x, h) + p_f * c))
    if cell.input_forget:
        forget = 1 - i
    c = forget * c + i * g(cell.clipped(cell.both(3, x, h)))
    o = f(cell.clipped(cell.both(1, x, h) + p_o * c))
    return o * last(cell.clipped(c)), c


STEPS = {"RNN": rnn, "GRU": gru, "LSTM": lstm}


def _network(kind: str, rng: Random) -> Sample:
    direction = one_of(rng, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    steps, batch, width, hidden = sizes(rng, 4, 1, 3)
    count = GATES[kind]
    x = normal(rng, (steps, batch, width))
    w, r = normal(rng, (ways, count * hidden, width)), normal(rng, (ways, count * hidden, hidden))
    b = normal(rng, (ways, 2 * count * hidden)) if chance(rng, 0.6) else None
    lengths = rng.integers(1, steps + 1, batch).astype(np.int32) if chance(rng, 0.5) else None
    h0 = normal(rng, (ways, batch, hidden)) if chance(rng, 0.5) else None
    has_c = kind == "LSTM"
    c0 = normal(rng, (ways, batch, hidden)) if has_c and chance(rng, 0.5) else None
    p = normal(rng, (ways, 3 * hidden)) if has_c and chance(rng, 0.4) else None
    attrs: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    names = DEFAULTS[kind] * ways
    if chance(rng, 0.4):
        names = [one_of(rng, *FUNCTIONS) for _ in names]
        attrs["activations"] = names
    clip = one_of(rng, 0.5, 2.0) if chance(rng, 0.3) else math.inf
    attrs |= {} if clip == math.inf else {"clip": clip}
    flags = {"GRU": "linear_before_reset", "LSTM": "input_forget"}
    flag = kind in flags and chance(rng, 0.4)
    attrs |= {flags[kind]: 1} if flag else {}
    y = np.zeros((steps, ways, batch, hidden))
    y_h, y_c = np.zeros((ways, batch, hidden)), np.zeros((ways, batch, hidden))
    none = np.zeros(count * hidden)
    for way, n in np.ndindex(ways, batch):
        half = count * hidden
        cell = Cell(
            wide(w[way]),
            wide(r[way]),
            none if b is None else wide(b[way, :half]),
            none if b is None else wide(b[way, half:]),
            np.zeros(3 * hidden) if p is None else wide(p[way]),
            [FUNCTIONS[name] for name in names[way * len(DEFAULTS[kind]) :]][: len(DEFAULTS[kind])],
            hidden,
            clip,
            kind == "GRU" and flag,
            kind == "LSTM" and flag,
        )
        h = np.zeros(hidden) if h0 is None else wide(h0[way, n])
        c = np.zeros(hidden) if c0 is None else wide(c0[way, n])
        order = range(steps if lengths is None else int(lengths[n]))
        for t in reversed(order) if direction == "reverse" or way else order:
            h, c = STEPS[kind](cell, wide(x[t, n]), h, c)
            y[t, way, n] = h
        y_h[way, n], y_c[way, n] = h, c
    states = (h0, c0, p) if has_c else (h0,)
    outputs = (y, y_h, y_c) if has_c else (y, y_h)
    return Sample(22, trimmed(x, w, r, b, lengths, *states), outputs, attrs)


for _kind in GATES:
    ORACLES[_kind] = partial(_network, _kind)

"""LpPool in NumPy, and what is done with its steps that is no mutant.

`LIBERTIES` are what the shipped suite must not mind, and `LAPSES` what it warns of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from opcheck.backends.base import Backend
from opcheck.engine import Node
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import AnswerFunction
from opcheck.errors import InvalidNode
from opcheck.model import Array
from tests import inline
from tests.precise.by_the_text import windows


@dataclass(frozen=True, eq=False)
class Windows:
    """`values` has the shape (N·C, windows, elements), with 0 for padding."""

    values: Any
    p: float
    dtype: np.dtype[Any]


def _gathered(x: Array, attrs: Any) -> tuple[Windows, tuple[int, ...]]:
    """The windows of a legal node, and the shape of its output."""
    spatial = x.shape[2:]
    every = [windows(length, axis, attrs) for axis, length in enumerate(spatial)]
    rank, at, held = len(spatial), np.zeros((), np.intp), np.ones((), np.bool_)
    for axis, places in enumerate(every):
        most = max(map(len, places), default=0)
        filled = np.array([[*one, *[-1] * (most - len(one))] for one in places], np.intp)
        spread = [1] * 2 * rank
        spread[axis], spread[rank + axis] = len(places), most
        filled = filled.reshape(spread)
        at, held = at * spatial[axis] + np.maximum(filled, 0), held & (filled >= 0)
    number = prod(map(len, every))
    at, held = at.reshape(number, prod(at.shape[rank:])), held.reshape(number, -1)
    images = x.reshape(prod(x.shape[:2]), prod(spatial)).astype(np.float64)
    values = np.pad(images, ((0, 0), (0, 1)))[:, np.where(held, at, -1)]
    p = float(np.float32(attrs.get("p", 2)))
    return Windows(values, p, x.dtype), (*x.shape[:2], *map(len, every))


def _norms(w: Windows) -> Any:
    """(Σ |x|^p)^(1/p) of each, scaled so that no power leaves the range."""
    sizes = np.abs(w.values)
    top = sizes.max(axis=2, initial=0.0)
    usual = np.isfinite(top) & (top > 0)
    scale = np.where(usual, top, 1.0)
    sums = ((sizes / scale[..., None]) ** w.p).sum(axis=2)
    return np.where(usual, sums ** (1 / w.p) * scale, top)


@dataclass(frozen=True)
class Steps:
    """What is done at each step; the defaults are right.

    `window` may change what is in the windows, `norm` makes a number of each, and `narrow` one of
    the output's dtype.
    """

    window: Callable[[Windows], Windows] = lambda window: window
    norm: Callable[[Windows], Any] = _norms
    narrow: Callable[[Any, np.dtype[Any]], Array] = lambda y, dtype: y.astype(dtype)

    def __call__(self, node: Node) -> tuple[Array]:
        """The output; raises InvalidNode for what the specification forbids."""
        assert node.right
        (x,) = node.given
        with np.errstate(all="ignore"):
            gathered, shape = _gathered(x, node.attrs)
            out = self.narrow(self.norm(self.window(gathered)), x.dtype)
        return (out.reshape(shape),)


def answering(answer: AnswerFunction) -> Backend:
    """A backend that answers so."""
    return inline.lying(Mutant("", "", answer))


def _refusing(when: Callable[[Node], bool], answer: AnswerFunction) -> AnswerFunction:
    """Refuses some nodes that are legal."""

    def refusing(node: Node) -> Sequence[Any]:
        right = answer(node)
        if when(node):
            raise InvalidNode("not this one")
        return right

    return refusing


def _negative_zeros(answer: AnswerFunction) -> AnswerFunction:
    """With -0 for 0, in another order in memory."""
    return lambda node: [np.asfortranarray(np.where(o == 0, -o, o)) for o in answer(node)]


def _size_zero(node: Node) -> bool:
    return 0 in node.right[0].shape[2:] and 0 not in node.inputs[0].shape


#: What the text permits, or does not decide: no case may fail for it.
LIBERTIES: dict[str, AnswerFunction] = {
    "none": Steps(),
    "negative_zeros_and_no_outputs_of_size_0": _refusing(_size_zero, _negative_zeros(Steps())),
}


def _unscaled(w: Windows) -> Any:
    """Powers, sum and root in the compute type."""
    wide: Any = np.float64 if w.dtype == np.float64 else np.float32
    powers = np.abs(w.values).astype(wide) ** wide(w.p)
    return powers.sum(axis=2, dtype=wide) ** wide(1 / w.p)


def _no_window_in_padding_alone(node: Node) -> bool:
    attrs: Any = node.attrs
    pads, kernel = attrs.get("pads", ()), attrs["kernel_shape"]
    return any(pad >= size for pad, size in zip(pads, (*kernel, *kernel), strict=False))


def _no_channels(node: Node) -> bool:
    return bool(node.inputs[0].shape[1] == 0)


def _no_elements(node: Node) -> bool:
    return 0 in node.inputs[0].shape[2:]


def _pads_ignored_beside_auto_pad(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        attrs = {name: value for name, value in node.attrs.items() if name != "pads"}
        return replace(node, attrs=attrs).right


#: Only `should` speaks against these, as against some of the product's mistakes: they are warned
#: of in the case that is named.
LAPSES: dict[str, AnswerFunction] = {
    "empty_inputs": _refusing(lambda node: _no_channels(node) or _no_elements(node), Steps()),
    "pads_beside_auto_pad": _pads_ignored_beside_auto_pad,
    "subnormal_values_of_float16": Steps(
        window=lambda w: (
            replace(w, values=np.where(np.abs(w.values) < 2.0**-14, 0, w.values))
            if w.dtype == np.float16
            else w
        )
    ),
}

#: Legal as it is, but all that `should` speaks against in values, ranges and shapes.
PLAIN: AnswerFunction = _refusing(
    lambda node: any(f(node) for f in (_no_window_in_padding_alone, _no_channels, _no_elements)),
    Steps(norm=_unscaled),
)

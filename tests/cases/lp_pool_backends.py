"""LpPool computed in several ways by the tests, none of which is a mutant of the product's.

`LIBERTIES` are what the shipped suite must not mind, `NARROW` and `LAPSES` what it warns of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck.engine.evaluate import evaluate
from opcheck.engine.mutants import Mutant
from opcheck.engine.mutants.mutant import Answer
from opcheck.engine.node import Node
from opcheck.engine.ops.lp_pool import by_windows
from opcheck.errors import InvalidNode
from opcheck.run.lying import Lying

#: A norm of each of some windows, (n, K) with zeros for padding, of the tensor's type.
Norm = Callable[[Any, float, Any], Any]


def answering(answer: Answer) -> Lying:
    """A backend that answers so."""
    return Lying(Mutant("", "", answer))


def by(norm: Norm, narrow: Callable[[Any, Any], Any] | None = None) -> Answer:
    """The answers of who takes this norm of the elements, and rounds it so in the end."""

    def answer(node: Node) -> Sequence[Any]:
        own = node.given[0].dtype

        def norms(X: Any, p: float, windows: Any) -> Any:
            out = np.zeros(windows.shape, np.float64 if own == np.float64 else np.float32)
            for portion, values, _ in windows.gathered(X, np.arange(out.size)):
                made = norm(values, p, own)
                rounded = narrow(made, own) if narrow else made.astype(own)
                out.reshape(-1)[portion] = rounded.astype(out.dtype)
            return out

        return evaluate(node, by_windows(norms)[node.op.since])

    return answer


def scaled(values: Any, p: float, own: Any) -> Any:
    """In shares of the largest magnitude, so that no power leaves the range."""
    magnitudes = np.abs(values)
    top = magnitudes.max(axis=1)
    usual = np.isfinite(top) & (top > 0)
    scale = np.where(usual, top, 1.0)
    total = np.power(magnitudes / scale[:, np.newaxis], p).sum(axis=1)
    if p == 1:
        return magnitudes.sum(axis=1)
    return np.where(usual, np.power(total, 1 / p) * scale, top)


def refusing(when: Callable[[Node], bool], answer: Answer) -> Answer:
    """Refuses some nodes that are legal."""

    def refuses(node: Node) -> Sequence[Any]:
        made = answer(node)
        if when(node):
            raise InvalidNode("not this one")
        return made

    return refuses


# ── what nobody may mind ──────────────────────────────────────────────────────────────────────


def _negative_zeros(answer: Answer) -> Answer:
    """With -0 for 0, in another order in memory."""
    return lambda node: [np.asfortranarray(np.where(o == 0, -o, o)) for o in answer(node)]


def _size_zero(node: Node) -> bool:
    return 0 in node.right[0].shape[2:] and 0 not in node.given[0].shape


#: What the text permits, or does not decide: no case may fail for it.
LIBERTIES: dict[str, Answer] = {
    "none": by(scaled),
    "negative_zeros_and_no_outputs_of_size_0": refusing(_size_zero, _negative_zeros(by(scaled))),
}

# ── what is warned of ─────────────────────────────────────────────────────────────────────────


def _truncated(values: Any, own: Any) -> Any:
    """Sixteen bits are cut off instead of rounded."""
    near = values.astype(own)
    above = np.isfinite(near) & (near.astype(np.float64) > values) & (own.itemsize == 2)
    return np.where(above, np.nextafter(near, np.zeros_like(near)), near)


def _powers(values: Any, p: float) -> Any:
    return np.abs(values) ** p


def _powers_in_the_type(values: Any, p: float, own: Any) -> Any:
    return _powers(values, p).astype(own).astype(np.float64).sum(axis=1) ** (1 / p)


def _sums_in_the_type(values: Any, p: float, own: Any) -> Any:
    sums = np.add.accumulate(_powers(values, p).astype(own), axis=1)[:, -1]
    return sums.astype(np.float64) ** (1 / p)


#: Wrong in sixteen bits only, as an engine is that computes in them, by the case that warns of it.
NARROW: dict[str, dict[str, Answer]] = {
    "random_windows": {
        "truncated": by(scaled, _truncated),
        "sums_in_the_type": by(_sums_in_the_type),
    },
    "random_windows_in_bfloat16": {
        "truncated": by(scaled, _truncated),
        "powers_in_the_type": by(_powers_in_the_type),
        "sums_in_the_type": by(_sums_in_the_type),
    },
}


def _unscaled(values: Any, p: float, own: Any) -> Any:
    """Powers, sum and root in the compute type."""
    wide: Any = np.float64 if own == np.float64 else np.float32
    powers = np.abs(values).astype(wide) ** wide(p)
    return powers.sum(axis=1, dtype=wide) ** wide(1 / p)


def _without_subnormals(values: Any, p: float, own: Any) -> Any:
    flushed = own == np.float16
    return scaled(np.where(flushed & (np.abs(values) < 2.0**-14), 0, values), p, own)


def _in_padding_alone(node: Node) -> bool:
    attrs: Any = node.attrs
    pads, kernel = attrs.get("pads", ()), attrs["kernel_shape"]
    return any(pad >= size for pad, size in zip(pads, (*kernel, *kernel), strict=False))


def _no_channels(node: Node) -> bool:
    return node.given[0].shape[1] == 0


def _no_elements(node: Node) -> bool:
    return 0 in node.given[0].shape[2:]


def _pads_ignored_beside_auto_pad(node: Node) -> Sequence[Any]:
    try:
        return node.right
    except InvalidNode:
        return node.with_attrs(pads=None).right


#: Only `should` speaks against these, as against some of the product's mutants: they are warned of
#: in the case that is named.
LAPSES: dict[str, Answer] = {
    "empty_inputs": refusing(lambda node: _no_channels(node) or _no_elements(node), by(scaled)),
    "pads_beside_auto_pad": _pads_ignored_beside_auto_pad,
    "subnormal_values_of_float16": by(_without_subnormals),
}

#: Legal as it is, but all that `should` speaks against in values, ranges and shapes.
PLAIN: Answer = refusing(
    lambda node: any(f(node) for f in (_in_padding_alone, _no_channels, _no_elements)),
    by(_unscaled),
)

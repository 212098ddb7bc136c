"""Mistakes beyond a size: kernels are chosen by powers of two, loops and grids end at one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opcheck.engine.mistakes import Mistake, Node

#: The powers of two at which kernels change, or end.
POWERS = range(11)
UNBOUNDED = 1 << 62


def _read_again(node: Node, axis: int, size: int, most: int) -> Sequence[Any]:
    x, *others = node.inputs
    if not -x.ndim <= axis < x.ndim or not size < x.shape[axis] <= most:
        return node.right
    again = np.take(x, np.arange(x.shape[axis]) % size, axis=axis)
    return replace(node, inputs=(again, *others)).right


def _beyond(axis: int, name: str, power: int, most: int = UNBOUNDED) -> Mistake:
    """Of an axis of more than 2^power and at most `most` entries those beyond are not read."""
    size = 1 << power
    up_to = f" to {most:,}" if most < UNBOUNDED else ""
    return Mistake(
        f"{name}_above_{size}".replace(" ", "_"),
        f"of more than {size:,}{up_to} entries along {name} the first {size:,} were read again",
        lambda node: _read_again(node, axis, size, most),
    )


def _unwritten(node: Node, axis: int, size: int) -> Sequence[Any]:
    (out,) = node.right
    if not -out.ndim <= axis < out.ndim or out.shape[axis] <= size:
        return [out]
    written = np.moveaxis(out.copy(), axis, 0)
    written[size:] = 0
    return [np.moveaxis(written, 0, axis)]


def _left_zero(axis: int, name: str) -> Mistake:
    size = 1 << POWERS[-1]
    return Mistake(
        f"output_{name}_above_{size}".replace(" ", "_"),
        f"what lay beyond the first {size:,} entries of the output along {name} was left zero",
        lambda node: _unwritten(node, axis, size),
    )


_LAST = ((-1, "the last axis"), (-2, "the last axis but one"))
MISTAKES: tuple[Mistake, ...] = (
    *(
        _beyond(axis, name, power, 2 << power if power < POWERS[-1] else UNBOUNDED)
        for axis, name in _LAST
        for power in POWERS
    ),
    *(_beyond(axis, f"axis {axis}", POWERS[-1]) for axis in range(5)),
    *(_left_zero(axis, name) for axis, name in ((0, "axis 0"), (1, "axis 1"), *_LAST)),
)
